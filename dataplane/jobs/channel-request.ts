/**
 * Sends one request about a job or a stored response to the channel that created it. The request costs nothing, but
 * takes its part of the limits that calls have. It fails with the errors of calls.
 */
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import type { FullLimit, JobRecord, Limit } from '../ledger/ledger.ts';
import { readErrorResponse } from '../pipeline/attempt.ts';
import type { AttemptFailure } from '../pipeline/attempt.ts';
import { NO_TOKENS_LOAD, REQUEST_CONSUMED } from '../ledger/load.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { isOfCaller } from '../state/limits.ts';
import { attemptsError, callerIsFull, noAttempts, verdictOf } from '../pipeline/failures.ts';
import type { FailedAttempts } from '../pipeline/failures.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import { isRouteFault, readRetryAfter } from '../upstream/retry.ts';
import { namesOf, UpstreamFailure } from '../upstream/upstream.ts';
import type { UpstreamRequest, UpstreamResponse, UpstreamTarget } from '../upstream/upstream.ts';
import type { ConvertedJob } from '../protocol/converter.ts';
import { HeldBytes, LARGE_BODY_BYTES } from '../memory-budget.ts';
import { channelOf, channelRemoved } from './job-channel.ts';
import type { JobChannel } from './job-channel.ts';
import { outcomeOf } from './job-outcome.ts';
import type { EndedJob } from './job-outcome.ts';

export type JobRequestDeps = Pick<PipelineDeps, 'ledger' | 'upstreams' | 'clock' | 'warn'>;

export interface JobRequest {
  /** By what its part of limits is known: a request's id, or an id made for the poll. */
  readonly callId: string;
  readonly model: string;
  readonly target: UpstreamTarget;
  /** What error messages call the subject of the request. */
  readonly about: 'video' | 'response' | 'conversation';
  readonly request: UpstreamRequest;
  /** Receives the report of this attempt. */
  readonly attempts: AttemptReport[];
}

/** The most bytes of a response that describes a video. */
const MAX_BYTES = 1024 * 1024;
/** The most bytes of a response that a provider keeps, which may contain images. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** Runs the work between taking the limits and releasing them. Throws rate_limit_exceeded if one of them is full. */
export async function withLimits<T>(
  { ledger, clock }: Pick<JobRequestDeps, 'ledger' | 'clock'>,
  callId: string,
  limits: readonly Limit[],
  work: () => Promise<T>,
): Promise<T> {
  if (limits.length === 0) return work();
  try {
    const result = await ledger.take(callId, limits, NO_TOKENS_LOAD);
    if (result.outcome === 'Full')
      throw isOfCaller(result.full)
        ? callerIsFull(result, { dialect: 'OpenAI', nowMs: clock.nowMs() })
        : channelIsFull(result);
    return await work();
  } finally {
    ledger.release(callId, REQUEST_CONSUMED);
  }
}

function channelIsFull({ retryMs }: FullLimit): GatewayError {
  const [what, seconds] =
    retryMs === undefined
      ? ['its full number of calls in flight', 1]
      : ['as many requests as it may have in a minute', Math.ceil(retryMs / 1000)];
  const message = `Its channel has ${what}. Try again in ${seconds} s.`;
  return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds: seconds });
}

/**
 * Resolves with the provider's 2xx response. Throws GatewayError, or UpstreamFailure (Aborted) if the signal aborts.
 */
export async function sendToChannel(deps: JobRequestDeps, job: JobRequest): Promise<UpstreamResponse> {
  const { target, request, attempts } = job;
  const startedAt = deps.clock.monotonicMs();
  const { id: channel, protocol } = target;
  const report = (outcome: string): void => {
    attempts.push({ channel, protocol, outcome, durationMs: deps.clock.monotonicMs() - startedAt });
  };
  try {
    const response = await deps.upstreams.send(target, request);
    report(response.status < 300 ? 'ok' : `status_${response.status}`);
    if (response.status >= 200 && response.status < 300) return response;
    throw requestError(deps, job, await readErrorResponse(response));
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    report(error.kind.toLowerCase());
    if (error.kind === 'Aborted') throw error;
    throw requestError(deps, job, { kind: 'Broken', failure: error.kind });
  }
}

function requestError(
  { warn, clock }: JobRequestDeps,
  { target, about, model }: JobRequest,
  result: AttemptFailure,
): GatewayError {
  if (result.kind === 'Refused' && (result.status === 404 || result.status === 410)) return goneAtProvider(about);
  const failed: FailedAttempts = { ...noAttempts(), count: 1, last: result };
  const verdict = verdictOf(result);
  if (result.kind === 'Refused') {
    const { status, headers } = result;
    if (verdict === 'rate_limited') failed.rateLimited.push(readRetryAfter(headers, clock.nowMs()));
    if (isRouteFault(verdict)) warn({ ...namesOf(target), status });
  }
  return attemptsError(failed, model);
}

function goneAtProvider(about: JobRequest['about']): GatewayError {
  return new GatewayError('not_found', `The provider has no such ${about} any more: it was deleted, or has expired.`);
}

interface BodyLimits {
  readonly about: JobRequest['about'];
  readonly maxBytes?: number;
  /** Sets how many bytes are held; throws if there are too many. */
  readonly hold?: (bytes: number) => void;
}

/** Reads the whole body of a response. Throws GatewayError, or UpstreamFailure (Aborted) if the signal aborts. */
export async function readWholeBody(
  { body }: UpstreamResponse,
  { about, maxBytes = MAX_BYTES, hold }: BodyLimits = { about: 'video' },
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      size += piece.length;
      if (size > maxBytes) throw invalidJobResponse(about);
      hold?.(size);
    }
  } catch (error) {
    throw readingError(error, 'within its answer');
  }
  return Buffer.concat(pieces, size);
}

/** What to throw after reading a body has failed: brokenOff if the provider is the cause, else the error itself. */
export function readingError(error: unknown, where: string): unknown {
  return error instanceof UpstreamFailure && error.kind !== 'Aborted' ? brokenOff(where) : error;
}

/** The error for an answer that the provider did not finish. `where` is a part of the sentence that clients read. */
export function brokenOff(where: string): GatewayError {
  return new GatewayError('upstream_error', `The provider broke off ${where}. Try again.`);
}

/** The error for a response that does not describe the video or response it was asked about. */
export function invalidJobResponse(about: JobRequest['about']): GatewayError {
  const message = `The provider answered something that is not about a ${about}. Try again.`;
  return new GatewayError('upstream_error', message);
}

/**
 * Asks a job's provider how the job ended, without a client's request; undefined: it runs. @throws GatewayError if the
 * channel is gone or full, or the provider fails.
 */
export async function pollJob(
  deps: Pick<PipelineDeps, 'state' | 'ledger' | 'upstreams' | 'clock' | 'warn' | 'memory' | 'bodyWorker'>,
  job: JobRecord,
  signal: AbortSignal,
): Promise<EndedJob | undefined> {
  const at = channelOf(deps.state.get(), job);
  if (!at) throw channelRemoved();
  const about = job.terms === undefined ? 'video' : 'response';
  const callId = `poll_${randomUUID()}`;
  return withLimits(deps, callId, at.limits, async () => {
    const response = await sendToChannel(deps, {
      callId,
      model: job.origin.model,
      target: at.target,
      about,
      attempts: [],
      request: { method: 'GET', path: at.jobs.path(job.jobId), headers: {}, body: undefined, stream: false, signal },
    });
    const held = new HeldBytes(deps.memory, { uid: job.origin.keyUid, account: job.origin.account });
    const maxBytes = about === 'video' ? MAX_BYTES : MAX_RESPONSE_BYTES;
    try {
      const bytes = await readWholeBody(response, { about, maxBytes, hold: (size) => held.set(size) });
      return outcomeOf(job, await readJob(deps, { job, at, bytes }));
    } finally {
      held.set(0);
    }
  });
}

interface PolledJob {
  readonly job: JobRecord;
  readonly at: JobChannel;
  readonly bytes: Uint8Array;
}

/** A large response is read on the worker thread. */
function readJob(
  { bodyWorker }: Pick<PipelineDeps, 'bodyWorker'>,
  { job, at: { jobs, target }, bytes }: PolledJob,
): ConvertedJob | Promise<ConvertedJob> {
  if (job.terms === undefined || bytes.length < LARGE_BODY_BYTES) return jobs.read(bytes);
  return bodyWorker.run(job.origin.keyUid, { task: 'ReadJob', protocol: target.protocol }, bytes);
}

/**
 * One exchange with a job's provider: free of charge, but under thresholds, and only with the channel that made the
 * job. Failures become the same errors as those of calls.
 */
import { GatewayError } from '../errors.ts';
import type { SlotLimit } from '../ledger/ledger.ts';
import { readRefusal } from '../pipeline/attempt.ts';
import type { AttemptFailure } from '../pipeline/attempt.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { attemptsError, keyIsFull, verdictOf } from '../pipeline/failures.ts';
import type { FailedAttempts } from '../pipeline/failures.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import { readRetryAfter } from '../upstream/retry.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { UpstreamRequest, UpstreamResponse } from '../upstream/upstream.ts';
import type { JobChannel } from './job-channel.ts';

export type ExchangeDeps = Pick<PipelineDeps, 'ledger' | 'upstreams' | 'clock' | 'warn'>;

export interface JobExchange {
  /** Owner of the slots: a request id, or a poll's own id. */
  readonly callId: string;
  readonly model: string;
  readonly at: JobChannel;
  readonly request: UpstreamRequest;
  /** What was tried is added here. */
  readonly attempts: AttemptReport[];
}

/** An answer that describes a job is small. */
const MAX_BYTES = 1024 * 1024;

/** Takes the slots, runs the work and releases the slots. Throws rate_limit_exceeded where one of them is full. */
export async function withSlots<T>(
  { ledger }: Pick<ExchangeDeps, 'ledger'>, callId: string, slots: readonly SlotLimit[], work: () => Promise<T>,
): Promise<T> {
  if (slots.length === 0) return work();
  try {
    const result = await ledger.takeSlots(callId, slots);
    if (result.outcome === 'Full') throw result.full.scope === 'Key' ? keyIsFull(result.full) : channelIsFull();
    return await work();
  } finally {
    ledger.releaseSlots(callId);
  }
}

function channelIsFull(): GatewayError {
  const message = 'The channel that made this video has its full number of calls in flight. Try again shortly.';
  return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds: 1 });
}

/**
 * Resolves with the provider's 2xx response. Throws GatewayError, or UpstreamFailure (Aborted) where the signal was
 * aborted.
 */
export async function ask(deps: ExchangeDeps, exchange: JobExchange): Promise<UpstreamResponse> {
  const { at, request, attempts } = exchange;
  const startedAt = deps.clock.monotonicMs();
  const { id: channel, protocol } = at.target;
  const report = (outcome: string): void => {
    attempts.push({ channel, protocol, outcome, durationMs: deps.clock.monotonicMs() - startedAt });
  };
  try {
    const response = await deps.upstreams.send(at.target, request);
    report(response.status < 300 ? 'ok' : `status_${response.status}`);
    if (response.status >= 200 && response.status < 300) return response;
    throw refusal(deps, exchange, await readRefusal(response));
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    report(error.kind.toLowerCase());
    if (error.kind === 'Aborted') throw error;
    throw refusal(deps, exchange, { kind: 'Broken', failure: error.kind });
  }
}

function refusal({ warn, clock }: ExchangeDeps, { at, model }: JobExchange, result: AttemptFailure): GatewayError {
  if (result.kind === 'Refused' && (result.status === 404 || result.status === 410)) return videoGone();
  const failed: FailedAttempts = { count: 1, last: result, rateLimited: [] };
  const verdict = verdictOf(result);
  if (result.kind === 'Refused') {
    const { status, headers } = result;
    if (verdict === 'rate_limited') failed.rateLimited.push(readRetryAfter(headers, clock.nowMs()));
    if (verdict === 'credential') warn({ route: at.route, channel: at.channel, status });
  }
  return attemptsError(failed, model);
}

function videoGone(): GatewayError {
  return new GatewayError('not_found', 'The provider has no such video any more: it was deleted, or has expired.');
}

/**
 * The whole body of a small response. Throws GatewayError, or UpstreamFailure (Aborted) where the signal was aborted.
 */
export async function readSmall({ body }: UpstreamResponse): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      size += piece.length;
      if (size > MAX_BYTES) throw notAVideo();
    }
  } catch (error) {
    if (!(error instanceof UpstreamFailure) || error.kind === 'Aborted') throw error;
    throw new GatewayError('upstream_error', 'The provider broke off within its answer. Try again.');
  }
  return Buffer.concat(pieces, size);
}

/** For an answer that does not describe a job. */
export function notAVideo(): GatewayError {
  return new GatewayError('upstream_error', 'The provider answered something that is not about a video. Try again.');
}

/** Asks a job's provider how the job ended, without a client's request. */
import { randomUUID } from 'node:crypto';
import type { JobRecord } from '../ledger/ledger.ts';
import { HeldBytes, LARGE_BODY_BYTES } from '../memory-budget.ts';
import { planRequest } from '../pipeline/channel-call.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { readWholeBody, sendFree, withLimits } from '../pipeline/free-request.ts';
import type { ConvertedJob } from '../protocol/converter.ts';
import { isOfBatch } from '../pipeline/billing-terms.ts';
import { batchPath, readBatchState } from '../protocol/batches/objects.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import { batchOutcome } from './batch-outcome.ts';
import { channelOf, channelRemoved, jobTargetOf } from './job-channel.ts';
import type { JobChannel, JobTarget } from './job-channel.ts';
import { outcomeOf } from './job-outcome.ts';
import type { EndedJob } from './job-outcome.ts';

type PollingDeps = Pick<PipelineDeps, 'state' | 'ledger' | 'upstreams' | 'clock' | 'warn' | 'memory' | 'bodyWorker'>;

/**
 * Undefined: the job runs. Throws GatewayError if the channel is gone or full, or the provider fails. `reading` is called
 * before the results of a batch are read, which takes long, so that they take no part of the limits.
 */
export async function pollJob(
  deps: PollingDeps,
  job: JobRecord,
  signal: AbortSignal,
  reading: () => void,
): Promise<EndedJob | undefined> {
  if (isOfBatch(job.terms)) return pollBatch(deps, job, signal, reading);
  const at = channelOf(deps.state.get(), job);
  if (!at) throw channelRemoved();
  const request = { callId: `poll_${randomUUID()}`, dialect: 'OpenAI' } as const;
  return withLimits(deps, request, at.limits, () => poll(deps, { job, at, signal }));
}

interface PolledJob {
  readonly job: JobRecord;
  readonly at: JobChannel;
  readonly signal: AbortSignal;
}

async function poll(deps: PollingDeps, polled: PolledJob): Promise<EndedJob | undefined> {
  const {
    job: { jobId, origin, terms },
    at: { target, jobs },
    signal,
  } = polled;
  const about = terms === undefined ? 'video' : 'response';
  const plan = planRequest(deps, { target }, { headers: {}, account: origin.account, stream: false });
  const request = { method: 'GET', path: jobs.path(jobId), body: undefined, signal } as const;
  const response = await sendFree(deps, plan, { ...request, attempts: [], about, model: origin.model });
  const held = new HeldBytes(deps.memory, { uid: origin.keyUid, account: origin.account });
  try {
    const bytes = await readWholeBody(response, { about, hold: (size) => held.set(size) });
    return outcomeOf(polled.job, await readJob(deps, polled, bytes));
  } finally {
    held.set(0);
  }
}

async function pollBatch(
  deps: PollingDeps,
  job: JobRecord,
  signal: AbortSignal,
  reading: () => void,
): Promise<EndedJob | undefined> {
  const at = jobTargetOf(deps.state.get(), job.origin);
  if (!at) throw channelRemoved();
  const held = new HeldBytes(deps.memory, { uid: job.origin.keyUid, account: job.origin.account });
  const hold = (bytes: number): void => held.set(bytes);
  const form = at.target.protocol === 'Anthropic' ? 'Anthropic' : 'OpenAI';
  const request = { callId: `poll_${randomUUID()}`, dialect: form } as const;
  const fetchResults = (path: string): Promise<UpstreamResponse> => {
    reading();
    return ask(deps, { job, at, signal }, { path, stream: true });
  };
  try {
    const state = await withLimits(deps, request, at.limits, async () => {
      const response = await ask(deps, { job, at, signal }, { path: batchPath(form, job.jobId), stream: false });
      return readBatchState(form, await readWholeBody(response, { about: 'batch', hold }));
    });
    return await batchOutcome(deps, { job, state, fetchResults, hold });
  } finally {
    hold(0);
  }
}

/** Asks for what a batch is, or for its results, which take as long as they take. */
function ask(
  deps: PollingDeps,
  { job: { origin }, at: { target }, signal }: Omit<PolledJob, 'at'> & { readonly at: JobTarget },
  { path, stream }: { readonly path: string; readonly stream: boolean },
): Promise<UpstreamResponse> {
  const plan = planRequest(deps, { target }, { headers: {}, account: origin.account, stream });
  const request = { method: 'GET', path, body: undefined, signal } as const;
  return sendFree(deps, plan, { ...request, attempts: [], about: 'batch', model: origin.model });
}

/** A large response is read on the worker thread. */
function readJob(
  { bodyWorker }: Pick<PipelineDeps, 'bodyWorker'>,
  { job, at: { jobs, target } }: PolledJob,
  bytes: Uint8Array,
): ConvertedJob | Promise<ConvertedJob> {
  if (job.terms === undefined || bytes.length < LARGE_BODY_BYTES) return jobs.read(bytes);
  return bodyWorker.run(job.origin.keyUid, { task: 'ReadJob', protocol: target.protocol }, bytes);
}

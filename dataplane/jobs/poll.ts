/** Asks a job's provider for its state on the gateway's own behalf. */
import { randomUUID } from 'node:crypto';
import type { JobRecord, JobState } from '../ledger/ledger.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { ask, readSmall, withSlots } from './exchange.ts';
import { channelGone, channelOf } from './job-channel.ts';

type PollDeps = Pick<PipelineDeps, 'state' | 'ledger' | 'upstreams' | 'clock' | 'warn'>;

/** Rejects with GatewayError where the channel is gone or full or the provider fails. */
export async function pollJob(deps: PollDeps, job: JobRecord, signal: AbortSignal): Promise<JobState> {
  const at = channelOf(deps.state.get(), job);
  if (!at) throw channelGone();
  const callId = `poll_${randomUUID()}`;
  return withSlots(deps, callId, at.slots, async () => {
    const response = await ask(deps, {
      callId, model: job.origin.model, at, attempts: [],
      request: { method: 'GET', path: at.videos.path(job.jobId), headers: {}, body: undefined, stream: false, signal },
    });
    return at.videos.read(await readSmall(response)).state;
  });
}

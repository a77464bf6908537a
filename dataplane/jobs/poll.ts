/** One look of the gateway's own at a job: what its provider says of it now. */
import { randomUUID } from 'node:crypto';
import type { JobRecord, JobState } from '../ledger/ledger.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { ask, readSmall, withSlots } from './exchange.ts';
import { channelGone, channelOf } from './job-channel.ts';

/** Rejects where the provider does not say: its channel is gone or full, or it fails. */
export async function pollJob(deps: Pick<PipelineDeps, 'state' | 'ledger' | 'upstreams' | 'clock' | 'warn'>, job: JobRecord, signal: AbortSignal): Promise<JobState> {
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

/** Polls a job's provider for its state when no client asks. */
import { randomUUID } from 'node:crypto';
import type { JobRecord, JobState } from '../ledger/ledger.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { readWholeBody, sendToChannel, withSlots } from './channel-request.ts';
import { channelOf, channelRemoved } from './job-channel.ts';

type PollDeps = Pick<PipelineDeps, 'state' | 'ledger' | 'upstreams' | 'clock' | 'warn'>;

/** Rejects with GatewayError where the channel is gone or full or the provider fails. */
export async function pollJob(deps: PollDeps, job: JobRecord, signal: AbortSignal): Promise<JobState> {
  const at = channelOf(deps.state.get(), job);
  if (!at) throw channelRemoved();
  const callId = `poll_${randomUUID()}`;
  return withSlots(deps, callId, at.slots, async () => {
    const response = await sendToChannel(deps, {
      callId, model: job.origin.model, at, attempts: [],
      request: { method: 'GET', path: at.videos.path(job.jobId), headers: {}, body: undefined, stream: false, signal },
    });
    return at.videos.read(await readWholeBody(response)).state;
  });
}

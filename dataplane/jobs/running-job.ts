/** Finds the job of a channel that a client asks about, while it runs. */
import type { JobRecord } from '../ledger/ledger.ts';
import type { PipelineDeps } from '../pipeline/context.ts';

/** `id`: the provider's. Undefined if there is no such job of the account, or it has ended. */
export async function runningJob(
  { ledger }: Pick<PipelineDeps, 'ledger'>,
  account: string,
  { channelId, id }: { readonly channelId: string; readonly id: string },
): Promise<JobRecord | undefined> {
  const job = await ledger.readChannelJob(account, channelId, id);
  return job?.state === 'Running' ? job : undefined;
}

/** Opens the usage records of a shared ledger for the console. */
import { join } from 'node:path';
import type { UsageStore } from '../console/data/usage.ts';

/** `folder`: where the copy of the records is kept over restarts; undefined: in a temporary file. */
export async function openSharedUsage(url: string, folder: string | undefined): Promise<UsageStore> {
  // loads the client only if it is needed
  const { openValkeyReader } = await import('../dataplane/ledger/valkey-reader.ts');
  const { openValkeyUsageStore } = await import('../console/data/valkey-store.ts');
  return openValkeyUsageStore(openValkeyReader(url), { path: folder && join(folder, 'usage-mirror.db') });
}

/** Opens the store of recent and refused calls for the console. It is separate from the ledger. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { ActivityWriter } from '#activity/activity.ts';
import { openActivityFileWriter } from '../dataplane/activity/file-writer.ts';
import type { LedgerLocation } from './ledger-location.ts';

interface ActivityPlace {
  /** The ledger's location; undefined: the data folder. */
  readonly place: LedgerLocation | undefined;
  readonly dataDir: string | undefined;
}

/** The file of recent and refused calls on one machine. */
export const ACTIVITY_FILE = 'activity.db';

/** Returns undefined if no console could read the calls. */
export async function openActivity({ place, dataDir }: ActivityPlace): Promise<ActivityWriter | undefined> {
  if (place?.kind === 'valkey') {
    // loads the client only if it is needed
    const { openValkeyActivityWriter } = await import('../dataplane/activity/valkey-activity.ts');
    return openValkeyActivityWriter(place.url, `${hostname()} ${randomUUID()}`);
  }
  return dataDir === undefined ? undefined : openActivityFileWriter(join(dataDir, ACTIVITY_FILE), () => Date.now());
}

/** Opens where recent and refused calls are kept for the console: beside the ledger, apart from money. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { ActivityWriter } from '../dataplane/activity/activity.ts';
import { openActivityFileWriter } from '../dataplane/activity/file-writer.ts';
import type { LedgerLocation } from './options.ts';

interface ActivityPlace {
  /** The ledger's location; undefined: in the data folder. */
  readonly place: LedgerLocation | undefined;
  readonly dataDir: string | undefined;
}

/** The file of one machine's recent and refused calls. */
export const ACTIVITY_FILE = 'activity.db';

/** Undefined: no console could read it. */
export async function openActivity({ place, dataDir }: ActivityPlace): Promise<ActivityWriter | undefined> {
  if (place?.kind === 'valkey') {
    // loads the client only where it is needed
    const { openValkeyActivityWriter } = await import('../dataplane/activity/valkey-activity.ts');
    return openValkeyActivityWriter(place.url, `${hostname()} ${randomUUID()}`);
  }
  return dataDir === undefined ? undefined : openActivityFileWriter(join(dataDir, ACTIVITY_FILE), () => Date.now());
}

/** Opens the store of responses that the gateway keeps. It is beside the ledger, and separate from it. */
import { dirname, join } from 'node:path';
import { deleteFileStore, openFileStore } from '../dataplane/kept/file-store.ts';
import type { KeepingOptions } from '../dataplane/kept/kept-values.ts';
import type { KeptStore } from '../dataplane/kept/store.ts';
import type { LedgerLocation } from './ledger-location.ts';

interface ResponsesPlace {
  /** The ledger's location; undefined: the data folder. */
  readonly place: LedgerLocation | undefined;
  readonly dataDir: string | undefined;
}

/** The file of kept responses on one machine. */
const RESPONSES_FILE = 'responses.db';

/** How long responses are kept, and the most bytes of an account's. */
interface Keeping {
  /** 0: none are kept. */
  readonly storeResponsesDays: number;
  readonly storeResponsesBytes: number;
}

/** Returns undefined if none are to be kept. */
export async function openResponses(
  at: ResponsesPlace,
  { storeResponsesDays: days, storeResponsesBytes: maxBytes }: Keeping,
): Promise<KeepingOptions | undefined> {
  return days > 0 ? { store: await openStore(at), days, maxBytes } : undefined;
}

/** Deletes the file of those that were kept, if none are any more. Call it once this process has the data folder. */
export function deleteUnwanted(at: ResponsesPlace, { storeResponsesDays: days }: Keeping): void {
  if (days === 0 && at.place?.kind !== 'valkey') deleteFileStore(fileOf(at));
}

async function openStore(at: ResponsesPlace): Promise<KeptStore> {
  if (at.place?.kind !== 'valkey') return openFileStore(fileOf(at));
  // loads the client only if it is needed
  const { openValkeyStore } = await import('../dataplane/kept/valkey-store.ts');
  return openValkeyStore(at.place.url);
}

function fileOf({ place, dataDir }: ResponsesPlace): string {
  const folder = dataDir ?? (place?.kind === 'file' ? dirname(place.path) : '.');
  return join(folder, RESPONSES_FILE);
}

/**
 * What the console of one machine remembers across restarts: a file for each entry in the data folder, for its owner
 * only.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { undefinedIfMissing } from '#runtime/missing-file.ts';
import { writeDurably } from '#runtime/write-durably.ts';
import { AccessError } from '../access.ts';
import { STATE_ENTRIES } from '../shared-state.ts';
import type { SharedState, StateEntry } from '../shared-state.ts';
import { createMutex } from '#runtime/mutex.ts';

const FOLDER = 'console';
const FILES: Readonly<Record<StateEntry, string>> = { signedOut: 'signed-out.json', shownKeys: 'shown-keys.json' };
const NOT_KEPT =
  'It could not be written to the data folder. Nothing was changed; try again when the folder can be written.';

/** Only one process may write there at a time. Rejects if the folder cannot be used. */
export async function openFileState(dataDir: string): Promise<SharedState> {
  const folder = join(dataDir, FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const texts = new Map<StateEntry, string>();
  for (const entry of STATE_ENTRIES) {
    const text = await undefinedIfMissing(readFile(join(folder, FILES[entry]), 'utf8'));
    texts.set(entry, text ?? '');
  }
  const inTurn = createMutex();

  async function change(entry: StateEntry, edit: (text: string) => string): Promise<void> {
    const before = texts.get(entry) ?? '';
    const text = edit(before);
    if (text === before) return;
    try {
      await writeDurably(join(folder, FILES[entry]), { text, mode: 0o600 });
    } catch (error) {
      throw new AccessError('Unavailable', NOT_KEPT, { cause: error });
    }
    texts.set(entry, text);
  }

  return {
    read: (entry) => texts.get(entry) ?? '',
    change: (entry, edit) => inTurn(() => change(entry, edit)),
  };
}

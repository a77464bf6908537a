/** The books of a single gateway, read from its journal and file beside it. */
import { assertBalanced, readBooks } from '../support/api/books.ts';
import { KEY_NAMES } from './config.ts';
import type { Books } from './books.ts';
import { readRecords, readTally } from './ledger-file.ts';
import type { Tally } from './ledger-file.ts';
import { watchLedger } from './watch.ts';

export function openFileBooks(dataDir: string): Books {
  const tally = async (): Promise<Tally> => {
    const found = readTally(dataDir);
    if (!found) throw new Error('there is no ledger');
    return found;
  };
  return {
    tally,
    records: async () => readRecords(dataDir, 0),
    async leaks() {
      const { holds } = await tally();
      return KEY_NAMES.filter((name) => holds[name] > 0).map((name) => `${holds[name]} holds of ${name} in the file`);
    },
    async contradictions() {
      try {
        assertBalanced(readBooks(dataDir));
        return [];
      } catch (error) {
        return [error instanceof Error ? error.message : String(error)];
      }
    },
    watch: () => watchLedger(dataDir),
    close: () => undefined,
  };
}

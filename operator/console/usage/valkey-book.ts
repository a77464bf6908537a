/**
 * A book over the fleet's shared ledger. Only accounts that somebody asks for are followed: first all that their streams hold, a
 * page at a time, then what has come since. A record that is written anew leaves its stream and comes again at its end.
 */
import { BEFORE_ALL } from '#ledger/usage-place.ts';
import type { RecordPlace } from '#ledger/usage-place.ts';
import type { ValkeyReader } from '#ledger/valkey-reader.ts';
import { openBook } from './book.ts';
import type { RecordShelf } from './book.ts';
import { RecordColumns } from './columns.ts';
import { BOOK_BOUNDS, keepAccounts } from './kept-accounts.ts';
import type { BookBounds, KeptAccount, KeptAccounts } from './kept-accounts.ts';
import type { UsageBook } from './usage.ts';

type RecordReader = Pick<ValkeyReader, 'recordsAfter' | 'recordsAt' | 'extent' | 'close'>;

/** So many are parsed within a few milliseconds. */
const AT_ONCE = 500;
const ACCOUNTS_AT_ONCE = 8;

/** The reader is the book's from here on. */
export function valkeyUsageBook(reader: RecordReader, bounds: BookBounds = BOOK_BOUNDS): UsageBook {
  return openBook(valkeyShelf(reader, bounds));
}

function valkeyShelf(reader: RecordReader, bounds: BookBounds): RecordShelf {
  const accounts = keepAccounts<RecordPlace>(bounds, () => BEFORE_ALL);
  const accountOf = new WeakMap<RecordColumns, string>();

  async function follow(account: string): Promise<RecordColumns> {
    const { columns } = await accounts.use(account, (kept) => bringUpToDate(reader, accounts, kept));
    accountOf.set(columns, account);
    return columns;
  }

  return {
    async use(wanted, work) {
      const all: RecordColumns[] = [];
      for (let at = 0; at < wanted.length; at += ACCOUNTS_AT_ONCE)
        all.push(...await Promise.all(wanted.slice(at, at + ACCOUNTS_AT_ONCE).map(follow)));
      return work(all);
    },
    async read(columns, places) {
      const account = accountOf.get(columns);
      return account === undefined ? [] : reader.recordsAt(account, places);
    },
    close() {
      accounts.clear();
      reader.close();
    },
  };
}

async function bringUpToDate(reader: RecordReader, accounts: KeptAccounts<RecordPlace>, kept: KeptAccount<RecordPlace>): Promise<void> {
  const readOn = (): Promise<void> => accounts.readOn(kept, async () => {
    const records = await reader.recordsAfter(kept.account, kept.mark, AT_ONCE);
    kept.mark = records.at(-1)?.place ?? kept.mark;
    return { records, last: records.length < AT_ONCE };
  });
  await readOn();
  const { count, first } = await reader.extent(kept.account);
  if (first) kept.columns.dropBefore(first);
  if (kept.columns.count <= count) return;
  // some have vanished that nothing came for: the store was emptied, or somebody has edited it
  [kept.columns, kept.mark] = [new RecordColumns(), BEFORE_ALL];
  await readOn();
}

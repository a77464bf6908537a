/**
 * A book over the fleet's shared ledger. Only accounts that somebody asks for are followed: first all that their streams hold, a
 * page at a time, then what has come since. A record that is written anew leaves its stream and comes again at its end.
 */
import { BEFORE_ALL } from '#ledger/usage-place.ts';
import type { RecordPlace } from '#ledger/usage-place.ts';
import type { ValkeyReader } from '#ledger/valkey-reader.ts';
import { openBook } from './book.ts';
import type { RecordShelf } from './book.ts';
import { RecordColumns, openNames } from './columns.ts';
import type { Names } from './columns.ts';
import type { UsageBook } from './usage.ts';

type RecordReader = Pick<ValkeyReader, 'recordsAfter' | 'recordsAt' | 'extent' | 'close'>;

/** So many are parsed within a few milliseconds. */
const AT_ONCE = 500;
/** Of all accounts; a row takes some sixty bytes. */
const MOST_ROWS = 1_000_000;
const ACCOUNTS_AT_ONCE = 8;

interface Followed {
  readonly account: string;
  columns: RecordColumns;
  last: RecordPlace;
}

/** The reader is the book's from here on. */
export function valkeyUsageBook(reader: RecordReader, mostRows: number = MOST_ROWS): UsageBook {
  return openBook(valkeyShelf(reader, mostRows));
}

function valkeyShelf(reader: RecordReader, mostRows: number): RecordShelf {
  const [keys, models] = [openNames(), openNames()];
  /** Who was asked for last comes last. */
  const followed = new Map<string, Followed>();
  const accountOf = new WeakMap<RecordColumns, string>();

  async function follow(account: string): Promise<RecordColumns> {
    const known = followed.get(account) ?? begin(account, keys, models);
    followed.delete(account);
    followed.set(account, known);
    await bringUpToDate(reader, known, () => new RecordColumns(keys, models));
    accountOf.set(known.columns, account);
    return known.columns;
  }

  /** Accounts that nobody has asked for lately are read again when somebody does. */
  function forgetSome(accounts: ReadonlySet<string>): void {
    let rows = [...followed.values()].reduce((sum, { columns }) => sum + columns.rows, 0);
    for (const { account, columns } of followed.values()) {
      if (rows <= mostRows) return;
      if (accounts.has(account)) continue;
      followed.delete(account);
      rows -= columns.rows;
    }
  }

  return {
    keys, models,
    async columns(accounts) {
      const all: RecordColumns[] = [];
      for (let at = 0; at < accounts.length; at += ACCOUNTS_AT_ONCE)
        all.push(...await Promise.all(accounts.slice(at, at + ACCOUNTS_AT_ONCE).map(follow)));
      forgetSome(new Set(accounts));
      return all;
    },
    async read(columns, places) {
      const account = accountOf.get(columns);
      return account === undefined ? [] : reader.recordsAt(account, places);
    },
    close() {
      followed.clear();
      reader.close();
    },
  };
}

function begin(account: string, keys: Names, models: Names): Followed {
  return { account, columns: new RecordColumns(keys, models), last: BEFORE_ALL };
}

async function bringUpToDate(reader: RecordReader, known: Followed, empty: () => RecordColumns): Promise<void> {
  await readOn(reader, known);
  const { count, first } = await reader.extent(known.account);
  if (first) known.columns.dropBefore(first);
  if (known.columns.count <= count) return;
  // some have vanished that nothing came for: the store was emptied, or somebody has edited it
  [known.columns, known.last] = [empty(), BEFORE_ALL];
  await readOn(reader, known);
}

async function readOn(reader: RecordReader, known: Followed): Promise<void> {
  for (;;) {
    const records = await reader.recordsAfter(known.account, known.last, AT_ONCE);
    known.columns.add(records);
    known.last = records.at(-1)?.place ?? known.last;
    if (records.length < AT_ONCE) return;
  }
}

/**
 * The accounts that a book follows, within bounded memory: of one account only the latest records are taken in, of all together
 * those of the accounts that were asked for last. Long readings are made one at a time, short ones pass them.
 */
import type { PlacedRecord } from '#ledger/usage-place.ts';
import { RecordColumns } from './columns.ts';

export interface BookBounds {
  /** Of all accounts; a row takes some seventy bytes. Beyond it those that were asked for longest ago are read again when somebody does. */
  readonly mostRows: number;
  /** Of one account. */
  readonly mostRowsOfAccount: number;
}

/** A hundred megabytes, and seventy more while a long reading is under way. */
export const BOOK_BOUNDS: BookBounds = { mostRows: 1_500_000, mostRowsOfAccount: 1_000_000 };
/** A reading that has taken in so many is a long one. */
const LONG_ROWS = 50_000;

/** What is known of one account, and how far: `mark` is the shelf's. */
export interface KeptAccount<M> {
  readonly account: string;
  columns: RecordColumns;
  mark: M;
}

interface Part {
  /** In the order of their places, after those of before. */
  readonly records: readonly PlacedRecord[];
  readonly last: boolean;
}

export interface KeptAccounts<M> {
  /** The account, once `bringUpToDate` is through with it; until then it is not forgotten. */
  use(account: string, bringUpToDate: (kept: KeptAccount<M>) => Promise<void>): Promise<KeptAccount<M>>;
  /** Takes in part by part; other work goes on in between. */
  readOn(kept: KeptAccount<M>, nextPart: () => Part | Promise<Part>): Promise<void>;
  clear(): void;
}

export function keepAccounts<M>({ mostRows, mostRowsOfAccount }: BookBounds, firstMark: () => M): KeptAccounts<M> {
  /** Who was asked for last comes last. */
  const accounts = new Map<string, KeptAccount<M>>();
  const busy = new Set<string>();
  let longReading: Promise<void> = Promise.resolve();

  function forgetSome(wanted: string): void {
    let rows = [...accounts.values()].reduce((sum, { columns }) => sum + columns.capacity, 0);
    for (const { account, columns } of accounts.values()) {
      if (rows <= mostRows) return;
      if (account === wanted || busy.has(account)) continue;
      accounts.delete(account);
      rows -= columns.capacity;
    }
  }

  /** Resolves, when no other long reading is under way, with what ends this one. */
  async function beginLong(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = longReading;
    longReading = before.then(() => promise);
    await before;
    return resolve;
  }

  return {
    async use(account, bringUpToDate) {
      const kept = accounts.get(account) ?? { account, columns: new RecordColumns(), mark: firstMark() };
      accounts.delete(account);
      accounts.set(account, kept);
      busy.add(account);
      try {
        await bringUpToDate(kept);
        return kept;
      } finally {
        busy.delete(account);
        forgetSome(account);
      }
    },
    async readOn(kept, nextPart) {
      let endLong: (() => void) | undefined;
      try {
        for (let taken = 0; ;) {
          const { records, last } = await nextPart();
          kept.columns.add(records);
          kept.columns.keepLatest(mostRowsOfAccount);
          taken += records.length;
          if (last) return;
          if (taken >= LONG_ROWS) endLong ??= await beginLong();
          await giveWay();
        }
      } finally {
        endLong?.();
      }
    },
    clear: () => accounts.clear(),
  };
}

/** Other work goes on meanwhile. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => { setImmediate(resolve); });
}

/**
 * A book of usage over whatever keeps the records. Sums and filters are answered from columns in memory, which follow the ledger
 * from one question to the next; only the records that are shown are read again. One question at a time has an account's columns, and
 * long ones give way to other work in between.
 */
import { LedgerUnavailable } from '#ledger/ledger.ts';
import type { PlacedRecord, RecordPlace } from '#ledger/usage-place.ts';
import type { UsageRecord } from '#ledger/usage-record.ts';
import type { RecordColumns, RowKey } from './columns.ts';
import { compareKeys } from './columns.ts';
import { giveWay } from './kept-accounts.ts';
import { formatKey, parseKey, rowsAfter, rowsBefore } from './rows.ts';
import type { FoundRow } from './rows.ts';
import { sumColumns, wholeSince } from './sums.ts';
import type { CallQuery, UsageBook } from './usage.ts';

/** One ledger's records, as far as a book needs them. */
export interface RecordShelf {
  /**
   * Works with columns that are up to date, each of its own account; one of which nothing is known has empty ones. What they were read
   * from can be read until the work has ended, whatever others ask for meanwhile.
   */
  use<R>(accounts: readonly string[], work: (all: readonly RecordColumns[]) => Promise<R>): Promise<R>;
  /** Those that are still there. */
  read(columns: RecordColumns, places: readonly RecordPlace[]): Promise<readonly PlacedRecord[]>;
  close(): void;
}

/** Some milliseconds of work. */
const ROWS_AT_ONCE = 100_000;
/** Of an export. */
const RECORDS_AT_ONCE = 200;
/** Accounts that are read ahead: those of a person, not those of a platform. */
const MOST_PREPARED = 10;

export function openBook(shelf: RecordShelf): UsageBook {
  /** The last question about each account that is asked about at the moment. */
  const turns = new Map<string, Promise<unknown>>();
  let closed = false;

  /** Questions about one account one after the other; whatever fails, fails as LedgerUnavailable. */
  function inTurn<R>(query: CallQuery, work: (all: readonly RecordColumns[]) => Promise<R>): Promise<R> {
    const accounts = [...new Set(query.accounts)];
    const mine = Promise.all(accounts.map((account) => turns.get(account) ?? Promise.resolve())).then(async () => {
      if (closed) throw new LedgerUnavailable('the ledger is closed');
      try {
        return await shelf.use(accounts, work);
      } catch (error) {
        throw error instanceof LedgerUnavailable ? error : new LedgerUnavailable('the ledger\'s records cannot be read', { cause: error });
      }
    });
    const turn = mine.catch(() => undefined) // whoever asked is told
      .then(() => { for (const account of accounts) if (turns.get(account) === turn) turns.delete(account); });
    for (const account of accounts) turns.set(account, turn);
    return mine;
  }

  /** In the order of the rows. */
  async function read(rows: readonly FoundRow[]): Promise<UsageRecord[]> {
    const records = new Map<FoundRow, UsageRecord>();
    for (const [columns, found] of Map.groupBy(rows, (row) => row.columns)) {
      const byPlace = new Map(found.map((row) => [placeWord(columns.place(row.row)), row]));
      for (const { place, record } of await shelf.read(columns, found.map(({ row }) => columns.place(row)))) {
        const row = byPlace.get(placeWord(place));
        if (row) records.set(row, record);
      }
    }
    return rows.flatMap((row) => records.get(row) ?? []); // what has gone meanwhile is not shown
  }

  function nextRecords(query: CallQuery, after: RowKey | undefined): Promise<{ readonly records: readonly UsageRecord[]; readonly last: RowKey | undefined }> {
    return inTurn(query, async (all) => {
      const rows = all.flatMap((columns) => rowsAfter(columns, query, { key: after, most: RECORDS_AT_ONCE })).sort((a, b) => compareKeys(a.key, b.key)).slice(0, RECORDS_AT_ONCE);
      return { records: await read(rows), last: rows.at(-1)?.key };
    });
  }

  return {
    sums: (query) => inTurn(query, async (all) => {
      const summing = sumColumns(all, query, ROWS_AT_ONCE);
      while (summing.step()) await giveWay();
      return summing.result();
    }),
    page: (query, { size, before }) => inTurn(query, async (all) => {
      const key = before === undefined ? undefined : parseKey(before);
      const found = all.flatMap((columns) => rowsBefore(columns, query, { key, most: size + 1 })).sort((a, b) => compareKeys(b.key, a.key));
      const rows = found.slice(0, size);
      const last = rows.at(-1);
      return { calls: await read(rows), next: found.length > size && last ? formatKey(last.key) : undefined, wholeSinceMs: wholeSince(all) };
    }),
    async *records(query) {
      for (let after: RowKey | undefined; ;) {
        const { records, last } = await nextRecords(query, after);
        yield* records;
        if (!last) return;
        after = last;
      }
    },
    prepare(accounts) {
      // whoever asks meanwhile waits for it
      if (accounts.length > 0 && accounts.length <= MOST_PREPARED) inTurn({ accounts }, async () => undefined).catch(() => undefined);
    },
    close() {
      closed = true;
      shelf.close();
    },
  };
}

function placeWord({ major, minor }: RecordPlace): string {
  return `${major}-${minor}`;
}

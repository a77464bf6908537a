/**
 * A book over the ledger's file of one machine, read beside the gateway that writes it. Records are followed by their numbers, a
 * slice at a time, since the gateway answers its calls in this very thread; costs that were given back later are found by the
 * jobs that failed.
 */
import { stat } from 'node:fs/promises';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import { openUsageFile } from '#ledger/usage-file.ts';
import type { UsageFile } from '#ledger/usage-file.ts';
import { BEFORE_ALL } from '#ledger/usage-place.ts';
import type { RecordPlace } from '#ledger/usage-place.ts';
import { giveWay, openBook } from './book.ts';
import type { RecordShelf } from './book.ts';
import { RecordColumns, openNames } from './columns.ts';
import type { UsageBook } from './usage.ts';

/** So many are read and taken in within a few milliseconds. */
const AT_ONCE = 1_000;
/** What has ended is in the file within seconds, and within an hour where somebody had locked it. */
const REFUNDS_OF_MS = 3_600_000;

/** One file; another one in its place is another of these. */
interface Followed {
  readonly file: UsageFile;
  readonly inode: number;
  readonly accounts: Map<string, RecordColumns>;
  last: RecordPlace;
  /** Refunds are known up to here. */
  refundsMs: number;
}

/** Opens the file when something is asked for, which may be before the gateway has made it. */
export function openFileUsageBook(path: string, nowMs: () => number = Date.now): UsageBook {
  return openBook(fileShelf(path, nowMs));
}

function fileShelf(path: string, nowMs: () => number): RecordShelf {
  let [keys, models] = [openNames(), openNames()];
  let followed: Followed | undefined;

  const empty = (): RecordColumns => new RecordColumns(keys, models);

  async function open(): Promise<Followed> {
    const inode = await stat(path).then(({ ino }) => ino, (error: unknown) => {
      throw new LedgerUnavailable('the ledger\'s file is not there', { cause: error });
    });
    const last = followed?.file.extent()?.last;
    if (followed && followed.inode === inode && (last?.major ?? 0) >= followed.last.major) return followed;
    followed?.file.close();
    followed = undefined;
    [keys, models] = [openNames(), openNames()];
    followed = { file: openUsageFile(path), inode, accounts: new Map(), last: BEFORE_ALL, refundsMs: 0 };
    return followed;
  }

  async function follow(): Promise<Followed> {
    const current = await open();
    const startedMs = nowMs();
    while (takeIn(current, empty) === AT_ONCE) await giveWay();
    for (const refund of current.file.refunds(current.refundsMs)) current.accounts.get(refund.account)?.refund(refund);
    current.refundsMs = startedMs - REFUNDS_OF_MS;
    const first = current.file.extent()?.first;
    if (first) for (const columns of current.accounts.values()) columns.dropBefore(first);
    return current;
  }

  return {
    get keys() { return keys; },
    get models() { return models; },
    async columns(accounts) {
      const known = (await follow()).accounts;
      return accounts.map((account) => known.get(account) ?? empty());
    },
    async read(_columns, places) {
      return followed?.file.at(places) ?? [];
    },
    close() {
      followed?.file.close();
      followed = undefined;
    },
  };
}

/** Returns how many have come. */
function takeIn(current: Followed, empty: () => RecordColumns): number {
  const records = current.file.after(current.last, AT_ONCE);
  for (const [account, some] of Map.groupBy(records, ({ record }) => record.account)) {
    const columns = current.accounts.get(account) ?? empty();
    current.accounts.set(account, columns);
    columns.add(some);
  }
  current.last = records.at(-1)?.place ?? current.last;
  return records.length;
}

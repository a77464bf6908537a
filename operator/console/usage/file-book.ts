/**
 * A book over the ledger's file of one machine, read beside the gateway that writes it. Records are followed by their numbers, account
 * by account and a slice at a time, since the gateway answers its calls in this very thread; costs that were given back later are
 * found by the jobs that failed.
 */
import { statSync } from 'node:fs';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import { openUsageFile } from '#ledger/usage-file.ts';
import type { UsageFile } from '#ledger/usage-file.ts';
import { openBook } from './book.ts';
import type { RecordShelf } from './book.ts';
import type { RecordColumns } from './columns.ts';
import { BOOK_BOUNDS, keepAccounts } from './kept-accounts.ts';
import type { BookBounds, KeptAccount, KeptAccounts } from './kept-accounts.ts';
import type { UsageBook } from './usage.ts';

/** So many are taken in within a few milliseconds, and so many looked through. */
const AT_ONCE = 1_000;
const LOOKED_THROUGH_AT_ONCE = 20_000;
/** What has ended is in the file within seconds, and within an hour where somebody had locked it. */
const REFUNDS_OF_MS = 3_600_000;

/** How far an account is known. */
interface FileMark {
  /** The number of the last record that was looked at. */
  readonly number: number;
  /** Refunds are known up to here; undefined: nothing was read yet. */
  readonly refundsMs: number | undefined;
}

/** One file; another one in its place is another of these. */
interface Followed {
  readonly file: UsageFile;
  readonly inode: number;
  readonly accounts: KeptAccounts<FileMark>;
  /** The file's last number, when it was looked at last. */
  lastNumber: number;
  /** Questions that are under way. */
  users: number;
  /** Another one has its place: it is closed with the last of its questions. */
  replaced: boolean;
}

interface FileBookOptions {
  readonly nowMs?: () => number;
  readonly bounds?: BookBounds;
}

/** Opens the file when something is asked for, which may be before the gateway has made it. */
export function openFileUsageBook(path: string, { nowMs = Date.now, bounds = BOOK_BOUNDS }: FileBookOptions = {}): UsageBook {
  return openBook(fileShelf(path, nowMs, bounds));
}

function fileShelf(path: string, nowMs: () => number, bounds: BookBounds): RecordShelf {
  let followed: Followed | undefined;
  /** Numbers mean nothing in another file, which may have come meanwhile. */
  const fileOf = new WeakMap<RecordColumns, UsageFile>();

  function open(): Followed {
    const inode = inodeOf(path);
    if (followed && !lookAgain(followed, inode)) {
      retire(followed);
      followed = undefined;
    }
    return followed ??= follow(path, inode, bounds);
  }

  return {
    async use(wanted, work) {
      const mine = open();
      const { file, accounts } = mine;
      mine.users++;
      try {
        const kept = await Promise.all(wanted.map((account) => accounts.use(account, (each) => bringUpToDate(each, { file, accounts, nowMs }))));
        for (const { columns } of kept) fileOf.set(columns, file);
        return await work(kept.map(({ columns }) => columns));
      } finally {
        mine.users--;
        if (mine.replaced) retire(mine);
      }
    },
    async read(columns, places) {
      return fileOf.get(columns)?.at(places) ?? [];
    },
    close() {
      if (followed) retire(followed);
      followed = undefined;
    },
  };
}

/** By which one file in a place is told from another. @throws LedgerUnavailable */
function inodeOf(path: string): number {
  try {
    return statSync(path).ino;
  } catch (error) {
    throw new LedgerUnavailable('the ledger\'s file is not there', { cause: error });
  }
}

function follow(path: string, inode: number, bounds: BookBounds): Followed {
  const file = openUsageFile(path);
  try {
    return { file, inode, accounts: keepAccounts(bounds, () => ({ number: 0, refundsMs: undefined })), lastNumber: lastNumberOf(file), users: 0, replaced: false };
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Notes its last number; says whether it has its place still: numbers that begin again are another ledger in the same file. */
function lookAgain(followed: Followed, inode: number): boolean {
  if (followed.inode !== inode) return false;
  const lastNumber = lastNumberOf(followed.file);
  const goesOn = lastNumber >= followed.lastNumber;
  followed.lastNumber = lastNumber;
  return goesOn;
}

function retire(followed: Followed): void {
  followed.replaced = true;
  if (followed.users === 0) followed.file.close();
}

function lastNumberOf(file: UsageFile): number {
  return file.extent()?.last.major ?? 0;
}

async function bringUpToDate(kept: KeptAccount<FileMark>, { file, accounts, nowMs }: Pick<Followed, 'file' | 'accounts'> & { readonly nowMs: () => number }): Promise<void> {
  const sinceMs = nowMs() - REFUNDS_OF_MS;
  const { account } = kept;
  const { first, last } = file.extent() ?? {};
  if (!first || !last) return;
  await accounts.readOn(kept, () => {
    const from = Math.max(kept.mark.number, first.major - 1);
    const to = Math.min(from + LOOKED_THROUGH_AT_ONCE, last.major);
    const records = from < to ? file.between({ major: from, minor: 0 }, { major: to, minor: 0 }, account, AT_ONCE) : [];
    const number = records.length === AT_ONCE ? records.at(-1)?.place.major ?? to : Math.max(from, to);
    kept.mark = { ...kept.mark, number };
    return { records, last: number >= last.major };
  });
  for (const refund of file.refunds(kept.mark.refundsMs ?? sinceMs)) if (refund.account === account) kept.columns.refund(refund);
  kept.mark = { ...kept.mark, refundsMs: sinceMs };
  kept.columns.dropBefore(first);
}

/** A usage store over the ledger's file of one machine, read while the gateway writes it. */
import { statSync } from 'node:fs';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { UsageTables } from '#usage/tables.ts';
import { openSqlUsageStore } from './sql-store.ts';
import type { UsageDatabase } from './sql-store.ts';
import type { UsageStore } from './usage.ts';

/** An open file for repeated queries. */
export interface UsageFile {
  readonly tables: UsageTables;
  close(): void;
}

/** Throws if the file is missing, is not a ledger, or has an older schema. */
export type OpenUsageFile = (path: string) => UsageFile;

interface OpenFile {
  readonly file: UsageFile;
  readonly inode: number;
  /** Queries in progress. */
  users: number;
  /** It is closed when its last query ends. */
  retired: boolean;
}

/** Opens the file for the first query, because the gateway may not have created it before. */
export function openFileUsageStore(path: string, openFile: OpenUsageFile): UsageStore {
  return { ...openSqlUsageStore(openDatabase(path, openFile)), prepare: () => undefined }; // the file has its sums already
}

function openDatabase(path: string, openFile: OpenUsageFile): UsageDatabase {
  let current: OpenFile | undefined;

  /** Another file may have been put into its place. */
  function open(): OpenFile {
    const inode = inodeOf(path);
    if (current && current.inode !== inode) retire();
    return (current ??= { file: openFile(path), inode, users: 0, retired: false });
  }

  function retire(): void {
    if (!current) return;
    current.retired = true;
    if (current.users === 0) current.file.close();
    current = undefined;
  }

  return {
    async use(_accounts, work) {
      const mine = open();
      mine.users++;
      try {
        return await work(mine.file.tables, 0);
      } finally {
        mine.users--;
        if (mine.retired && mine.users === 0) mine.file.close();
      }
    },
    close: retire,
  };
}

/** Identifies the file, because another one may take its place. @throws LedgerUnavailable */
function inodeOf(path: string): number {
  try {
    return statSync(path).ino;
  } catch (error) {
    throw new LedgerUnavailable("the ledger's file is not there", { cause: error });
  }
}

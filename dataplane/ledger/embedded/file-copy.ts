/**
 * The ledger's file, its log, and the copy of a file that was removed under its process. Without the tables in it, since
 * the checkpoint thread needs no more.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { RowReader } from '#usage/rows.ts';
import { prepareRows, rowsOf } from '#usage/sqlite.ts';

const OWNER_ONLY = 0o600;

/** The path of a database's write-ahead log. SQLite creates it on opening the database, and deletes it on closing. */
export function logOf(path: string): string {
  return `${path}-wal`;
}

/** What a checkpoint has done with the log's pages. */
export interface Moved {
  readonly isBusy: boolean;
  /** -1: the file has no log. */
  readonly pages: number;
  /** How many of them are in the file. */
  readonly moved: number;
}

/** Moves the log's pages into the file. RESTART waits for readers, and then the next commit begins the log anew. */
export function moveLog(db: DatabaseSync, mode: 'PASSIVE' | 'RESTART'): Moved {
  const [row = []] = rowsOf(prepareRows(db, `PRAGMA wal_checkpoint(${mode})`).all());
  const read = new RowReader(row);
  return { isBusy: read.count() !== 0, pages: read.count(), moved: read.count() };
}

/** Undefined: there is no such file. */
export function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/** The complete copy of a file that was removed under its process; it takes the file's place before that is opened. */
function copyPath(path: string): string {
  return `${path}.copy`;
}

/** Makes a complete and synced copy of an open database. */
export function copyDatabase(db: DatabaseSync, path: string): void {
  const part = `${copyPath(path)}.part`;
  rmSync(part, { force: true });
  // VACUUM INTO would create a file that others can read, but it fills an empty one
  const fd = openSync(part, 'w', OWNER_ONLY);
  try {
    db.prepare('VACUUM INTO ?').run(part);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(part, copyPath(path));
}

/** Whether a copy waits to be put in the place of the file. */
export function isCopied(path: string): boolean {
  return inodeOf(copyPath(path)) !== undefined;
}

/** Puts a copy, if there is one, in the place of the file. Nobody may have the file open. */
export function putCopyInPlace(path: string): void {
  if (!isCopied(path)) return;
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  renameSync(copyPath(path), path);
}

/** Syncs the folder of a file, without which a new file in it does not survive a power failure. */
export async function syncFolderOf(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

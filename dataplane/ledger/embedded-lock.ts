/**
 * One process at a time: a transaction that is held open on a side file. The operating system ends it with the process,
 * however that ends, so that no stale lock is ever left.
 */
import { DatabaseSync } from 'node:sqlite';

/** Returns how to give the lock back; throws where someone else has it. */
export function lockLedger(path: string): () => void {
  const db = new DatabaseSync(`${path}.lock`);
  try {
    db.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (isBusy(error)) throw new Error(`the ledger ${path} is in use by another process`, { cause: error });
    throw error;
  }
  return () => db.close();
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (error.errcode === 5 || error.errcode === 6);
}

/** Queries of SQLite whose rows are arrays, and its error codes. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Row } from './rows.ts';

/** Prepares a query that returns rows as arrays, and integers as BigInt. */
export function prepareRows(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  return statement;
}

/** Narrows the rows of a statement of prepareRows, whose declared type has no arrays. */
export function rowsOf(rows: readonly unknown[]): Row[] {
  return rows.filter(isRow);
}

function isRow(row: unknown): row is Row {
  return Array.isArray(row);
}

/** The primary code of SQLite's error; undefined if the error is not SQLite's. */
export function sqliteCode(error: unknown): number | undefined {
  // extended codes have the primary one in their low byte
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
}

/** Records of calls are found by their ids, in any block, until they are deleted. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { test } from 'vitest';
import { LedgerFile } from '#ledger/embedded/ledger-file.ts';
import { decodeSettled, SETTLED_COLUMNS, settledRow } from '#ledger/embedded/rows.ts';
import { openFile } from '#ledger/embedded/schema.ts';
import { NOON_MS, origin, progress } from '../calls.ts';
import { tempFolder } from './subject.ts';

const BLOCK = 16_384;
const PROBES = [0, 1, 5_000, BLOCK - 2, BLOCK - 1, BLOCK, 2 * BLOCK - 2, 2 * BLOCK - 1, 2 * BLOCK + 99];

function inFolder(work: (path: string) => void): void {
  const folder = tempFolder();
  try {
    work(join(folder.path, 'ledger.db'));
  } finally {
    folder.remove();
  }
}

/** Opens the file as its thread does, and closes it after the work. */
function opened(path: string, work: (file: LedgerFile, db: DatabaseSync) => void): void {
  const db = openFile(path);
  const file = new LedgerFile(db, { path, retention: { maxRecords: 1e6, maxAgeMs: 1e12 }, faults: undefined });
  try {
    work(file, db);
  } finally {
    file.close();
  }
}

/** `count` records from `call-<from>` on. */
function record(db: DatabaseSync, from: number, count: number): void {
  const insert = db.prepare(
    `INSERT INTO usage (${SETTLED_COLUMNS.join(', ')}) VALUES (${SETTLED_COLUMNS.map(() => '?').join(', ')})`,
  );
  const call = { ...progress(1n), status: 'Succeeded' as const, unbilledNanoUsd: 0n, durationMs: 1 };
  db.exec('BEGIN');
  for (let n = from; n < from + count; n++)
    insert.run(
      ...settledRow({
        record: { ...origin(`call-${n}`), ...call },
        keySpentNanoUsd: 1n,
        keyRemainingNanoUsd: null,
        settledMs: NOON_MS,
      }),
    );
  db.exec('COMMIT');
}

/** Those from `first` up to, but not including, `after`. */
function assertFinds(file: LedgerFile, first: number, after: number): void {
  for (const n of [...PROBES, first - 1, first, after - 1, after]) {
    const row = file.findCall(`call-${n}`);
    const expected = n >= first && n < after ? `call-${n}` : undefined;
    assert.equal(row && decodeSettled(row).record.callId, expected, `call-${n}`);
  }
}

test('finds records in every block, before and after the file is opened again', () =>
  inFolder((path) => {
    opened(path, (file, db) => {
      assertFinds(file, 0, 0);
      record(db, 0, 10);
      assertFinds(file, 0, 10);
      record(db, 10, 2 * BLOCK + 90);
      assertFinds(file, 0, 2 * BLOCK + 100);
    });
    opened(path, (file) => assertFinds(file, 0, 2 * BLOCK + 100));
  }));

test('does not find deleted records, also if numbers restart', () =>
  inFolder((path) =>
    opened(path, (file, db) => {
      record(db, 0, 2 * BLOCK + 100);
      for (const last of [100, BLOCK + 7, 2 * BLOCK + 50]) {
        db.prepare('DELETE FROM usage WHERE seq <= ?').run(last);
        assertFinds(file, last, 2 * BLOCK + 100);
      }
      db.exec('DELETE FROM usage');
      assertFinds(file, 0, 0);
      record(db, 7, 100);
      assertFinds(file, 7, 107);
    }),
  ));

test('finds numbers beyond 32 bits', () =>
  inFolder((path) =>
    opened(path, (file, db) => {
      record(db, 0, 1);
      db.exec('UPDATE usage SET seq = 5000000000');
      record(db, 1, 1);
      assertFinds(file, 0, 2);
    }),
  ));

test('indexes a file of the version with blocks of ids, and empties its blocks', () =>
  inFolder((path) => {
    opened(path, (_file, db) => {
      record(db, 0, BLOCK + 100);
      db.exec("DROP INDEX usage_by_call; INSERT INTO usage_blocks VALUES (0, x'00')");
    });
    opened(path, (file, db) => {
      assertFinds(file, 0, BLOCK + 100);
      assert.equal(db.prepare('SELECT count(*) AS n FROM usage_blocks').get()?.['n'], 0);
      const plan = db.prepare("EXPLAIN QUERY PLAN SELECT seq FROM usage WHERE seq >> 14 = 1 AND call_id = 'a'").all();
      assert.match(String(plan[0]?.['detail']), /USING (COVERING )?INDEX usage_by_call/);
    });
  }));

/** Records of calls are found by their ids, in any block, until they are deleted. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { test } from 'vitest';
import { openFile } from '../../../../../dataplane/ledger/embedded/schema.ts';
import { UsageRows } from '../../../../../dataplane/ledger/embedded/usage-rows.ts';
import { addRecords } from '../../../../support/usage-rows.ts';
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

/** Opens the file, and closes it after the work. */
function opened(path: string, work: (rows: UsageRows, db: DatabaseSync) => void): void {
  const db = openFile(path);
  try {
    work(new UsageRows(db, { maxRecords: 1e6, maxAgeMs: 1e14 }), db);
  } finally {
    db.close();
  }
}

/** `count` records from `call-<from>` on. */
function record(db: DatabaseSync, from: number, count: number): void {
  const call = { ...progress(1n), status: 'Succeeded' as const, unbilledNanoUsd: 0n, durationMs: 1 };
  const records = Array.from({ length: count }, (_, at) => ({ ...origin(`call-${from + at}`), ...call }));
  db.exec('BEGIN');
  addRecords(db, records, NOON_MS);
  db.exec('COMMIT');
}

/** Those from `first` up to, but not including, `after`. */
function assertFinds(rows: UsageRows, first: number, after: number): void {
  for (const n of [...PROBES, first - 1, first, after - 1, after]) {
    const expected = n >= first && n < after ? `call-${n}` : undefined;
    assert.equal(rows.find(`call-${n}`)?.record.callId, expected, `call-${n}`);
  }
}

test('finds records in every block, before and after the file is opened again', () =>
  inFolder((path) => {
    opened(path, (rows, db) => {
      assertFinds(rows, 0, 0);
      record(db, 0, 10);
      assertFinds(rows, 0, 10);
      record(db, 10, 2 * BLOCK + 90);
      assertFinds(rows, 0, 2 * BLOCK + 100);
    });
    opened(path, (rows) => assertFinds(rows, 0, 2 * BLOCK + 100));
  }));

test('does not find deleted records, also if numbers restart', () =>
  inFolder((path) =>
    opened(path, (rows, db) => {
      record(db, 0, 2 * BLOCK + 100);
      for (const last of [100, BLOCK + 7, 2 * BLOCK + 50]) {
        db.prepare('DELETE FROM usage WHERE seq <= ?').run(last);
        assertFinds(rows, last, 2 * BLOCK + 100);
      }
      db.exec('DELETE FROM usage');
      assertFinds(rows, 0, 0);
      record(db, 7, 100);
      assertFinds(rows, 7, 107);
    }),
  ));

test('finds numbers beyond 32 bits', () =>
  inFolder((path) =>
    opened(path, (rows, db) => {
      record(db, 0, 1);
      db.exec('UPDATE usage SET seq = 5000000000');
      record(db, 1, 1);
      assertFinds(rows, 0, 2);
    }),
  ));

test('indexes a file of the version with blocks of ids, and empties its blocks', () =>
  inFolder((path) => {
    opened(path, (_rows, db) => {
      record(db, 0, BLOCK + 100);
      db.exec("DROP INDEX usage_by_call; INSERT INTO usage_blocks VALUES (0, x'00')");
    });
    opened(path, (rows, db) => {
      assertFinds(rows, 0, BLOCK + 100);
      assert.equal(db.prepare('SELECT count(*) AS n FROM usage_blocks').get()?.['n'], 0);
      const plan = db.prepare("EXPLAIN QUERY PLAN SELECT seq FROM usage WHERE seq >> 14 = 1 AND call_id = 'a'").all();
      assert.match(String(plan[0]?.['detail']), /USING (COVERING )?INDEX usage_by_call/);
    });
  }));

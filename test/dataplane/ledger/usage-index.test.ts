/** Records of calls are found by their ids, in whichever block they are, and not after they have left. */
import assert from 'node:assert/strict';
import { rmSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { USAGE_COLUMNS } from '#ledger/embedded-rows.ts';
import { openFile } from '#ledger/embedded-schema.ts';
import { UsageIndex } from '#ledger/usage-index.ts';

const BLOCK = 16_384;
const OTHERS = USAGE_COLUMNS.slice(1).map(() => '0').join(', ');

function opened(work: (db: DatabaseSync) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'usage-index-'));
  const db = openFile(join(folder, 'ledger.db'));
  try {
    work(db);
  } finally {
    db.close();
    rmSync(folder, { recursive: true });
  }
}

/** `count` records, `call-<from>` and on, told to the index where there is one. */
function record(db: DatabaseSync, index: UsageIndex | undefined, [from, count]: readonly [number, number]): void {
  const insert = db.prepare(`INSERT INTO usage (${USAGE_COLUMNS.join(', ')}) VALUES (?, ${OTHERS})`);
  db.exec('BEGIN');
  for (let n = from; n < from + count; n++) {
    insert.run(`call-${n}`);
    index?.add(`call-${n}`);
  }
  db.exec('COMMIT');
}

const PROBES = [0, 1, 5_000, BLOCK - 2, BLOCK - 1, BLOCK, 2 * BLOCK - 2, 2 * BLOCK - 1, 2 * BLOCK + 99];

function assertFinds(db: DatabaseSync, index: UsageIndex, [first, after]: readonly [number, number]): void {
  const seqOf = db.prepare('SELECT seq FROM usage WHERE call_id = ?');
  for (const n of [...PROBES, first - 1, first, after - 1, after]) {
    const found = index.find(`call-${n}`);
    assert.equal(found, seqOf.get(`call-${n}`)?.['seq'], `call-${n}`);
    assert.equal(found !== undefined, n >= first && n < after, `call-${n}`);
  }
}

test('what was added is found, before and after the file is opened again', () => opened((db) => {
  const index = new UsageIndex(db);
  assertFinds(db, index, [0, 0]);
  for (const span of [[0, 10], [10, BLOCK], [BLOCK + 10, BLOCK + 90]] as const) record(db, index, span);
  assertFinds(db, index, [0, 2 * BLOCK + 100]);
  assert.equal(db.prepare('SELECT count(*) AS blocks FROM usage_blocks').get()?.['blocks'], 2);
  const again = new UsageIndex(db);
  assertFinds(db, again, [0, 2 * BLOCK + 100]);
  record(db, again, [2 * BLOCK + 100, BLOCK]);
  assertFinds(db, again, [0, 3 * BLOCK + 100]);
}));

test('so is what a file has that knew no blocks', () => opened((db) => {
  record(db, undefined, [0, 2 * BLOCK + 100]);
  assertFinds(db, new UsageIndex(db), [0, 2 * BLOCK + 100]);
  assertFinds(db, new UsageIndex(db), [0, 2 * BLOCK + 100]);
}));

test('what has left is not found, and its blocks leave the file', () => opened((db) => {
  const index = new UsageIndex(db);
  record(db, index, [0, 2 * BLOCK + 100]);
  const blocks = (): unknown[] => db.prepare('SELECT block FROM usage_blocks ORDER BY block').all().map((row) => row['block']);
  for (const [last, left] of [[100, [0, 1]], [BLOCK + 7, [1]], [2 * BLOCK + 50, []]] as const) {
    db.prepare('DELETE FROM usage WHERE seq <= ?').run(last);
    index.pruned();
    assertFinds(db, index, [last, 2 * BLOCK + 100]);
    assert.deepEqual(blocks(), left);
  }
}));

test('numbers begin anew where all have left', () => opened((db) => {
  const index = new UsageIndex(db);
  record(db, index, [0, BLOCK + 5]);
  db.exec('DELETE FROM usage');
  index.pruned();
  assertFinds(db, index, [0, 0]);
  record(db, index, [7, BLOCK]);
  assertFinds(db, index, [7, BLOCK + 7]);
  assertFinds(db, new UsageIndex(db), [7, BLOCK + 7]);
}));

test('ids of one hash are told apart', () => opened((db) => {
  // a pair that FNV-1a of 32 bits makes the same of
  const [first, second] = ['costarring', 'liquid'];
  const index = new UsageIndex(db);
  const insert = db.prepare(`INSERT INTO usage (${USAGE_COLUMNS.join(', ')}) VALUES (?, ${OTHERS})`);
  insert.run(first);
  index.add(first);
  assert.deepEqual([index.find(first), index.find(second)], [1, undefined]);
  insert.run(second);
  index.add(second);
  assert.deepEqual([index.find(first), index.find(second)], [1, 2]);
}));

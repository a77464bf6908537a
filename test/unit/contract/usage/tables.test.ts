/** The tables of usage: sums by day, query plans, and files of earlier schemas. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { openFile } from '../../../../dataplane/ledger/embedded/schema.ts';
import type { CallStatus } from '#usage/record.ts';
import { readUsageFile } from '../../../../dataplane/ledger/embedded/usage-file.ts';
import { CALL_COLUMNS } from '#usage/schema.ts';
import { USAGE_QUERIES, UsageTables } from '#usage/tables.ts';
import { addRecords, deleteOldest, refundRecord } from '../../../support/usage-rows.ts';
import { NOON_MS, progress, origin } from '../../dataplane/ledger/calls.ts';

const DAY_MS = 86_400_000;
/** Makes a file of version 3 of one of the present version. */
const UNDO_VERSION_4 = `DROP TABLE usage_days; DROP INDEX usage_by_account;
  ALTER TABLE usage DROP COLUMN upstream_cost_nano_usd; ALTER TABLE usage DROP COLUMN session;
  DROP TABLE key_names; ALTER TABLE usage DROP COLUMN key_name; ALTER TABLE usage DROP COLUMN labels;
  ALTER TABLE usage DROP COLUMN lines; ALTER TABLE jobs DROP COLUMN terms; DROP TABLE conversations;
  ALTER TABLE keys DROP COLUMN marks; ALTER TABLE accounts DROP COLUMN marks; ALTER TABLE jobs DROP COLUMN admitted_ms;
  DROP TABLE calls; DROP TABLE log; CREATE TABLE holds (call_id TEXT PRIMARY KEY, ${CALL_COLUMNS},
    held_nano_usd INTEGER NOT NULL, day_start_ms INTEGER NOT NULL, month_start_ms INTEGER NOT NULL,
    key_limit_nano_usd INTEGER, period TEXT NOT NULL, credit_nano_usd INTEGER NOT NULL,
    renewed_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID; PRAGMA user_version = 3`;

function inFolder(work: (path: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'mgw-usage-'));
  try {
    work(join(folder, 'ledger.db'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Call {
  readonly id: number;
  readonly account: string;
  readonly keyUid: string;
  readonly status: CallStatus;
  readonly createdMs: number;
  readonly costNanoUsd: bigint;
}

const call: fc.Arbitrary<Call> = fc.record({
  id: fc.nat(20),
  account: fc.constantFrom('a', 'b'),
  keyUid: fc.constantFrom('key-1', 'key-2'),
  status: fc.constantFrom<CallStatus>('Succeeded', 'Failed'),
  createdMs: fc.integer({ min: NOON_MS - 2 * DAY_MS, max: NOON_MS }),
  costNanoUsd: fc.oneof(fc.bigInt({ min: 0n, max: 10n ** 9n }), fc.constant(20_000_000_000_000_001n)),
});

function add(db: DatabaseSync, ...calls: readonly Call[]): void {
  const records = calls.map(({ id, account, keyUid, status, createdMs, costNanoUsd }) => ({
    ...origin(`call-${id}`, { account, keyUid, createdMs }),
    ...progress(costNanoUsd),
    status,
    unbilledNanoUsd: 0n,
    durationMs: 7,
  }));
  addRecords(db, records, NOON_MS);
}

type Step =
  | { readonly kind: 'Add'; readonly calls: readonly Call[] }
  | { readonly kind: 'Refund'; readonly id: number }
  | { readonly kind: 'Prune'; readonly count: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant<'Add'>('Add'), calls: fc.array(call, { maxLength: 6 }) }),
  fc.record({ kind: fc.constant<'Refund'>('Refund'), id: fc.nat(20) }),
  fc.record({ kind: fc.constant<'Prune'>('Prune'), count: fc.nat(8) }),
);

function take(db: DatabaseSync, taken: Step): void {
  switch (taken.kind) {
    case 'Add':
      return add(db, ...taken.calls);
    case 'Refund':
      return refundRecord(db, `call-${taken.id}`);
    case 'Prune':
      return deleteOldest(db, taken.count);
  }
}

/** Asserts that the maintained sums equal those of the records. */
function assertExact(db: DatabaseSync): void {
  const rows = (sql: string): unknown[] => {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all().map((row) => ({ ...row }));
  };
  assert.deepEqual(
    rows('SELECT * FROM usage_days ORDER BY account, day, key_uid, model, status'),
    rows(`SELECT account, created_ms / 86400000 AS day, key_uid, model, status, count(*) AS calls,
      sum(cost_nano_usd) AS cost_nano_usd, sum(input + cached + cache_write_5m + cache_write_1h) AS input_tokens,
      sum(output) AS output_tokens FROM usage GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`),
  );
}

describe('sums by day', () => {
  it('equal those of the records, while they are added, refunded and deleted', () => {
    inFolder((path) => {
      const db = openFile(path);
      fc.assert(
        fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
          db.exec('BEGIN');
          for (const each of steps) {
            take(db, each);
            assertExact(db);
          }
          deleteOldest(db, 1_000);
          assert.equal(db.prepare('SELECT count(*) AS n FROM usage_days').get()?.['n'], 0);
          db.exec('ROLLBACK');
        }),
        { numRuns: 30 },
      );
      db.close();
    });
  });

  it('are created by the migration of an older file, and updated afterwards', () =>
    inFolder((path) => {
      let db = openFile(path);
      const calls = fc.sample(call, 200);
      add(db, ...calls);
      db.exec(UNDO_VERSION_4);
      db.close();
      for (let opening = 0; opening < 2; opening++) {
        db = openFile(path);
        assert.equal(db.prepare('PRAGMA user_version').get()?.['user_version'], 12);
        assert.equal(db.prepare('SELECT sum(calls) AS n FROM usage_days').get()?.['n'], 200 + opening);
        assertExact(db);
        add(db, { ...(calls[0] ?? assert.fail()), id: 1_000 + opening });
        assertExact(db);
        db.close();
      }
      assert.equal([...readUsageFile(path, {})].length, 202);
    }));
});

describe('queries of usage', () => {
  it('use the indexes, and sort nothing', () =>
    inFolder((path) => {
      const db = openFile(path);
      const plan = (sql: string): string => {
        const parameters = Object.fromEntries([...new Set(sql.match(/:\w+/g))].map((name) => [name.slice(1), 1]));
        return db
          .prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .all(parameters)
          .map(({ detail }) => String(detail))
          .join('; ');
      };
      const range = '(account=? AND (created_ms,call_id)>(?,?) AND (created_ms,call_id)<(?,?))';
      for (const order of ['OldestFirst', 'NewestFirst'] as const) {
        assert.equal(plan(USAGE_QUERIES.calls(order)), `SEARCH usage USING INDEX usage_by_account ${range}`);
        assert.equal(
          plan(USAGE_QUERIES.position(order)),
          `SEARCH usage USING COVERING INDEX usage_by_account ${range}`,
        );
        assert.equal(
          plan(USAGE_QUERIES.day(order)),
          'SEARCH usage_days USING PRIMARY KEY (account=? AND day>? AND day<?)',
        );
      }
      assert.equal(
        plan(USAGE_QUERIES.sums),
        `SEARCH usage USING INDEX usage_by_account ${range}; USE TEMP B-TREE FOR GROUP BY`,
      );
      assert.equal(
        plan(USAGE_QUERIES.intervals),
        `SEARCH usage USING INDEX usage_by_account ${range}; USE TEMP B-TREE FOR GROUP BY`,
      );
      for (const column of ['model', 'key_uid', 'account'] as const)
        assert.match(
          plan(USAGE_QUERIES.dayTotals(column)),
          /^SEARCH usage_days USING PRIMARY KEY \(account=\? AND day=\?\)/,
        );
      assert.equal(plan(USAGE_QUERIES.daySums), 'SEARCH usage_days USING PRIMARY KEY (account=? AND day=?)');
      db.close();
    }));

  it('read no more calls than a page has', () =>
    inFolder((path) => {
      const db = openFile(path);
      const some = { account: 'a', keyUid: 'key-1', status: 'Succeeded' as const, costNanoUsd: 1n };
      for (let id = 0; id < 25; id++) add(db, { ...some, id: id + 100, createdMs: NOON_MS + Math.floor(id / 3) });
      const whole = { from: { createdMs: 0, callId: '' }, to: { createdMs: NOON_MS + DAY_MS, callId: '' } };
      const tables = new UsageTables(db);
      for (const order of ['OldestFirst', 'NewestFirst'] as const) {
        const sizes: number[] = [];
        const ids: string[] = [];
        for (let range = whole; ids.length < 25;) {
          const slice = tables.slice('a', range, { order, size: 10 });
          const calls = tables.calls({ account: 'a' }, slice, { order, most: 100 });
          assert.equal(tables.sums({ account: 'a' }, slice)[0]?.calls, calls.length);
          sizes.push(calls.length);
          ids.push(...calls.map(({ callId }) => callId));
          range = order === 'OldestFirst' ? { ...range, from: slice.to } : { ...range, to: slice.from };
        }
        assert.deepEqual(sizes, [10, 10, 5]);
        const all = Array.from({ length: 25 }, (_, id) => `call-${id + 100}`);
        assert.deepEqual(ids, order === 'OldestFirst' ? all : all.toReversed());
      }
      db.close();
    }));
});

/** Usage of a ledger's file while it is written, slice by slice. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, it, onTestFinished, vi } from 'vitest';
import { JOB_COLUMNS } from '../../../../dataplane/ledger/embedded/rows.ts';
import { openFile } from '../../../../dataplane/ledger/embedded/schema.ts';
import { openEmbeddedLedger } from '../../../../dataplane/ledger/embedded.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { UsageRecord } from '#usage/record.ts';
import { openFileUsageStore } from '../../../../console/data/file-store.ts';
import { openUsageFile } from '../../../../dataplane/ledger/embedded/usage-file.ts';
import { addRecords, deleteOldest, refundRecord } from '../../../support/usage-rows.ts';
import { holdRequest, origin, progress, settlement } from '../../dataplane/ledger/calls.ts';
import { ACCOUNTS, NOON_MS, asRefunded, checkBook, plannedCall, query, recordOf } from './cases.ts';
import type { PlannedCall } from './cases.ts';

const folder = mkdtempSync(join(tmpdir(), 'mgw-book-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newPath = (): string => join(folder, `${files++}.db`);

/** Replaces the file as a restore does. */
function moveAway(path: string): void {
  renameSync(path, `${path}.old`);
  for (const part of ['-wal', '-shm']) rmSync(`${path}${part}`, { force: true });
}

function insert(
  db: DatabaseSync,
  table: string,
  columns: readonly string[],
  row: readonly (string | number | bigint | null)[],
): void {
  db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`).run(...row);
}

/** The ledger's writes for a settled call, and for a failed job. */
function settle(db: DatabaseSync, record: UsageRecord): void {
  addRecords(db, [record], NOON_MS);
}

function refund(
  db: DatabaseSync,
  { callId, keyUid, account, createdMs, group, model, channel, catalog, costNanoUsd }: UsageRecord,
  endedMs: number,
): void {
  insert(db, 'jobs', JOB_COLUMNS, [
    callId,
    keyUid,
    account,
    createdMs,
    group,
    model,
    channel,
    catalog,
    `job-${callId}`,
    costNanoUsd,
    0,
    0,
    'Failed',
    0,
    endedMs,
    '',
  ]);
  refundRecord(db, callId);
}

describe("the usage of a ledger's file", () => {
  it('agrees with a count of the records, while they are added, refunded and deleted', async () => {
    const batch = fc.record({
      calls: fc.array(plannedCall, { maxLength: 40 }),
      asked: fc.array(query, { minLength: 1, maxLength: 4 }),
      drop: fc.nat(30),
      size: fc.integer({ min: 1, max: 20 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 5 }), async (batches) => {
        const path = newPath();
        const db = openFile(path);
        let nowMs = NOON_MS;
        const book = openFileUsageStore(path, openUsageFile);
        let all: UsageRecord[] = [];
        let late: UsageRecord[] = [];
        let number = 0;
        try {
          for (const { calls, asked, drop, size } of batches) {
            for (const record of late) refund(db, record, nowMs);
            all = all.map((record) => (late.includes(record) ? asRefunded(record) : record));
            const made = calls.map((call: PlannedCall) => recordOf(call, `call-${number++}`));
            for (const record of made) settle(db, record);
            all.push(...made);
            late = made.filter((_, at) => calls[at]?.refunded);
            if (drop > 15) {
              const gone = all.splice(0, drop);
              deleteOldest(db, gone.length);
              late = late.filter((record) => all.includes(record));
            }
            // read-ahead changes nothing, and delays nobody
            if (drop % 2 === 1) book.prepare([...new Set(all.map(({ account }) => account))]);
            for (const each of [...asked, { accounts: ACCOUNTS }]) await checkBook(book, all, each, size);
            nowMs += 60_000;
          }
        } finally {
          book.close();
          db.close();
          book.prepare(['team-a/team-a']); // rejects nowhere
        }
      }),
      { numRuns: 40 },
    );
  });

  it('reads the records of a real ledger, and continues with a replaced file', async () => {
    const path = newPath();
    const query = { accounts: ['team-a/team-a'] };
    const book = openFileUsageStore(path, openUsageFile);
    await assert.rejects(book.sums(query), LedgerUnavailable); // not there yet
    const fill = async (costs: readonly bigint[]): Promise<void> => {
      const ledger = await openEmbeddedLedger({ path, clock: () => NOON_MS });
      for (const [at, cost] of costs.entries()) {
        await ledger.admit(holdRequest(`c${at}`, cost));
        await ledger.settle(settlement(`c${at}`, cost, { origin: origin(`c${at}`) }));
      }
      await ledger.close();
    };
    await fill([5n, 7n, 9n]);
    assert.equal((await book.sums(query)).all.costNanoUsd, 21n);
    moveAway(path);
    await fill([100n]);
    assert.equal((await book.sums(query)).all.costNanoUsd, 100n);
    assert.deepEqual(
      (await book.page(query, { size: 10 })).calls.map(({ callId }) => callId),
      ['c0'],
    );
    book.close();
    await assert.rejects(book.sums(query), LedgerUnavailable);
  });

  it('knows the names of keys of deleted records, account by account', async () => {
    const path = newPath();
    const db = openFile(path);
    const named = (id: string, keyUid: string, more: Partial<UsageRecord>): UsageRecord => ({
      ...origin(id, { keyUid, account: 'team-a/main', ...more }),
      ...progress(5n),
      status: 'Succeeded',
      unbilledNanoUsd: 0n,
      durationMs: 3,
    });
    settle(db, named('c0', 'key-1', { keyName: 'ci' }));
    settle(db, named('c1', 'key-1', { keyName: 'ci' }));
    settle(db, named('c2', 'key-2', {}));
    settle(db, named('c3', 'key-3', { keyName: 'theirs', account: 'team-b/main' }));
    db.exec("DELETE FROM usage WHERE key_uid = 'key-1'");
    const book = openFileUsageStore(path, openUsageFile);
    assert.deepEqual([...(await book.keyNames(['team-a/main']))], [['key-1', { name: 'ci', account: 'team-a/main' }]]);
    assert.equal((await book.keyNames(['team-a/main', 'team-b/main'])).get('key-3')?.name, 'theirs');
    book.close();
    db.close();
  });

  it('keeps a replaced file open for running queries', async () => {
    const path = newPath();
    let db = openFile(path);
    db.exec('BEGIN');
    for (let at = 0; at < 30_000; at++)
      settle(
        db,
        recordOf({ ...SOME, createdMs: NOON_MS - 29_999 + at, model: at === 0 ? 'claude' : 'gpt' }, `call-${at}`),
      );
    db.exec('COMMIT');
    db.close();
    const book = openFileUsageStore(path, openUsageFile);
    const descriptors = (): number => readdirSync('/proc/self/fd').length;
    await book.sums({ accounts: ['team-b/main'] });
    const open = descriptors();
    // reads a part of a day in slices, and continues after the file was removed
    const part = { accounts: ['team-a/main'], sinceMs: NOON_MS - 29_999 };
    const begun = book.sums(part);
    const alsoBegun = book.page({ ...part, model: 'claude' }, { size: 3 });
    moveAway(path);
    db = openFile(path);
    settle(db, recordOf({ ...SOME, account: 'team-b/main', costNanoUsd: 3n }, 'other'));
    db.close();
    // from the new file, and the old query continues
    assert.equal((await book.sums({ accounts: ['team-b/main'] })).all.costNanoUsd, 3n);
    assert.equal((await begun).all.calls, 30_000);
    assert.deepEqual(
      (await alsoBegun).calls.map(({ callId }) => callId),
      ['call-0'],
    );
    assert.deepEqual((await book.page({ accounts: ['team-a/main'] }, { size: 3 })).calls, []);
    assert.equal(descriptors(), open, 'the old file is closed');
    book.close();
  });

  it('opens a replaced file once', async () => {
    const path = newPath();
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
    onTestFinished(() => {
      prepare.mockRestore();
    });
    const { mock: prepared } = prepare;
    const opened = (): number => prepared.calls.filter(([sql]) => sql.endsWith('GROUP BY 1, 2, 3')).length;
    const fill = (calls: number): void => {
      const db = openFile(path);
      for (let at = 0; at < calls; at++) settle(db, recordOf(SOME, `call-${at}`));
      db.close();
    };
    const book = openFileUsageStore(path, openUsageFile);
    const count = async (): Promise<number> => (await book.sums({ accounts: [SOME.account] })).all.calls;
    fill(9);
    assert.equal(await count(), 9);
    moveAway(path);
    fill(2);
    for (let asked = 0; asked < 3; asked++) assert.equal(await count(), 2);
    assert.equal(opened(), 2);
    // records that restart in the same file need nothing
    const db = openFile(path);
    deleteOldest(db, 2);
    settle(db, recordOf(SOME, 'one'));
    db.close();
    for (let asked = 0; asked < 3; asked++) assert.equal(await count(), 1);
    assert.equal(opened(), 2);
    book.close();
  });

  it("treats an invalid page address as the first page, never as another account's", async () => {
    const path = newPath();
    const db = openFile(path);
    const [mine, theirs] = [{ account: 'team-a/main' }, { account: 'team-b/main' }].map((over, at) => ({
      ...recordOf({ ...SOME, ...over }, `c${at}`),
    }));
    if (mine) settle(db, mine);
    if (theirs) settle(db, theirs);
    const book = openFileUsageStore(path, openUsageFile);
    for (const before of ['', '-', '1-2', '../..', 'zzzzzzzzzzzzzzzzzzzz-1-1', 'zzzzzzzz-zzzzzz-zzzzzz'])
      assert.deepEqual((await book.page({ accounts: ['team-a/main'] }, { size: 5, before })).calls, [mine]);
    book.close();
    db.close();
  });

  it('yields to other work while it sums a long range', async () => {
    const path = newPath();
    const db = openFile(path);
    db.exec('BEGIN');
    for (let at = 0; at < 20_000; at++)
      settle(db, recordOf({ ...SOME, account: ACCOUNTS[at % 3] ?? '', createdMs: NOON_MS - at }, `call-${at}`));
    db.exec('COMMIT');
    const book = openFileUsageStore(path, openUsageFile);
    let turns = 0;
    const counting = setInterval(() => {
      turns++;
    }, 0);
    assert.equal((await book.sums({ accounts: ACCOUNTS, sinceMs: NOON_MS - 19_999 })).all.calls, 20_000);
    clearInterval(counting);
    assert.ok(turns >= 3, `${turns} turns`);
    book.close();
    db.close();
  });
});

const SOME: PlannedCall = {
  account: 'team-a/main',
  keyUid: 'key-1',
  model: 'gpt',
  status: 'Succeeded',
  createdMs: NOON_MS,
  costNanoUsd: 5n,
  tokens: { input: 1, cached: 2, output: 3 },
  refunded: false,
};

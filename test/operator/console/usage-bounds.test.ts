/** What a book takes in and keeps of accounts with very many calls, and who waits for whom meanwhile. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { openFile } from '#ledger/embedded/schema.ts';
import type { PlacedRecord } from '#ledger/usage-place.ts';
import { openBook } from '../../../operator/console/usage/book.ts';
import { RecordColumns } from '../../../operator/console/usage/columns.ts';
import { openFileUsageBook } from '../../../operator/console/usage/file-book.ts';
import { giveWay, keepAccounts } from '../../../operator/console/usage/kept-accounts.ts';
import type { BookBounds } from '../../../operator/console/usage/kept-accounts.ts';
import { sumColumns } from '../../../operator/console/usage/sums.ts';
import { NOON_MS, plannedCall, recordOf } from './usage-cases.ts';
import type { PlannedCall } from './usage-cases.ts';

const SOME: PlannedCall = { account: 'team-a/main', keyUid: 'key-1', model: 'gpt', status: 'Succeeded', createdMs: NOON_MS, costNanoUsd: 5n, tokens: { input: 1, cached: 2, output: 3 }, refunded: false };
const ROOM: BookBounds = { mostRows: 1_000_000, mostRowsOfAccount: 1_000_000 };

function placed(first: number, count: number, call: Partial<PlannedCall> = {}): PlacedRecord[] {
  return Array.from({ length: count }, (_, at) => ({ place: { major: first + at, minor: 0 }, record: recordOf({ ...SOME, createdMs: NOON_MS + first + at, ...call }, `call-${first + at}`) }));
}

describe('columns with a bound', () => {
  it('keep the latest, and know since when none is missing', () => {
    fc.assert(fc.property(fc.array(fc.array(plannedCall, { maxLength: 40 }), { maxLength: 12 }), fc.integer({ min: 1, max: 60 }), fc.nat(120), (parts, most, gone) => {
      const columns = new RecordColumns();
      const all: PlacedRecord[] = [];
      for (const part of parts) {
        const records = part.map((call, at) => ({ place: { major: all.length + at + 1, minor: 0 }, record: recordOf(call, `call-${all.length + at}`) }));
        all.push(...records);
        columns.add(records);
        columns.keepLatest(most);
        columns.dropBefore({ major: Math.min(gone, all.length), minor: 0 }); // the ledger keeps none before it either
      }
      const { wholeSinceMs } = columns;
      const known = all.filter(({ place }) => place.major >= Math.min(gone, all.length));
      const kept = Array.from({ length: columns.count }, (_, at) => columns.place(columns.order[at] ?? 0).major).sort((a, b) => a - b);
      assert.ok(kept.length >= Math.min(known.length, most) && kept.length <= most + most / 25);
      assert.deepEqual(kept, known.slice(-kept.length || known.length).map(({ place }) => place.major));
      for (const { place, record } of known) assert.ok(kept.includes(place.major) || record.createdMs < wholeSinceMs);
      const sums = sumColumns([columns], { accounts: [], sinceMs: wholeSinceMs }, 7);
      while (sums.step());
      const whole = known.filter(({ record }) => record.createdMs >= wholeSinceMs);
      assert.equal(sums.result().all.calls, whole.length);
      assert.equal(sums.result().all.costNanoUsd, whole.reduce((sum, { record }) => sum + record.costNanoUsd, 0n));
    }));
  });

  it('take no more memory, however many come', () => {
    const columns = new RecordColumns();
    for (let part = 0; part < 50; part++) {
      columns.add(placed(1 + part * 1000, 1000));
      columns.keepLatest(4000);
      assert.ok(columns.capacity <= 8192);
    }
    assert.equal(columns.wholeSinceMs, NOON_MS + 50_001 - columns.count);
  });
});

describe('the accounts that a book follows', () => {
  /** Accounts of so many rows, and what was read anew. */
  const reading = (bounds: BookBounds) => {
    const accounts = keepAccounts(bounds, () => 0);
    const begun: string[] = [];
    const use = (account: string, rows: number) => accounts.use(account, async (kept) => {
      if (kept.mark === 0) begun.push(account);
      await accounts.readOn(kept, () => {
        const records = placed(kept.mark + 1, Math.min(1000, rows - kept.mark));
        kept.mark += records.length;
        return { records, last: kept.mark >= rows };
      });
    });
    return { use, begun };
  };

  it('are those that were asked for last, where all are too many', async () => {
    const { use, begun } = reading({ ...ROOM, mostRows: 4096 });
    for (const account of ['a', 'b', 'c', 'a', 'd', 'a', 'b']) await use(account, 1000); // room for 1024 each
    assert.deepEqual(begun, ['a', 'b', 'c', 'd']);
    await use('e', 1000); // instead of c
    await use('a', 1000);
    assert.deepEqual(begun.splice(0), ['a', 'b', 'c', 'd', 'e']);
    await use('c', 1000); // instead of d
    await use('d', 1000);
    assert.deepEqual(begun, ['c', 'd']);
  });

  it('count with what they take when they are empty', async () => {
    const { use, begun } = reading({ ...ROOM, mostRows: 10 * 256 });
    for (let at = 0; at < 20; at++) await use(`nobody-${at}`, 0);
    begun.length = 0;
    await use('nobody-10', 0);
    assert.deepEqual(begun, ['nobody-10']);
  });

  it('are not forgotten while they are read, nor when they alone are too many', async () => {
    const { use, begun } = reading({ ...ROOM, mostRows: 1024 });
    const long = use('long', 20_000);
    await use('short', 1000);
    await long;
    await use('long', 20_000);
    assert.deepEqual(begun, ['long', 'short']);
  });

  it('are read one long after the other, and short ones pass', async () => {
    const { use } = reading(ROOM);
    const done: string[] = [];
    await Promise.all([['long-1', 70_000], ['long-2', 60_000], ['short', 3000]].map(async ([account, rows]) => {
      await use(String(account), Number(rows));
      done.push(String(account));
    }));
    assert.deepEqual(done, ['short', 'long-1', 'long-2']);
  });

  it('are read on after one reading has failed', async () => {
    const accounts = keepAccounts(ROOM, () => 0);
    const fail = accounts.use('a', (kept) => accounts.readOn(kept, () => {
      if (kept.mark === 60) throw new Error('the ledger is away');
      return { records: placed(1 + 1000 * kept.mark++, 1000), last: false };
    }));
    await assert.rejects(fail, /away/);
    let rows = 0;
    await accounts.use('b', (kept) => accounts.readOn(kept, () => ({ records: placed(1 + rows, 1000), last: (rows += 1000) === 60_000 })));
    assert.equal(rows, 60_000);
  });
});

describe('questions to a book', () => {
  it('wait for those about the same account, and for no others', async () => {
    const gate = Promise.withResolvers<void>();
    const done: string[] = [];
    const book = openBook({
      async use(accounts, work) {
        if (accounts.includes('huge')) await gate.promise;
        return work(accounts.map(() => new RecordColumns()));
      },
      read: async () => [], close: () => undefined,
    });
    const ask = async (name: string, accounts: readonly string[]): Promise<void> => {
      await book.sums({ accounts });
      done.push(name);
    };
    const all = [ask('huge', ['huge']), ask('huge again', ['huge']), ask('both', ['small', 'huge']), ask('after both', ['small']), ask('other', ['other'])];
    for (let turns = 0; turns < 10; turns++) await giveWay();
    assert.deepEqual(done, ['other']);
    gate.resolve();
    await Promise.all(all);
    assert.deepEqual(done, ['other', 'huge', 'huge again', 'both', 'after both']);
  });
});

describe('the book over a ledger\'s file with very many calls', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mgw-bounds-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** So many calls of an account, a second apart, each a nano-dollar. */
  function fill(db: DatabaseSync, account: string, calls: number): void {
    db.prepare(`INSERT INTO usage WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      SELECT NULL, :account || i, 'key-' || (i % 3), :account, ? + i * 1000, 'main', 'gpt', 'route/direct', 'prices@1', 1, 10, 0, 0, 0, 5, 'Provider', 'Succeeded', 0, 900, 0, NULL, 0 FROM n`)
      .run({ account }, calls, NOON_MS);
  }

  it('answers with the latest of an account, says what is missing, and lets others pass', async () => {
    const path = join(folder, 'many.db');
    const db = openFile(path);
    fill(db, 'team-a/huge', 120_000);
    fill(db, 'team-b/small', 300);
    db.close();
    const most = 20_000;
    const book = openFileUsageBook(path, { bounds: { mostRows: 40_000, mostRowsOfAccount: most } });
    const done: string[] = [];
    const sums = async (account: string) => {
      const answer = await book.sums({ accounts: [account] });
      done.push(account);
      return answer;
    };
    const [huge, small] = await Promise.all([sums('team-a/huge'), sums('team-b/small'), sums('nobody/at-all')]);
    assert.equal(done.at(-1), 'team-a/huge');
    assert.equal(small.all.calls, 300);
    assert.equal(small.wholeSinceMs, 0);
    const { calls } = huge.all;
    assert.ok(calls >= most && calls <= most * 1.04, String(calls));
    assert.equal(huge.wholeSinceMs, NOON_MS + (120_000 - calls) * 1000 + 1);
    const page = await book.page({ accounts: ['team-a/huge'] }, { size: 2 });
    assert.deepEqual(page.calls.map(({ callId }) => callId), ['team-a/huge120000', 'team-a/huge119999']);
    assert.equal(page.wholeSinceMs, huge.wholeSinceMs);
    const exported = await Array.fromAsync(book.records({ accounts: ['team-a/huge'], sinceMs: huge.wholeSinceMs }));
    assert.equal(exported.length, calls);
    assert.equal(exported[0]?.createdMs, NOON_MS + (120_001 - calls) * 1000);
    book.close();
  });
});

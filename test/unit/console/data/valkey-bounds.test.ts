/** How much a console reads and keeps of a shared ledger's accounts with very many calls, and which queries wait. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { StreamId, StreamRecord } from '#usage/stream.ts';
import type { MirrorBounds } from '../../../../console/data/valkey-store.ts';
import { openValkeyUsageStore } from '../../../../console/data/valkey-store.ts';
import { NOON_MS, asRefunded, recordOf } from './cases.ts';

const SOME = {
  account: 'team-a/main',
  keyUid: 'key-1',
  model: 'gpt',
  status: 'Succeeded' as const,
  createdMs: NOON_MS,
  costNanoUsd: 5n,
  tokens: { input: 1, cached: 2, output: 3 },
  refunded: false,
};
const ROOM: MirrorBounds = { maxRows: 1_000_000, maxRowsPerAccount: 1_000_000 };

/** This many calls of an account, a millisecond apart. */
function stream(account: string, calls: number): StreamRecord[] {
  return Array.from({ length: calls }, (_, at) => ({
    id: { ms: NOON_MS + at, seq: 0 },
    record: recordOf({ ...SOME, account, createdMs: NOON_MS + at }, `${account}-${at}`),
  }));
}

/** In-memory streams, with a record of which were read from their beginning. */
function readerOf(streams: Map<string, StreamRecord[]>) {
  const begun: string[] = [];
  const gates = new Map<string, Promise<unknown>>();
  const reader = {
    accounts: async () => [],
    async recordsAfter(account: string, id: StreamId, most: number) {
      if (id.ms === 0) begun.push(account);
      await gates.get(account);
      return (streams.get(account) ?? []).filter((each) => each.id.ms > id.ms).slice(0, most);
    },
    async extent(account: string) {
      const records = streams.get(account) ?? [];
      return { count: records.length, first: records[0]?.id, epoch: 'first' };
    },
    close: () => undefined,
  };
  return { reader, begun, gates };
}

describe('a mirror of a shared ledger', () => {
  it('keeps the latest records of an account, and shows from when they are complete', async () => {
    const streams = new Map([
      ['huge', stream('huge', 12_000)],
      ['small', stream('small', 300)],
    ]);
    const book = openValkeyUsageStore(readerOf(streams).reader, { maxRows: 20_000, maxRowsPerAccount: 4_000 });
    const [huge, small] = [await book.sums({ accounts: ['huge'] }), await book.sums({ accounts: ['small'] })];
    assert.deepEqual([huge.all.calls, huge.wholeSinceMs], [4_000, NOON_MS + 8_000]);
    assert.deepEqual([small.all.calls, small.wholeSinceMs], [300, 0]);
    const page = await book.page({ accounts: ['huge'] }, { size: 2 });
    assert.deepEqual(
      page.calls.map(({ callId }) => callId),
      ['huge-11999', 'huge-11998'],
    );
    assert.equal(page.wholeSinceMs, huge.wholeSinceMs);
    const exported = await Array.fromAsync(book.records({ accounts: ['huge'] }));
    assert.deepEqual([exported.length, exported[0]?.createdMs], [4_000, huge.wholeSinceMs]);
    assert.equal((await book.sums({ accounts: ['huge', 'small'] })).wholeSinceMs, huge.wholeSinceMs);
    book.close();
  });

  it('keeps the most recently used accounts if all are too many', async () => {
    const streams = new Map(['a', 'b', 'c', 'd'].map((account) => [account, stream(account, 1_000)]));
    const { reader, begun } = readerOf(streams);
    const book = openValkeyUsageStore(reader, { ...ROOM, maxRows: 3_000 });
    const ask = async (...accounts: string[]): Promise<void> => {
      for (const account of accounts) assert.equal((await book.sums({ accounts: [account] })).all.calls, 1_000);
    };
    await ask('a', 'b', 'c', 'a', 'b', 'a');
    assert.deepEqual(begun.splice(0), ['a', 'b', 'c']);
    await ask('d', 'a', 'b'); // d comes instead of c
    assert.deepEqual(begun.splice(0), ['d']);
    await ask('c', 'a'); // c comes instead of d
    assert.deepEqual(begun.splice(0), ['c']);
    book.close();
  });

  it('keeps an account while it is in use, although it alone is too large', async () => {
    const { reader, begun } = readerOf(
      new Map([
        ['long', stream('long', 3_000)],
        ['short', stream('short', 700)],
      ]),
    );
    const book = openValkeyUsageStore(reader, { ...ROOM, maxRows: 1_000 });
    const [long, short] = await Promise.all([book.sums({ accounts: ['long'] }), book.sums({ accounts: ['short'] })]);
    assert.deepEqual([long.all.calls, short.all.calls], [3_000, 700]);
    assert.deepEqual(begun, ['long', 'short']);
    book.close();
  });

  it('counts a rewritten record once, and drops what the ledger drops', async () => {
    const records = stream('a', 1_500);
    const streams = new Map([['a', records]]);
    const book = openValkeyUsageStore(readerOf(streams).reader, ROOM);
    assert.equal((await book.sums({ accounts: ['a'] })).all.costNanoUsd, 7_500n);
    const [again] = records.splice(700, 1);
    assert.ok(again);
    records.push({ id: { ms: NOON_MS + 5_000, seq: 0 }, record: asRefunded(again.record) });
    records.splice(0, 600);
    const { all } = await book.sums({ accounts: ['a'] });
    assert.deepEqual([all.calls, all.costNanoUsd], [900, 899n * 5n]);
    assert.equal((await book.page({ accounts: ['a'], status: 'Refunded' }, { size: 5 })).calls.length, 1);
    book.close();
  });

  it('continues after a failed read, and refuses reads after close', async () => {
    const { reader, begun, gates } = readerOf(new Map([['a', stream('a', 1_200)]]));
    const book = openValkeyUsageStore(reader, ROOM);
    assert.equal((await book.sums({ accounts: ['a'] })).all.calls, 1_200);
    gates.set('a', Promise.reject(new Error('away')));
    await assert.rejects(book.sums({ accounts: ['a'] }), LedgerUnavailable);
    gates.clear();
    assert.equal((await book.sums({ accounts: ['a'] })).all.calls, 1_200);
    assert.deepEqual(begun, ['a']);
    book.close();
    await assert.rejects(book.sums({ accounts: ['a'] }), LedgerUnavailable);
    book.prepare(['a']); // rejects nowhere
  });
});

describe('queries of the usage of a shared ledger', () => {
  it('wait for those about the same account only', async () => {
    const { reader, gates } = readerOf(new Map());
    const gate = Promise.withResolvers<void>();
    gates.set('huge', gate.promise);
    const done: string[] = [];
    const book = openValkeyUsageStore(reader, ROOM);
    const ask = async (name: string, accounts: readonly string[]): Promise<void> => {
      await book.sums({ accounts });
      done.push(name);
    };
    const other = ask('other', ['other']);
    book.prepare(['huge', 'small']);
    const all = [ask('huge', ['huge']), ask('huge again', ['huge']), ask('both', ['small', 'huge'])];
    await other;
    assert.deepEqual(done, ['other']);
    gate.resolve();
    await Promise.all(all);
    assert.deepEqual(done, ['other', 'huge', 'huge again', 'both']);
    book.close();
  });
});

/** The file in which the console keeps its copy of a shared ledger's records. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, it } from 'vitest';
import type { StreamId, StreamRecord } from '#usage/stream.ts';
import { openUsageMirror } from '../../../../console/data/usage-mirror.ts';
import { openValkeyUsageStore } from '../../../../console/data/valkey-store.ts';
import { NOON_MS, recordOf } from './cases.ts';

const CALL = {
  account: 'a',
  keyUid: 'key-1',
  model: 'gpt',
  status: 'Succeeded' as const,
  createdMs: NOON_MS,
  costNanoUsd: 5n,
  tokens: { input: 1, cached: 2, output: 3 },
  refunded: false,
};

/** An in-memory ledger, with the number of records that were read per account. */
function ledgerOf(accounts: readonly string[], calls: number) {
  const streams = new Map(
    accounts.map((account) => [
      account,
      Array.from({ length: calls }, (_, at): StreamRecord => ({
        id: { ms: NOON_MS + at, seq: 0 },
        record: recordOf({ ...CALL, account, createdMs: NOON_MS + at }, `${account}-${at}`),
      })),
    ]),
  );
  const ledger = {
    epoch: 'first',
    read: new Map<string, number>(),
    streams,
    /** Called after each batch that was read. */
    onRead: (): void => undefined,
    reader: {
      accounts: async () => [...streams.keys()],
      async recordsAfter(account: string, id: StreamId, most: number) {
        const records = (streams.get(account) ?? []).filter((each) => each.id.ms > id.ms).slice(0, most);
        ledger.read.set(account, (ledger.read.get(account) ?? 0) + records.length);
        ledger.onRead();
        return records;
      },
      async extent(account: string) {
        const records = streams.get(account) ?? [];
        return { count: records.length, first: records[0]?.id, epoch: ledger.epoch };
      },
      close: () => undefined,
    },
  };
  return ledger;
}

describe('the file of the usage mirror', () => {
  let folder = '';
  let path = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mgw-mirror-'));
    path = join(folder, 'usage-mirror.db');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const callsOf = async (book: ReturnType<typeof openValkeyUsageStore>, account = 'a'): Promise<number> =>
    (await book.sums({ accounts: [account] })).all.calls;

  it('survives a restart: only records since then are read', async () => {
    const ledger = ledgerOf(['a', 'b'], 1_200);
    const first = openValkeyUsageStore(ledger.reader, { path });
    assert.deepEqual([await callsOf(first), await callsOf(first, 'b')], [1_200, 1_200]);
    first.close();
    ledger.read.clear();
    const [next = assert.fail()] = ledgerOf(['a'], 1).streams.get('a') ?? [];
    ledger.streams.get('a')?.push({ id: { ms: NOON_MS + 5_000, seq: 0 }, record: { ...next.record, callId: 'later' } });
    const second = openValkeyUsageStore(ledger.reader, { path });
    assert.deepEqual([await callsOf(second), await callsOf(second, 'b')], [1_201, 1_200]);
    assert.deepEqual([ledger.read.get('a'), ledger.read.get('b') ?? 0], [1, 0]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    second.close();
  });

  it('is filled in the background from the start, also with accounts that were never requested', async () => {
    const ledger = ledgerOf(['a', 'b'], 1_200);
    const filled = Promise.withResolvers<void>();
    ledger.onRead = () => {
      if (ledger.read.get('a') === 1_200 && ledger.read.get('b') === 1_200) filled.resolve();
    };
    const book = openValkeyUsageStore(ledger.reader, { path });
    await filled.promise;
    ledger.read.clear();
    assert.deepEqual([await callsOf(book), await callsOf(book, 'b')], [1_200, 1_200]);
    assert.deepEqual(
      [...ledger.read.values()].filter((count) => count > 0),
      [],
    );
    book.close();
  });

  it('does not fill beyond its bounds in the background', async () => {
    const ledger = ledgerOf(['a', 'b', 'c'], 1_000);
    const round = Promise.withResolvers<void>();
    const { accounts } = ledger.reader;
    let rounds = 0;
    ledger.reader.accounts = async () => {
      if (++rounds === 3) round.resolve();
      return accounts();
    };
    const book = openValkeyUsageStore(ledger.reader, { path, maxRows: 2_500, followEveryMs: 1 });
    await round.promise;
    assert.deepEqual(
      [...ledger.read],
      [
        ['a', 1_000],
        ['b', 1_000],
      ],
    );
    book.close();
  });

  it('is copied again for another epoch of the ledger, or another ledger', async () => {
    const ledger = ledgerOf(['a'], 700);
    const first = openValkeyUsageStore(ledger.reader, { path });
    assert.equal(await callsOf(first), 700);
    first.close();
    ledger.epoch = 'second';
    ledger.streams.get('a')?.splice(0, 300);
    const second = openValkeyUsageStore(ledger.reader, { path });
    assert.equal(await callsOf(second), 400);
    ledger.epoch = 'third';
    ledger.streams.get('a')?.splice(0, 100);
    assert.equal(await callsOf(second), 300);
    second.close();
  });

  for (const [what, content] of [
    ['damaged', 'SQLite format 3\0 and then nothing'],
    ['of another kind', 'some text'],
  ] as const) {
    it(`is replaced if it is ${what}`, async () => {
      writeFileSync(path, content);
      const ledger = ledgerOf(['a'], 600);
      const book = openValkeyUsageStore(ledger.reader, { path });
      assert.equal(await callsOf(book), 600);
      book.close();
    });
  }

  it('is used by one process: another one copies into a temporary file', async () => {
    const mirror = openUsageMirror(path);
    // another thread has another connection, as another process would have
    const worker = new Worker(
      `
      const { parentPort, workerData } = require('node:worker_threads');
      import(workerData.module).then(({ openUsageMirror }) => {
        const mirror = openUsageMirror(workerData.path);
        const empty = { account: 'a', epoch: 'e', last: { ms: 0, seq: 0 }, rows: 0, wholeSinceMs: 0 };
        mirror.add(empty, []);
        parentPort.postMessage(mirror.streams().length);
        mirror.close();
      });`,
      { eval: true, workerData: { path, module: import.meta.resolve('../../../../console/data/usage-mirror.ts') } },
    );
    assert.deepEqual(await once(worker, 'message'), [1]);
    assert.deepEqual(mirror.streams(), []);
    mirror.close();
  });
});

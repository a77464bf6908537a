/** Operations as text, and settlements that are repeated, come from another process, or fail. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, describe, it } from 'vitest';
import type { HoldRequest, Settlement } from '../../../../../dataplane/ledger/ledger.ts';
import { Bucket } from '../../../../../dataplane/ledger/valkey/bucket.ts';
import { openConnection } from '../../../../../dataplane/ledger/valkey/connection.ts';
import { bucketBases, parseValkeyUrl } from '../../../../../dataplane/ledger/valkey/location.ts';
import { admitOperation, encodeBatch, settleOperation } from '../../../../../dataplane/ledger/valkey/operations.ts';
import type { BatchHead, Operation } from '../../../../../dataplane/ledger/valkey/operations.ts';
import { parseRecord } from '../../../../../dataplane/ledger/valkey/replies.ts';
import type { Reply } from '../../../../../dataplane/ledger/valkey/replies.ts';
import { startValkey, valkey } from '../../../../support/valkey.ts';
import { DAY_MS, holdRequest, NOON_MS, origin, settlement } from '../calls.ts';
import { LONG_TIMEOUT, urlOf } from './subject.ts';
import type { StoreLocation } from './subject.ts';

/** Identifiers that others may have chosen. */
const odd = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('"', '\\', '\n', '\x1e', '\0', 'a\0b\x1e', '\u2028', '\ud800', 'Zürich "1"', '模型'),
);
const HEAD: BatchHead = {
  instance: 'one',
  epoch: '',
  acked: 0,
  seq: 0,
  mode: '',
  leaseMs: 0,
  keepMs: 0,
  records: 0,
  generationMs: 0,
  lenient: false,
};

function encoded(operation: Operation): unknown {
  const batch: unknown = JSON.parse(encodeBatch(HEAD, [operation]));
  assert.ok(typeof batch === 'object' && batch !== null && 'operations' in batch && Array.isArray(batch.operations));
  return batch.operations[0];
}

describe('an operation', () => {
  it('keeps any identifier, but for halves of characters, which the script cannot read', () => {
    fc.assert(
      fc.property(odd, odd, odd, (callId, keyUid, group) => {
        const request = holdRequest(callId, 600n, { origin: { keyUid, group } });
        const decoded = encoded(admitOperation(request, []));
        const route = JSON.stringify([group, ...['model', 'channel', 'catalog'].map((name) => valueOf(request, name))]);
        assert.deepEqual(
          ['call', 'key', 'route'].map((name) => Object.entries(decoded ?? {}).find(([known]) => known === name)?.[1]),
          [callId, keyUid, route].map((text) => text.toWellFormed()),
        );
      }),
    );
  });
});

function valueOf({ origin: of }: HoldRequest, name: string): unknown {
  return Object.entries(of).find(([known]) => known === name)?.[1];
}

describe.skipIf(valkey.skip)('a settlement', async () => {
  if (valkey.skip) return;
  const server = await startValkey();
  afterAll(() => server[Symbol.asyncDispose]());

  const withBucket = async (
    test: (bucket: Bucket) => Promise<void>,
    place: StoreLocation = {
      server,
      prefix: `b${randomUUID().slice(0, 8)}`,
      query: '',
    },
  ): Promise<void> => {
    const location = parseValkeyUrl(urlOf(place));
    const connection = openConnection(location);
    const settings = {
      keepMs: DAY_MS,
      records: 100,
      lenient: false,
      ...LONG_TIMEOUT,
      instance: randomUUID(),
      clock: () => NOON_MS,
    };
    const opened = Promise.withResolvers<void>();
    const bucket = new Bucket({
      connection,
      base: bucketBases(location)[0] ?? assert.fail(),
      settings,
      collectRestores: async () => ({ operations: [], late: [] }),
      onRestored: () => undefined,
      onLost: () => undefined,
      latestStart: () => 0,
      onRejoined: () => undefined,
      onState: (state) => (state === 'Open' ? opened.resolve() : undefined),
    });
    bucket.start();
    await opened.promise;
    try {
      await test(bucket);
    } finally {
      bucket.close();
      connection.close();
    }
  };

  const hold = async (bucket: Bucket, request: HoldRequest): Promise<void> => {
    assert.equal((await bucket.execute(admitOperation(request, []))).is, 'held');
  };
  const settle = (bucket: Bucket, settled: Settlement): Promise<Reply> => bucket.execute(settleOperation(settled, []));
  const place = (): StoreLocation => ({ server, prefix: `b${randomUUID().slice(0, 8)}`, query: '' });

  it('is made once', () =>
    withBucket(async (bucket) => {
      await hold(bucket, holdRequest('a', 80n));
      assert.deepEqual(await settle(bucket, settlement('nobody', 1n)), { is: 'unknown' });
      assert.equal((await settle(bucket, settlement('a', 30n))).is, 'settled');
      const again = await settle(bucket, settlement('a', 77n));
      assert.equal(again.is, 'done');
      assert.equal(parseRecord(again).record.costNanoUsd, 30n);
    }));

  it('of a call that another process holds has the whole record', async () => {
    const where = place();
    await withBucket((bucket) => hold(bucket, holdRequest('a', 80n)), where);
    await withBucket(async (bucket) => {
      const reply = await settle(bucket, settlement('a', 30n));
      assert.equal(reply.is, 'settled');
      const { record } = parseRecord(reply);
      assert.deepEqual([record.keyUid, record.channel, record.costNanoUsd], ['key-1', origin('a').channel, 30n]);
    }, where);
  });

  it('that fails leaves no balance half changed, and affects no other step', async () => {
    const where = place();
    await withBucket(async (bucket) => {
      const base = bucketBases(parseValkeyUrl(urlOf(where)))[0] ?? assert.fail();
      const spending = (): Promise<Reply> => bucket.execute({ op: 'account', account: 'team-a/team-a' });
      await hold(bucket, holdRequest('a', 80n));
      await server.command('SET', `${base}s:team-a/team-a`, 'no stream');
      const other = holdRequest('b', 5n);
      const [failed, held] = await Promise.allSettled([settle(bucket, settlement('a', 30n)), hold(bucket, other)]);
      assert.equal(failed.status, 'rejected');
      assert.equal(held.status, 'fulfilled');
      assert.deepEqual(await spending(), { is: 'account', spent: '0', held: '85' });
      assert.equal((await bucket.execute({ op: 'usage', call: 'a' })).is, 'running');
      await server.command('DEL', `${base}s:team-a/team-a`);
      assert.equal((await settle(bucket, settlement('a', 30n))).is, 'settled');
      assert.deepEqual(await spending(), { is: 'account', spent: '30', held: '5' });
      // a settled call is kept for a while, a hold while it lasts
      assert.ok(Number(await server.command('PTTL', `${base}c:a`)) > 0);
      assert.equal(Number(await server.command('PTTL', `${base}c:b`)), -1);
    }, where);
  });
});

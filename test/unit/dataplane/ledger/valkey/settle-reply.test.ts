/** Operations as text, and short replies to settlements, which have the same effect as full ones. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, describe, it } from 'vitest';
import type { HoldRequest, Limit, SpendingLimits, Settlement } from '#ledger/ledger.ts';
import { Bucket } from '#ledger/valkey/bucket.ts';
import { openConnection } from '#ledger/valkey/connection.ts';
import { bucketBases, parseValkeyUrl } from '#ledger/valkey/location.ts';
import {
  admitOperation,
  ARGUMENT_END,
  settleHeldOperation,
  encodeBatch,
  holdOperation,
  settleOperation,
} from '#ledger/valkey/operations.ts';
import type { HeldCall, Operation } from '#ledger/valkey/operations.ts';
import { expandSettleReply, parseRecord } from '#ledger/valkey/replies.ts';
import type { Reply } from '#ledger/valkey/replies.ts';
import { startValkey, valkey } from '../../../../support/valkey.ts';
import { DAY_MS, holdRequest, NOON_MS, origin, progress, settlement, slot } from '../calls.ts';
import { LONG_TIMEOUT, urlOf } from './subject.ts';
import type { StoreLocation } from './subject.ts';
import { NO_TOKENS_LOAD } from '#ledger/load.ts';

/** Parses a batch as the script does: each operation must have as many arguments as it says. */
function decode(batch: string): Operation[] {
  const words = batch.split(ARGUMENT_END);
  assert.equal(words.pop(), '');
  const operations: Operation[] = [];
  while (words.length > 0) {
    const [name = '', count] = words.splice(0, 2);
    operations.push({ name, args: words.splice(0, Number(count)) });
    assert.equal(operations.at(-1)?.args.length, Number(count), name);
  }
  return operations;
}

function encoded(operation: Operation): Operation {
  const [only, ...others] = decode(encodeBatch([], [operation]));
  assert.deepEqual(others, []);
  return only ?? assert.fail();
}

function heldCall(request: HoldRequest, [day, month]: readonly [string, string]): HeldCall {
  return { request, heldNanoUsd: request.amountNanoUsd, progress: request.progress, day, month, isUncertain: false };
}

/** Identifiers that others may have chosen. */
const odd = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('"', '\\', '\n', '\x1e', '\0', 'a\0b\x1e', '\u2028', '\ud800', 'Zürich "1"', '模型'),
);
const oddOrigin = fc.record({
  callId: odd,
  keyUid: odd,
  account: odd,
  group: odd,
  model: odd,
  channel: odd,
  catalog: odd,
});
const oddCount = fc.oneof(fc.double(), fc.nat(), fc.constantFrom(-1, Number.NaN, Number.POSITIVE_INFINITY, 2.5));
const oddAmount = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n });
const oddProgress = fc.record({
  costNanoUsd: oddAmount,
  usageSource: fc.constantFrom('Provider', 'Estimated', 'Partial'),
  tokens: fc.record({
    input: oddCount,
    cached: oddCount,
    cacheWrite5m: oddCount,
    cacheWrite1h: oddCount,
    output: oddCount,
  }),
});
const oddLimits = fc.record({
  keyLimitNanoUsd: fc.option(oddAmount, { nil: null }),
  period: fc.constantFrom('Never', 'Daily', 'Monthly'),
  keyGeneration: fc.bigInt({ min: 0n }),
  accountCreditNanoUsd: oddAmount,
  accountGeneration: fc.bigInt({ min: 0n }),
});
const oddRequest = fc
  .record({
    origin: oddOrigin,
    createdMs: oddCount,
    limits: oddLimits,
    amountNanoUsd: oddAmount,
    minimumNanoUsd: oddAmount,
    progress: oddProgress,
  })
  .map(({ origin: from, createdMs, ...rest }): HoldRequest => ({ ...rest, origin: { ...from, createdMs } }));
const oddSlots = fc.array(
  fc.record<Limit>({
    scope: fc.constantFrom('Key', 'Account', 'Group', 'Channel'),
    id: odd,
    measure: fc.constantFrom('Concurrency', 'Requests', 'OutputTokens'),
    amount: fc.nat(),
  }),
  {
    maxLength: 3,
  },
);

describe('an operation as text', () => {
  it('has as many arguments as it says, whatever they are', () => {
    fc.assert(
      fc.property(oddRequest, oddSlots, oddCount, fc.boolean(), (request, slots, durationMs, moved) => {
        const { callId } = request.origin;
        const settled = {
          callId,
          progress: request.progress,
          status: 'ClientClosed' as const,
          durationMs,
          origin: request.origin,
        };
        const heldOrigin = moved ? { ...request.origin, channel: `${request.origin.channel}-other` } : request.origin;
        const operations = [
          holdOperation(request),
          admitOperation(request, slots, NO_TOKENS_LOAD),
          settleHeldOperation(
            settled,
            heldOrigin,
            slots.map(({ id }) => id),
          ),
          settleOperation(
            settled,
            slots.map(({ id }) => id),
          ),
        ];
        const decoded = decode(encodeBatch([], operations));
        assert.deepEqual(
          decoded.map(({ name, args }) => [name, args.length]),
          operations.map(({ name, args }) => [name, args.length]),
        );
        const [hold, admit, book, settle] = decoded;
        assert.deepEqual(admit?.args.slice(1 + slots.length * 3), hold?.args);
        assert.deepEqual(book?.args.slice(0, 3), settle?.args.slice(0, 3));
        assert.equal(book?.args[3], moved ? settle?.args[3] : '');
        assert.deepEqual([hold?.args[4], ...(book?.args.slice(4, 6) ?? [])], settle?.args.slice(3, 6));
      }),
    );
  });

  const call = holdRequest('a', 600n);

  it('has its arguments in order', () => {
    const held = encoded(holdOperation(call));
    assert.deepEqual(held.args.slice(0, 4), ['a', 'key-1', 'team-a/team-a', String(NOON_MS)]);
    const both = encoded(admitOperation(call, [slot('Key', 'one', 2), slot('Channel', 'r/c', 1)], NO_TOKENS_LOAD));
    assert.deepEqual(both.args, ['6', 'key/one', '2', '', 'channel/r/c', '1', '', ...held.args]);
    const settled = settlement('a', 5n, { progress: progress(5n), origin: call.origin });
    assert.deepEqual(encoded(settleHeldOperation(settled, call.origin, ['key/one'])).args, [
      'a',
      '5',
      '[10,1,2,3,5,"Partial"]',
      '',
      'Succeeded',
      '1234',
      'key/one',
    ]);
  });

  it('has no arguments injected through an identifier', () => {
    const strange = holdRequest('a\0b', 1n, { origin: { keyUid: 'k\x1e', account: '\0' } });
    assert.deepEqual(encoded(holdOperation(strange)).args.slice(0, 3), ['a\uFFFDb', 'k\uFFFD', '\uFFFD']);
  });

  it("contains the call's current route", () => {
    const other = { ...call.origin, catalog: 'model-gateway/anthropic@2' };
    const settled = settlement('a', 5n, { origin: other });
    assert.equal(
      settleHeldOperation(settled, call.origin, []).args[3],
      JSON.stringify([other.group, other.model, other.channel, other.catalog]),
    );
    assert.equal(settleHeldOperation(settled, other, []).args[3], '');
  });
});

describe.skipIf(valkey.skip)('a short reply', async () => {
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

  const hold = async (bucket: Bucket, request: HoldRequest): Promise<readonly [day: string, month: string]> => {
    const [word, , day = '', month = ''] = await bucket.execute(holdOperation(request));
    assert.equal(word, 'held');
    return [day, month];
  };

  const book = (bucket: Bucket, settled: Settlement, heldOrigin = settled.origin): Promise<Reply> =>
    bucket.execute(settleHeldOperation(settled, heldOrigin, []));

  const moved = origin('a', { group: 'vip', channel: 'other/backup', catalog: 'model-gateway/other@7' });
  const huge = 9_000_000_000n * 10n ** 9n;
  type Case = readonly [name: string, limits: Partial<SpendingLimits>, heldNanoUsd: bigint, settled: Settlement];
  const cases: readonly Case[] = [
    ['within its hold', { keyLimitNanoUsd: 100n }, 80n, settlement('a', 30n)],
    ['of a key without a limit', {}, 80n, settlement('a', 30n)],
    ['beyond its hold', { keyLimitNanoUsd: 100n }, 20n, settlement('a', 90n)],
    ['of which not all can be billed', { keyLimitNanoUsd: 100n, period: 'Daily' }, 20n, settlement('a', 190n)],
    ['in a quota by the month', { keyLimitNanoUsd: 100n, period: 'Monthly' }, 20n, settlement('a', 20n)],
    ['that ran elsewhere in the end', {}, 20n, settlement('a', 20n, { origin: moved, status: 'ProviderCut' })],
    [
      'of amounts beyond every number',
      {
        keyLimitNanoUsd: huge,
        accountCreditNanoUsd: huge,
      },
      huge - 3n,
      settlement('a', 2n ** 80n),
    ],
    [
      'with figures that are no counts',
      {},
      20n,
      settlement('a', -4n, {
        durationMs: Number.NaN,
        progress: { ...progress(-4n), tokens: { ...progress(0n).tokens, input: -1, output: 2.5 } },
      }),
    ],
  ];
  for (const [name, limits, heldNanoUsd, settled] of cases) {
    it(`of a call ${name} means the same as a long one`, async () => {
      const request = holdRequest('a', heldNanoUsd, { limits });
      const told: { reply?: Reply; kept?: unknown } = {};
      const asked: typeof told = {};
      await withBucket(async (bucket) => {
        await hold(bucket, request);
        const reply = await bucket.execute(settleOperation(settled, []));
        assert.equal(reply[0], 'settled');
        Object.assign(told, { reply, kept: await bucket.execute({ name: 'usage', args: ['a'] }) });
      });
      await withBucket(async (bucket) => {
        const held = heldCall(request, await hold(bucket, request));
        const reply = await book(bucket, settled, request.origin);
        assert.equal(reply[0], 'booked');
        Object.assign(asked, {
          reply: expandSettleReply(reply, held, settled),
          kept: await bucket.execute({ name: 'usage', args: ['a'] }),
        });
      });
      assert.deepEqual(asked, told);
    });
  }

  it('is sent to the process that holds the call, once', () =>
    withBucket(async (bucket) => {
      const request = holdRequest('a', 80n);
      await hold(bucket, request);
      assert.deepEqual(await book(bucket, settlement('nobody', 1n)), ['unknown']);
      assert.equal((await book(bucket, settlement('a', 30n)))[0], 'booked');
      const again = await book(bucket, settlement('a', 77n));
      assert.equal(again[0], 'done');
      assert.equal(parseRecord(again).record.costNanoUsd, 30n);
    }));

  it('is not sent to another process, which gets the full reply', async () => {
    const place = { server, prefix: `b${randomUUID().slice(0, 8)}`, query: '' };
    await withBucket(async (bucket) => void (await hold(bucket, holdRequest('a', 80n))), place);
    await withBucket(async (bucket) => {
      const reply = await book(bucket, settlement('a', 30n));
      assert.equal(reply[0], 'settled');
      assert.equal(parseRecord(reply).record.channel, origin('a').channel);
    }, place);
  });

  it('of a failing step leaves no balance half changed, and affects no other step', async () => {
    const place = { server, prefix: `b${randomUUID().slice(0, 8)}`, query: '' };
    await withBucket(async (bucket) => {
      const base = bucketBases(parseValkeyUrl(urlOf(place)))[0] ?? assert.fail();
      await hold(bucket, holdRequest('a', 80n));
      await server.command('SET', `${base}s:team-a/team-a`, 'no stream');
      const other = holdRequest('b', 5n);
      const [failed, held] = await Promise.allSettled([book(bucket, settlement('a', 30n)), hold(bucket, other)]);
      assert.equal(failed.status, 'rejected');
      assert.equal(held.status, 'fulfilled');
      assert.deepEqual(await bucket.execute({ name: 'account', args: ['team-a/team-a'] }), ['account', '0', '85']);
      assert.deepEqual((await bucket.execute({ name: 'usage', args: ['a'] }))[0], 'running');
      await server.command('DEL', `${base}s:team-a/team-a`);
      assert.equal((await book(bucket, settlement('a', 30n)))[0], 'booked');
      assert.deepEqual(await bucket.execute({ name: 'account', args: ['team-a/team-a'] }), ['account', '30', '5']);
      // a settled call is kept for a while, a hold while it lasts
      assert.ok(Number(await server.command('PTTL', `${base}c:a`)) > 0);
      assert.equal(Number(await server.command('PTTL', `${base}c:b`)), -1);
    }, place);
  });
});

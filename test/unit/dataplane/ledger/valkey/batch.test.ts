/**
 * Operations in a batch have the same replies and effect, byte for byte, as one after the other in batches of their own.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import fc from 'fast-check';
import { afterAll, describe, it } from 'vitest';
import type { QuotaPeriod } from '#ledger/spending.ts';
import type { CountLimit, CountMeasure } from '../../../../../dataplane/ledger/ledger.ts';
import {
  admitOperation,
  confirmOperation,
  correctOperation,
  encodeBatch,
  giveOperation,
  keepOperation,
  withdrawOperation,
  progressOperation,
  limitsOperation,
  settleOperation,
  takeOperation,
} from '../../../../../dataplane/ledger/valkey/operations.ts';
import type { BatchHead, Operation } from '../../../../../dataplane/ledger/valkey/operations.ts';
import { parseReplies } from '../../../../../dataplane/ledger/valkey/replies.ts';
import type { Reply } from '../../../../../dataplane/ledger/valkey/replies.ts';
import { startValkey, valkey } from '../../../../support/valkey.ts';
import { DAY_MS, holdRequest, moneyLimits, NOON_MS, origin, progress, settlement, slot } from '../calls.ts';
import type { Spending } from '../calls.ts';
import { NO_TOKENS_LOAD } from '../../../../../dataplane/ledger/load.ts';

const SOURCE = readFileSync(join(import.meta.dirname, '../../../../../dataplane/ledger/valkey/ledger.lua'), 'utf8');
const SCRIPT = `${SOURCE}\nreturn main(KEYS, ARGV)\n`;

/** The data of a bucket's keys, except ids of records and expired leases. */
const DUMP = `
  local lines = {}
  for _, name in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
    local kind, text = redis.call('TYPE', name).ok, ''
    if kind == 'string' then text = redis.call('GET', name)
    elseif kind == 'set' then
      local members = redis.call('SMEMBERS', name)
      table.sort(members)
      text = table.concat(members, ',')
    elseif kind == 'zset' then
      text = table.concat(redis.call('ZRANGEBYSCORE', name, ARGV[2], '+inf', 'WITHSCORES'), ',')
    elseif kind == 'stream' then
      for _, entry in ipairs(redis.call('XRANGE', name, '-', '+')) do text = text .. entry[2][2] .. ';' end
    elseif kind == 'hash' then text = redis.call('HGET', name, 'n') or '' end
    text = string.gsub(string.gsub(text, '%d%d%d%d%d%d%d%d%d%d%d%d%d%-%d+', '#'), '[^ -~]',
      function(c) return string.format('<%d>', string.byte(c)) end)
    if text ~= '' then lines[#lines + 1] = name .. (redis.call('PTTL', name) > 0 and ' ends ' or ' stays ') .. text end
  end
  table.sort(lines)
  return table.concat(lines, '\\n')`;

interface Batch {
  /** Since the batch before. */
  readonly passedMs: number;
  readonly instance: string;
  readonly operations: readonly Operation[];
}

const KEYS = ['key-1', 'key-2'];
const callId = fc.constantFrom('a', 'b', 'c', 'd');
const amount = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.constantFrom(0n, 1n, 999_999_999n, 10n ** 9n, 2_500_000_000n, 4n * 10n ** 9n),
  },
  { weight: 1, arbitrary: fc.constantFrom(10n ** 15n - 1n, 10n ** 15n + 1n, 2n ** 53n + 1n) },
);
const limit = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constant(10n ** 18n),
  },
  { weight: 2, arbitrary: amount },
  { weight: 1, arbitrary: fc.constantFrom(-1n, -(10n ** 9n), -(10n ** 17n) - 1n) },
);
const slots = fc
  .uniqueArray(
    fc.record({
      id: fc.constantFrom('x', 'y'),
      measure: fc.constantFrom<CountMeasure>('Concurrency', 'Concurrency', 'Requests', 'InputTokens'),
      most: fc.integer({ min: 1, max: 3 }),
    }),
    { selector: ({ id }) => id, maxLength: 2 },
  )
  .map((wanted): CountLimit[] => wanted.map(({ id, measure, most }) => ({ ...slot('Key', id, most), measure })));
const load = fc.record({ inputTokens: fc.nat({ max: 3 }), outputTokens: fc.constant(0) });
const limits = fc.record({
  keyLimitNanoUsd: fc.option(limit, { nil: null }),
  period: fc.constantFrom<QuotaPeriod>('Never', 'Daily', 'Monthly'),
  keyGeneration: fc.constantFrom(1n, 1n, 1n, 2n, 10n),
  accountCreditNanoUsd: limit,
  accountGeneration: fc.constantFrom(1n, 1n, 1n, 2n),
});
const plenty: Spending = {
  keyLimitNanoUsd: 10n ** 18n,
  period: 'Monthly',
  keyGeneration: 1n,
  accountCreditNanoUsd: 10n ** 18n,
  accountGeneration: 1n,
};
const little = { ...plenty, keyLimitNanoUsd: 8_000_000_000n };
/** The limits of most calls of a history: a usual call has those of the call before. */
const usualLimits = fc.constantFrom<Spending>(
  plenty,
  { ...plenty, keyLimitNanoUsd: null },
  little,
  {
    ...little,
    period: 'Daily',
  },
  { ...little, period: 'Never' },
  { ...plenty, accountCreditNanoUsd: 8_000_000_000n },
);
/** A call always belongs to the same key. */
const originOf = (id: string, model: string) =>
  origin(id, { keyUid: KEYS[id.charCodeAt(0) % 2] ?? '', account: 'team/a', model });

const holdingBy = (usual: Spending) =>
  fc
    .record({
      id: callId,
      measure: fc.oneof(
        { weight: 6, arbitrary: fc.constant(usual) },
        { weight: 1, arbitrary: usualLimits },
        { weight: 1, arbitrary: limits },
      ),
      most: amount,
      least: fc.oneof(fc.constant(0n), amount),
      cost: amount,
      wanted: slots,
      both: fc.boolean(),
      using: load,
    })
    .map(({ id, measure, most, least, cost, wanted, both, using }) => {
      const request = {
        ...holdRequest(id, most, { limits: measure, load: using }),
        origin: originOf(id, 'm'),
        minimumNanoUsd: least,
        progress: progress(cost),
      };
      return admitOperation(request, both ? wanted : []);
    });
const settling = fc
  .record({ id: callId, cost: amount, moved: fc.boolean(), wanted: slots })
  .map(({ id, cost, moved, wanted }) =>
    settleOperation(
      { ...settlement(id, cost), origin: originOf(id, moved ? 'other' : 'm') },
      wanted.map((each) => each.id),
    ),
  );
const others = fc.oneof(
  callId.map(confirmOperation),
  callId.map(withdrawOperation),
  fc.record({ id: callId, cost: amount }).map(({ id, cost }) => progressOperation(id, progress(cost))),
  fc
    .record({ id: callId, wanted: slots, using: load })
    .map(({ id, wanted, using }) => takeOperation(id, wanted, using)),
  fc
    .record({ id: fc.constantFrom('x', 'y'), more: fc.integer({ min: -3, max: 3 }) })
    .map(({ id, more }) => correctOperation({ ...slot('Key', id, 1), measure: 'InputTokens' }, '1795176000', more)),
  fc.record({ id: callId, wanted: slots }).map(({ id, wanted }) =>
    giveOperation(
      id,
      wanted.map((each) => each.id),
    ),
  ),
  fc.record({ id: callId, restores: fc.boolean() }).map(({ id, restores }) => keepOperation('key/x', [id], restores)),
  fc
    .record({ id: callId, measure: limits })
    .map(({ id, measure }) => limitsOperation(originOf(id, 'm'), moneyLimits(measure, originOf(id, 'm')), NOON_MS)),
  fc.constantFrom<Operation>(
    { op: 'reap', most: 50 },
    { op: 'usage', call: 'a' },
    { op: 'key', key: 'key-1' },
    { op: 'account', account: 'team/a' },
  ),
);
const stepBy = (usual: Spending) =>
  fc.oneof(
    { weight: 5, arbitrary: holdingBy(usual) },
    { weight: 4, arbitrary: settling },
    { weight: 2, arbitrary: others },
  );
const batchBy = (usual: Spending): fc.Arbitrary<Batch> =>
  fc.record({
    passedMs: fc.constantFrom(0, 1, 1, 3_000, 6_000, -2_000, 30_000, DAY_MS, DAY_MS, 31 * DAY_MS),
    instance: fc.constantFrom('one', 'one', 'one', 'two'),
    operations: fc.array(stepBy(usual), { minLength: 1, maxLength: 16 }),
  });
const histories = usualLimits.chain((usual) => fc.array(batchBy(usual), { minLength: 1, maxLength: 8 }));

describe.skipIf(valkey.skip)('a batch', async () => {
  if (valkey.skip) return;
  const server = await startValkey();
  const client = createClient({ RESP: 2, socket: { host: '127.0.0.1', port: server.port } });
  await client.connect();
  afterAll(async () => {
    client.destroy();
    await server[Symbol.asyncDispose]();
  });

  interface Asked {
    readonly nowMs: number;
    readonly instance: string;
    readonly operations: readonly Operation[];
    readonly found?: BatchHead['found'];
  }

  /** Runs batches, and returns their replies: that of the batch itself, and those of its operations. */
  const runner = (base: string) => {
    let seq = 0;
    return async ({ nowMs, instance, operations, found }: Asked): Promise<readonly Reply[]> => {
      const head: BatchHead = {
        clock: nowMs,
        instance,
        epoch: 'epoch',
        acked: 0,
        seq: ++seq,
        mode: found ? 'found' : '',
        leaseMs: 20_000,
        keepMs: 60_000,
        records: 100,
        generationMs: 10_000,
        lenient: false,
        ...(found && { found }),
      };
      return parseReplies(await client.sendCommand(['EVAL', SCRIPT, '1', base, encodeBatch(head, operations)]));
    };
  };

  const found = async (base: string): Promise<ReturnType<typeof runner>> => {
    const run = runner(base);
    const epoch = { id: 'epoch', after: '', refillMs: -10_000, previous: 0 };
    await run({ nowMs: NOON_MS, instance: 'one', operations: [], found: epoch });
    return run;
  };

  /** The kind of reply of each operation of one batch. */
  const answers = async (base: string, ...operations: readonly Operation[]): Promise<readonly string[]> => {
    const [first, ...replies] = await (await found(base))({ nowMs: NOON_MS, instance: 'one', operations });
    assert.equal(first?.is, 'ok');
    return replies.map(({ is }) => is);
  };

  /** The replies of all operations, and the resulting store. */
  const play = async (batches: readonly Batch[]): Promise<{ replies: Reply[]; store: string }> => {
    const base = `{${randomUUID()}}:`;
    let nowMs = NOON_MS;
    const run = await found(base);
    const replies: Reply[] = [];
    for (const { passedMs, instance, operations } of batches) {
      nowMs += passedMs;
      const [first, ...told] = await run({ nowMs, instance, operations });
      assert.equal(first?.is, 'ok');
      replies.push(...told);
    }
    const store: unknown = await client.sendCommand(['EVAL', DUMP, '0', base, String(nowMs)]);
    assert.ok(typeof store === 'string');
    return { replies, store: store.replaceAll(base, '') };
  };

  it('returns what its operations return one by one', async () => {
    const kinds = new Set<string>();
    await fc.assert(
      fc.asyncProperty(histories, async (batches) => {
        const together = await play(batches);
        assert.deepEqual(
          await play(
            batches.flatMap(({ operations, passedMs, instance }) =>
              operations.map((one, at) => ({ passedMs: at === 0 ? passedMs : 0, instance, operations: [one] })),
            ),
          ),
          together,
        );
        assert.doesNotMatch(together.store, /^z:\S+ stays/m);
        for (const { is } of together.replies) kinds.add(is);
      }),
      { numRuns: 200 },
    );
    assert.deepEqual(
      ['full', 'held', 'short', 'stale', 'settled', 'over', 'done'].filter((kind) => !kinds.has(kind)),
      [],
    );
  });

  const [x, y] = [slot('Key', 'x', 2), slot('Key', 'y', 2)];
  const admitting = (id: string, wanted: readonly CountLimit[]): Operation => {
    const request = { ...holdRequest(id, 5n, { limits: plenty }), origin: originOf(id, 'm') };
    return admitOperation(request, wanted);
  };
  const settlingOf = (id: string, wanted: readonly CountLimit[]): Operation =>
    settleOperation(
      { ...settlement(id, 5n), origin: originOf(id, 'm'), progress: progress(5n) },
      wanted.map((each) => each.id),
    );

  it('counts the calls that have a slot, whoever added them', async () => {
    const keep = keepOperation(x.id, ['b'], true);
    assert.deepEqual(await answers(`{${randomUUID()}}:`, admitting('a', [x]), keep, admitting('c', [x])), [
      'held',
      'ok',
      'full',
    ]);
    assert.deepEqual(
      await answers(
        `{${randomUUID()}}:`,
        admitting('a', [x]),
        admitting('b', [x]),
        settlingOf('a', [x]),
        admitting('c', [x]),
        admitting('d', [x]),
      ),
      ['held', 'held', 'settled', 'held', 'full'],
    );
  });

  it('with an invalid operation fails at that one', async () => {
    const base = `{${randomUUID()}}:`;
    assert.deepEqual(await answers(base, admitting('a', [x])), ['held']);
    const unreadable = [{ op: 'admit', call: 'b' }, { op: 'nothing' }];
    assert.deepEqual(await answers(base, settlingOf('a', [x]), ...unreadable, admitting('b', [x])), [
      'settled',
      'error',
      'error',
      'held',
    ]);
  });

  it('fails at the operations on a key of the wrong type, and at no others', async () => {
    const base = `{${randomUUID()}}:`;
    await client.sendCommand(['SET', `${base}z:${x.id}`, 'no set']);
    assert.deepEqual(await answers(base, admitting('a', [x]), admitting('b', [y]), settlingOf('b', [y, x])), [
      'error',
      'held',
      'settled',
    ]);
    const other = `{${randomUUID()}}:`;
    await client.sendCommand(['SET', `${other}u:one`, 'no set']);
    assert.deepEqual(await answers(other, admitting('a', [x]), takeOperation('b', [x], NO_TOKENS_LOAD)), [
      'error',
      'taken',
    ]);
    assert.equal(await client.sendCommand(['EXISTS', `${other}c:a`]), 0);
  });

  const ending = { ...settlement('a', 5n), origin: originOf('a', 'm') };
  const withJob = settleOperation({ ...ending, job: { jobId: 'job', pollMs: 0 } }, []);
  /** As in a journal that has outlived a store. */
  const refilling = (job?: Operation['job']): Operation => ({
    op: 'refill',
    call: 'a',
    key: ending.origin.keyUid,
    account: 'team/a',
    createdMs: String(NOON_MS),
    route: '["auto","m","r/c","ns/p@1"]',
    tokens: '[1,0,0,0,1,"Provider"]',
    cost: '5',
    unbilled: '0',
    status: 'Succeeded',
    durationMs: '1',
    keySpent: '5',
    keyRemaining: '-',
    change: '1',
    accountSpent: '5',
    totalSpent: '5',
    daySpent: '5',
    monthSpent: '5',
    day: '20777',
    month: '24322',
    job,
    since: '',
  });
  for (const [what, operation, broken] of [
    ['settlement', settlingOf('a', []), 'u:one'],
    ['settlement with a job', withJob, 'jq'],
    ['settlement from a journal', refilling(), 'u:one'],
    ['settlement with a job from a journal', refilling({ id: 'job', pollMs: 0, channel: 'r/c' }), 'jq'],
  ] as const) {
    it(`writes no record of a ${what} that fails, and keeps its hold listed`, async () => {
      const base = `{${randomUUID()}}:`;
      const run = await found(base);
      const kind = async (asked: Operation): Promise<string | undefined> =>
        (await run({ nowMs: NOON_MS, instance: 'one', operations: [asked] }))[1]?.is;
      const held = (list: string) => client.sendCommand(['SISMEMBER', base + list, 'a']);
      const records = () => client.sendCommand(['XLEN', `${base}s:team/a`]);
      assert.equal(await kind(admitting('a', [])), 'held');
      await client.sendCommand(['COPY', `${base}u:one`, `${base}kept`]);
      await client.sendCommand(['SET', base + broken, 'something else']);
      assert.equal(await kind(operation), 'error');
      assert.equal(await records(), 0);
      if (broken !== 'u:one') assert.equal(await held('u:one'), 1);
      await client.sendCommand(['DEL', base + broken]);
      if (broken === 'u:one') await client.sendCommand(['RENAME', `${base}kept`, `${base}u:one`]);
      assert.match((await kind(operation)) ?? '', /^(?:settled|refilled)$/);
      assert.equal(await records(), 1);
      assert.equal(await held('u:one'), 0);
    });
  }

  const later: readonly (readonly [period: QuotaPeriod, days: number, outcome: string])[] = [
    ['Never', 1, 'short'],
    ['Monthly', 1, 'short'],
    ['Daily', 1, 'held'],
    ['Never', 31, 'short'],
    ['Monthly', 31, 'held'],
  ];
  for (const [period, days, outcome] of later) {
    it(`of a call ${days} days after another applies a quota that restarts ${period}`, async () => {
      const run = await found(`{${randomUUID()}}:`);
      const holding = (id: string, amountNanoUsd: bigint): Operation => {
        const request = {
          ...holdRequest(id, amountNanoUsd, { limits: { ...little, period } }),
          origin: originOf('a', 'm'),
        };
        return admitOperation({ ...request, origin: { ...request.origin, callId: id } }, []);
      };
      const words = async (nowMs: number, ...operations: readonly Operation[]) =>
        (await run({ nowMs, instance: 'one', operations })).slice(1).map(({ is }) => is);
      assert.deepEqual(await words(NOON_MS, holding('a', 5_000_000_000n), holding('b', 0n)), ['held', 'held']);
      assert.deepEqual(await words(NOON_MS + days * DAY_MS, holding('c', 1n), holding('d', 4_000_000_000n)), [
        'held',
        outcome,
      ]);
    });
  }

  it('is exact, whatever the amounts', async () => {
    const most = 2n ** 63n - 1n;
    const any = fc.oneof(
      fc.bigInt({ min: 0n, max: most }),
      fc.bigInt({ min: 2n ** 53n - 2n, max: 2n ** 53n + 2n }),
      fc.bigInt({ min: 0n, max: 10n ** 10n }),
      fc.bigInt({ min: 9n * 10n ** 15n, max: 10n ** 17n }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(any, any, any).map((three) => three.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))),
        async ([cost = 0n, held = 0n, credit = 0n]) => {
          const run = await found(`{${randomUUID()}}:`);
          const ask = async (operation: Operation): Promise<Reply | undefined> =>
            (await run({ nowMs: NOON_MS, instance: 'one', operations: [operation] }))[1];
          const holding = (id: string, amountNanoUsd: bigint): Operation => {
            const request = {
              ...holdRequest(id, amountNanoUsd, {
                limits: { ...plenty, keyLimitNanoUsd: null, accountCreditNanoUsd: credit },
              }),
              origin: originOf('a', 'm'),
            };
            return admitOperation({ ...request, origin: { ...request.origin, callId: id } }, []);
          };
          const granted = await ask(holding('a', held));
          assert.deepEqual([granted?.is, granted?.amount], ['held', String(held)]);
          if (credit < most) {
            const { admitted: _now, ...short } = (await ask(holding('b', most))) ?? {};
            const available = String(credit - held);
            assert.deepEqual(short, { is: 'short', index: '1', available, spent: '0' });
          }
          const ended = { ...settlement('a', cost), origin: originOf('a', 'm'), progress: progress(cost) };
          const settled = await ask(settleOperation(ended, []));
          assert.deepEqual([settled?.accountSpent, settled?.totalSpent], [String(cost), String(cost)]);
          assert.deepEqual(await ask({ op: 'account', account: 'team/a' }), {
            is: 'account',
            spent: String(cost),
            held: '0',
          });
        },
      ),
      { numRuns: 100 },
    );
  });
});

/** A store in which balances of accounts and keys are missing, deleted or evicted, although it has everything else. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'vitest';
import { BalanceLost } from '#ledger/ledger.ts';
import type { AdmitResult, Ledger } from '#ledger/ledger.ts';
import { openValkeyReader } from '#ledger/valkey-reader.ts';
import type { KnownSpending } from '#ledger/valkey/refill.ts';
import { valkey } from '../../../../support/valkey.ts';
import type { ValkeyServer } from '../../../../support/valkey.ts';
import { DAY_MS, holdRequest, origin, progress, settlement } from '../calls.ts';
import { HELD, SHORT } from '../contract-scenario.ts';
import { dataFolder, endScene, eventually, open, start } from './scene.ts';
import type { Event } from './scene.ts';

const ACCOUNT = 'team-a/team-a';
const OF_ACCOUNT = `{mgw0}:a:${ACCOUNT}`;
const OF_KEY = '{mgw0}:k:key-1';
const RECORDS = `{mgw0}:s:${ACCOUNT}`;
const limits = { keyLimitNanoUsd: 1_000n, accountCreditNanoUsd: 1_000n };
const over = { timeoutMs: 60_000, refillMs: 300 };
/** Other processes hear of a loss within a second. */
const allHear = { ...over, refillMs: 1_800 };

async function call(ledger: Ledger, id: string, cost: bigint, keyUid = 'key-1'): Promise<void> {
  const of = origin(id, { keyUid, createdMs: Date.now() });
  assert.equal((await ledger.admit(holdRequest(id, cost, { limits, origin: of }))).outcome, 'Held');
  await ledger.settle(settlement(id, cost, { origin: of }));
}

/** Repeats what is refused while a balance is lost. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  let result: { readonly value: T } | undefined;
  await eventually('it is put back', async () => {
    result = await ask().then(
      (value) => ({ value }),
      (error: unknown) => {
        if (error instanceof BalanceLost) return undefined;
        throw error;
      },
    );
    return result !== undefined;
  });
  return (result ?? assert.fail()).value;
}

const admit = (ledger: Ledger, id: string, amount: bigint): Promise<AdmitResult> =>
  ledger.admit(holdRequest(id, amount, { limits }));

async function assertSpending(ledger: Ledger, spent: bigint, held = 0n, ofKey = spent): Promise<void> {
  const account = await patiently(() => ledger.readAccount(ACCOUNT));
  assert.deepEqual(account, { spentNanoUsd: spent, heldNanoUsd: held });
  for (const period of ['Never', 'Daily', 'Monthly'] as const) {
    const { spentNanoUsd, heldNanoUsd, totalSpentNanoUsd } = await patiently(() => ledger.readKey('key-1', period));
    assert.deepEqual([spentNanoUsd, totalSpentNanoUsd, heldNanoUsd], [ofKey, ofKey, held], period);
  }
}

const lossesIn = (events: readonly Event[]): Event[] => events.filter(({ kind }) => kind === 'LostBalances');

describe.skipIf(valkey.skip)('a store that has lost balances', () => {
  afterEach(endScene);

  const twoGateways = async (server: ValkeyServer, settings = over) => {
    const first = await open(server, { dataDir: await dataFolder(), over: settings });
    const second = await open(server, { dataDir: await dataFolder(), over: settings });
    return { first, second };
  };

  for (const [what, names] of [
    ["an account's", [OF_ACCOUNT]],
    ["a key's", [OF_KEY]],
    ['both', [OF_ACCOUNT, OF_KEY]],
  ] as const)
    it(`refuses its calls until ${what} is put back, and grants nothing beyond the limits`, async () => {
      const server = await start();
      const { first, second } = await twoGateways(server);
      await call(first.ledger, 'a', 300n);
      await call(second.ledger, 'b', 400n);
      assert.deepEqual(await admit(second.ledger, 'running', 200n), HELD(200n));
      await server.command('DEL', ...names);
      await assert.rejects(admit(first.ledger, 'refused', 100n), BalanceLost);
      await assert.rejects(admit(second.ledger, 'refused', 100n), BalanceLost);
      assert.equal(first.ledger.health?.().ok, true);
      // other accounts are served meanwhile
      const other = { account: 'team-b/team-b', keyUid: 'key-2' };
      assert.deepEqual(await first.ledger.admit(holdRequest('other', 5n, { origin: other })), HELD(5n));
      assert.deepEqual(await patiently(() => admit(first.ledger, 'much', 101n)), SHORT('Key', 100n));
      await assertSpending(second.ledger, 700n, 200n);
      assert.equal((await second.ledger.settle(settlement('running', 150n))).record.costNanoUsd, 150n);
      await assertSpending(first.ledger, 850n);
      for (const { events } of [first, second])
        assert.deepEqual(
          lossesIn(events)
            .flatMap((event) => ('names' in event ? event.names : []))
            .toSorted(),
          names.map((name) => name.replace('{mgw0}:', '')).toSorted(),
        );
    });

  it('settles calls that end meanwhile, once', async () => {
    const server = await start();
    const { first, second } = await twoGateways(server);
    await call(first.ledger, 'a', 300n);
    await admit(first.ledger, 'b', 100n);
    await admit(second.ledger, 'c', 100n);
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    const results = await Promise.all([
      first.ledger.settle(settlement('b', 60n)),
      second.ledger.settle(settlement('c', 70n)),
    ]);
    assert.deepEqual(
      results.map(({ record }) => record.costNanoUsd),
      [60n, 70n],
    );
    await assertSpending(first.ledger, 430n);
    assert.equal((await second.ledger.settle(settlement('b', 999n))).record.costNanoUsd, 60n);
    await assertSpending(second.ledger, 430n);
  });

  it('gets from journals what its records no longer have: the latest change of all processes counts', async () => {
    const server = await start();
    const { first, second } = await twoGateways(server, allHear);
    await call(first.ledger, 'a', 100n);
    await call(second.ledger, 'b', 200n);
    await call(first.ledger, 'c', 300n, 'key-2');
    await server.command('DEL', RECORDS);
    await call(second.ledger, 'd', 7n);
    await server.command('DEL', OF_ACCOUNT, OF_KEY, '{mgw0}:k:key-2');
    await assertSpending(first.ledger, 607n, 0n, 307n);
    assert.equal((await patiently(() => first.ledger.readKey('key-2', 'Daily'))).spentNanoUsd, 300n);
    // and again, with nothing new
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    await assertSpending(second.ledger, 607n, 0n, 307n);
  });

  it('gets them from the journal of a process that was restarted', async () => {
    const server = await start();
    const dataDir = await dataFolder();
    const before = await open(server, { dataDir, over });
    await call(before.ledger, 'a', 100n);
    await before.ledger.close();
    await server.command('DEL', OF_ACCOUNT, OF_KEY, RECORDS);
    const { ledger } = await open(server, { dataDir, over });
    await assert.rejects(admit(ledger, 'refused', 901n), BalanceLost);
    assert.deepEqual(await patiently(() => admit(ledger, 'much', 901n)), SHORT('Key', 900n));
    await assertSpending(ledger, 100n);
  });

  it('gets from statuses what neither records nor journals have', async () => {
    const server = await start();
    const { ledger: writer } = await open(server, { over: allHear });
    await call(writer, 'a', 100n);
    const nowMs = Date.now();
    const known = (spentNanoUsd: bigint): KnownSpending => ({
      keys: [
        {
          keyUid: 'key-1',
          account: ACCOUNT,
          totalSpentNanoUsd: spentNanoUsd,
          period: 'Daily',
          periodStartMs: nowMs - (nowMs % DAY_MS),
          spentNanoUsd,
        },
      ],
      accounts: [{ account: ACCOUNT, spentNanoUsd }],
    });
    await open(server, { over: allHear, refill: async () => known(90n) });
    await server.command('DEL', OF_ACCOUNT, OF_KEY, RECORDS);
    assert.equal((await patiently(() => writer.readAccount(ACCOUNT))).spentNanoUsd, 90n);
    assert.equal((await patiently(() => writer.readKey('key-1', 'Daily'))).spentNanoUsd, 90n);
  });

  it('refunds and bills jobs after it', async () => {
    const server = await start();
    const { first, second } = await twoGateways(server, allHear);
    for (const id of ['ended', 'failed']) {
      const of = origin(id, { createdMs: Date.now() });
      await first.ledger.admit(holdRequest(id, 90n, { limits, origin: of }));
      const job = { jobId: id, pollMs: Date.now() };
      await first.ledger.settle({ ...settlement(id, 90n), status: 'Running', origin: of, job });
    }
    await call(second.ledger, 'a', 5n);
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    const finish = (id: string, state: 'Completed' | 'Failed') =>
      patiently(() =>
        second.ledger.finishJob(
          { jobId: id, origin: origin(id) },
          state,
          state === 'Completed' ? { status: 'Succeeded', progress: progress(20n) } : undefined,
        ),
      );
    assert.equal((await finish('ended', 'Completed')).billed?.costNanoUsd, 20n);
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    assert.equal((await finish('failed', 'Failed')).state, 'Failed');
    await assertSpending(first.ledger, 25n);
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    await assertSpending(first.ledger, 25n);
  });

  it('bills the calls of a dead process after it', async () => {
    const server = await start();
    const { ledger: dying } = await open(server, { over: { ...over, leaseMs: 1_500 } });
    const { ledger } = await open(server, { over: { ...over, leaseMs: 1_500 } });
    await dying.admit(holdRequest('dead', 80n, { limits, progress: progress(33n) }));
    await dying.admit(holdRequest('other', 9n, { origin: { account: 'team-b/team-b', keyUid: 'key-2' } }));
    await eventually('both are confirmed', async () => (await server.command('KEYS', '{mgw0}:u:*'))?.toString() === '');
    await dying.close();
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    await eventually('both are reaped', async () => {
      const records = await Promise.all([ledger.readUsage('key-1', 'dead'), ledger.readUsage('key-2', 'other')]);
      return records.every((record) => record?.status === 'Abandoned');
    });
    await assertSpending(ledger, 33n);
  });

  it('is told to readers, who change nothing', async () => {
    const server = await start();
    const { ledger } = await open(server, { over });
    await call(ledger, 'a', 100n);
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    const reader = openValkeyReader(server.url);
    await assert.rejects(reader.readAccount(ACCOUNT), BalanceLost);
    await assert.rejects(reader.readKey('key-1', 'Never', ACCOUNT), BalanceLost);
    assert.equal(await server.command('HEXISTS', '{mgw0}:e', 'lost'), 0);
    await assertSpending(ledger, 100n);
    assert.equal((await reader.readAccount(ACCOUNT)).spentNanoUsd, 100n);
    assert.equal((await reader.readAccount('team-c/new')).spentNanoUsd, 0n);
    assert.equal(await server.command('HEXISTS', '{mgw0}:e', 'lost'), 0);
    reader.close();
  });

  it('notices balances of an earlier version once they are used', async () => {
    const server = await start();
    const { ledger } = await open(server, { over });
    await call(ledger, 'a', 100n);
    await server.command('HDEL', '{mgw0}:e', `a:${ACCOUNT}`, 'k:key-1');
    const renewed = { limits: { ...limits, keyGeneration: 2n, accountGeneration: 2n } };
    assert.deepEqual(await ledger.admit(holdRequest('b', 10n, renewed)), HELD(10n));
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    await assertSpending(ledger, 100n, 10n);
  });
});

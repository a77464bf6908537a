/** A store that loses jobs whose bills have replaced their charges: no job ends twice, and no charge comes back. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, it } from 'vitest';
import type { JobBill, Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { valkey } from '../../../../support/valkey.ts';
import { holdRequest, progress, settlement } from '../calls.ts';
import { dataFolder, endScene, eventually, open, start } from './scene.ts';

const ACCOUNT = 'team-a/team-a';
const DAY_AHEAD_MS = 86_400_000;
const CHARGE = 90n;
const LATE_MS = 600;
/** Longer than a process takes to confirm a hold. */
const CONFIRMED_MS = 300;

const originOf = (id: string) => ({ ...holdRequest(id, 0n).origin, createdMs: Date.now() });
const billOf = (costNanoUsd: bigint): JobBill => ({ status: 'Succeeded', progress: progress(costNanoUsd) });

async function charge(ledger: Ledger, id: string): Promise<void> {
  const origin = originOf(id);
  await ledger.admit({ ...holdRequest(id, CHARGE), origin });
  const job = { jobId: id, pollMs: Date.now(), terms: 'terms' };
  await ledger.settle({ ...settlement(id, CHARGE), status: 'Running', origin, job });
}

async function call(ledger: Ledger, id: string, cost: bigint): Promise<void> {
  const origin = originOf(id);
  await ledger.admit({ ...holdRequest(id, cost), origin });
  await ledger.settle({ ...settlement(id, cost), origin });
}

const finish = (ledger: Ledger, id: string, cost: bigint) =>
  ledger.finishJob({ jobId: id, origin: originOf(id) }, 'Completed', billOf(cost));

async function assertSpent(ledger: Ledger, spent: bigint): Promise<void> {
  await eventually(`${spent} are spent`, () =>
    ledger.readAccount(ACCOUNT).then(
      ({ spentNanoUsd }) => spentNanoUsd === spent,
      () => false,
    ),
  );
  for (const period of ['Never', 'Daily', 'Monthly'] as const) {
    const { spentNanoUsd, totalSpentNanoUsd } = await ledger.readKey('key-1', period);
    assert.deepEqual([spentNanoUsd, totalSpentNanoUsd], [spent, spent], period);
  }
}

describe.skipIf(valkey.skip)('a store that loses everything', () => {
  afterEach(endScene);

  /** Two gateways, of which the first has charged for jobs; `late` is the last to put back what it knows. */
  const twoGateways = async (late: 'first' | 'second' = 'second') => {
    const server = await start();
    const openLedger = async (name: 'first' | 'second'): Promise<Ledger> => {
      // without statuses, this only delays
      const refill = async () => {
        if (name === late) await sleep(LATE_MS);
        return { keys: [], accounts: [] };
      };
      const over = { timeoutMs: 60_000, refillMs: 1_500 };
      return (await open(server, { dataDir: await dataFolder(), over, refill })).ledger;
    };
    const [first, second] = [await openLedger('first'), await openLedger('second')];
    await call(first, 'before', 10n);
    for (const id of ['ended', 'running']) await charge(first, id);
    await call(first, 'then', 2n);
    const lose = async (): Promise<void> => {
      await server.command('FLUSHALL');
      for (const ledger of [first, second])
        await eventually('it is filled again', () =>
          ledger.readAccount(ACCOUNT).then(
            () => true,
            () => false,
          ),
        );
    };
    return { first, second, lose };
  };

  for (const [ender, late] of [
    ['first', 'second'],
    ['second', 'second'],
    ['second', 'first'],
  ] as const)
    it(`gets the bill that the ${ender} gateway knows, and the running charge, if the ${late} is late`, async () => {
      const { first, second, lose } = await twoGateways(late);
      assert.equal((await finish(ender === 'first' ? first : second, 'ended', 5n)).billed?.costNanoUsd, 5n);
      await call(second, 'after', 3n);
      const spent = 10n + 2n + 5n + CHARGE + 3n;
      await assertSpent(first, spent);
      for (let times = 0; times < 2; times++) {
        await lose();
        await assertSpent(first, spent);
      }
      const due = await first.claimJobs(Date.now() + DAY_AHEAD_MS, 1, 10);
      assert.deepEqual(
        due.map(({ jobId, terms }) => [jobId, terms]),
        [['running', 'terms']],
      );
      assert.equal((await finish(first, 'ended', 5n).catch(() => undefined))?.billed, undefined);
      assert.equal((await finish(second, 'running', 20n)).billed?.costNanoUsd, 20n);
      await assertSpent(second, spent - CHARGE + 20n);
      for (const [id, cost] of [
        ['ended', 5n],
        ['running', 20n],
      ] as const) {
        const record = await first.readUsage('key-1', id);
        assert.deepEqual([record?.costNanoUsd, record?.status], [cost, 'Succeeded'], id);
      }
    });

  it('gets the job of a call that was reaped since', async () => {
    const server = await start({ settings: [['appendonly', 'no']] });
    const over = { timeoutMs: 60_000, refillMs: 300, leaseMs: 1_500 };
    const dataDir = await dataFolder();
    const { ledger: other } = await open(server, { dataDir: await dataFolder(), over });
    const { ledger } = await open(server, { dataDir, over });
    const origin = originOf('job');
    await ledger.admit({ ...holdRequest('job', CHARGE, { progress: progress(CHARGE) }), origin });
    await eventually('the hold is confirmed', () => other.readUsage('key-1', 'job').then((record) => !!record));
    await sleep(CONFIRMED_MS);
    await server.command('SAVE');
    const job = { jobId: 'job', pollMs: Date.now(), terms: 'terms' };
    await ledger.settle({ ...settlement('job', CHARGE), status: 'Running', origin, job });
    await ledger.close();
    await server.kill();
    await server.start();
    await eventually('it is reaped', () =>
      other.readUsage('key-1', 'job').then(
        (record) => record?.status === 'Abandoned',
        () => false,
      ),
    );
    const { ledger: back } = await open(server, { dataDir, over });
    await eventually('its settlement is restored', () =>
      back.readUsage('key-1', 'job').then(
        (record) => record?.status === 'Running',
        () => false,
      ),
    );
    assert.equal((await finish(back, 'job', 20n)).billed?.costNanoUsd, 20n);
    await assertSpent(other, 20n);
  });

  it('gets a refund, too', async () => {
    const { first, second, lose } = await twoGateways();
    const job = { jobId: 'ended', origin: originOf('ended') };
    await second.finishJob(job, 'Failed');
    await lose();
    await assertSpent(first, 10n + 2n + CHARGE);
    assert.equal((await first.readUsage('key-1', 'ended'))?.status, 'Refunded');
  });
});

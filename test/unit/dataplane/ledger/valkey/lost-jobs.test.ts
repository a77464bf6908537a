/** A store that loses jobs whose bills have replaced their charges: no job ends twice, and no charge comes back. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'vitest';
import type { JobBill, Ledger } from '#ledger/ledger.ts';
import { valkey } from '../../../../support/valkey.ts';
import { holdRequest, progress, settlement } from '../calls.ts';
import { dataFolder, endScene, eventually, open, start } from './scene.ts';

const ACCOUNT = 'team-a/team-a';
const DAY_AHEAD_MS = 86_400_000;
const CHARGE = 90n;

const originOf = (id: string) => ({ ...holdRequest(id, 0n).origin, createdMs: Date.now() });
const billOf = (costNanoUsd: bigint): JobBill => ({ status: 'Succeeded', progress: progress(costNanoUsd) });

async function charge(ledger: Ledger, id: string): Promise<void> {
  const origin = originOf(id);
  await ledger.hold({ ...holdRequest(id, CHARGE), origin });
  const job = { jobId: id, pollMs: Date.now(), terms: 'terms' };
  await ledger.settle({ ...settlement(id, CHARGE), status: 'Running', origin, job });
}

async function call(ledger: Ledger, id: string, cost: bigint): Promise<void> {
  const origin = originOf(id);
  await ledger.hold({ ...holdRequest(id, cost), origin });
  await ledger.settle({ ...settlement(id, cost), origin });
}

const finish = (ledger: Ledger, id: string, cost: bigint) =>
  ledger.finishJob({ jobId: id, origin: originOf(id) }, 'Completed', billOf(cost));

async function assertSpent(ledger: Ledger, spent: bigint): Promise<void> {
  await eventually(`${spent} are spent`, () =>
    ledger.readAccount(ACCOUNT).then(({ spentNanoUsd }) => spentNanoUsd === spent, () => false));
  for (const period of ['Never', 'Daily', 'Monthly'] as const) {
    const { spentNanoUsd, totalSpentNanoUsd } = await ledger.readKey('key-1', period);
    assert.deepEqual([spentNanoUsd, totalSpentNanoUsd], [spent, spent], period);
  }
}

describe.skipIf(valkey.skip)('a store that loses everything', () => {
  afterEach(endScene);

  /** Two gateways, of which the first has charged for jobs. */
  const twoGateways = async () => {
    const server = await start();
    const over = { timeoutMs: 60_000, refillMs: 1_500 };
    const ledgers: Ledger[] = [];
    for (let count = 0; count < 2; count++)
      ledgers.push((await open(server, { dataDir: await dataFolder(), over })).ledger);
    const [first = assert.fail(), second = assert.fail()] = ledgers;
    await call(first, 'before', 10n);
    for (const id of ['ended', 'running']) await charge(first, id);
    const lose = async (): Promise<void> => {
      await server.command('FLUSHALL');
      for (const ledger of ledgers) await eventually('it is filled again', () =>
        ledger.readAccount(ACCOUNT).then(() => true, () => false));
    };
    return { first, second, lose };
  };

  for (const who of ['the gateway that charged', 'another gateway'])
    it(`gets the bill that ${who} knows, and the charge of a job that runs`, async () => {
      const { first, second, lose } = await twoGateways();
      const ender = who === 'another gateway' ? second : first;
      assert.equal((await finish(ender, 'ended', 5n)).billed?.costNanoUsd, 5n);
      await call(second, 'after', 3n);
      await assertSpent(first, 10n + 5n + CHARGE + 3n);
      for (let times = 0; times < 2; times++) {
        await lose();
        await assertSpent(first, 10n + 5n + CHARGE + 3n);
      }
      const due = await first.claimJobs(Date.now() + DAY_AHEAD_MS, 1, 10);
      assert.deepEqual(due.map(({ jobId, terms }) => [jobId, terms]), [['running', 'terms']]);
      assert.equal((await finish(first, 'ended', 5n).catch(() => undefined))?.billed, undefined);
      assert.equal((await finish(second, 'running', 20n)).billed?.costNanoUsd, 20n);
      await assertSpent(second, 10n + 5n + 20n + 3n);
      for (const [id, cost] of [['ended', 5n], ['running', 20n]] as const) {
        const record = await first.readUsage('key-1', id);
        assert.deepEqual([record?.costNanoUsd, record?.status], [cost, 'Succeeded'], id);
      }
    });

  it('gets a refund, too', async () => {
    const { first, second, lose } = await twoGateways();
    const job = { jobId: 'ended', origin: originOf('ended') };
    await second.finishJob(job, 'Failed');
    await lose();
    await assertSpent(first, 10n + CHARGE);
    assert.equal((await first.readUsage('key-1', 'ended'))?.status, 'Refunded');
  });
});

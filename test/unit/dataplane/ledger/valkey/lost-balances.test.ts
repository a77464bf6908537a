/** A store in which balances of accounts and keys are missing, deleted or evicted, although it has everything else. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'vitest';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { openValkeyReader } from '../../../../../dataplane/ledger/valkey-reader.ts';
import { valkey } from '../../../../support/valkey.ts';
import { brief, holdRequest, origin, progress, settlement } from '../calls.ts';
import { HELD, SHORT } from '../contract-scenario.ts';
import { endScene, eventually, open, start } from './scene.ts';
import type { Event } from './scene.ts';

const ACCOUNT = 'team-a/team-a';
const OF_ACCOUNT = `{mgw0}:a:${ACCOUNT}`;
const OF_KEY = '{mgw0}:k:key-1';
const COPIES = '{mgw0}:copies';
const limits = { keyLimitNanoUsd: 1_000n, accountCreditNanoUsd: 1_000n };
const over = { timeoutMs: 60_000, refillMs: 300 };

async function call(ledger: Ledger, id: string, cost: bigint): Promise<void> {
  const of = origin(id, { createdMs: Date.now() });
  assert.equal((await ledger.admit(holdRequest(id, cost, { limits, origin: of }))).outcome, 'Held');
  await ledger.settle(settlement(id, cost, { origin: of }));
}

async function assertSpending(ledger: Ledger, spent: bigint, held = 0n): Promise<void> {
  assert.deepEqual(await ledger.readAccount(ACCOUNT), { spentNanoUsd: spent, heldNanoUsd: held });
  for (const period of ['Never', 'Daily', 'Monthly'] as const) {
    const { spentNanoUsd, heldNanoUsd, totalSpentNanoUsd } = await ledger.readKey('key-1', period);
    assert.deepEqual([spentNanoUsd, totalSpentNanoUsd, heldNanoUsd], [spent, spent, held], period);
  }
}

const lostIn = (events: readonly Event[]): string[] =>
  events.flatMap((event) => (event.kind === 'LostValues' ? event.names : [])).toSorted();

describe.skipIf(valkey.skip)('a store that has lost balances', () => {
  afterEach(endScene);

  for (const [what, names] of [
    ["an account's", [OF_ACCOUNT]],
    ["a key's", [OF_KEY]],
    ["an account's and a key's", [OF_ACCOUNT, OF_KEY]],
  ] as const)
    it(`puts back ${what}, with what is held and spent, and says so once`, async () => {
      const server = await start();
      const { ledger, events } = await open(server, { over });
      await call(ledger, 'a', 300n);
      assert.deepEqual(await ledger.admit(holdRequest('running', 200n, { limits })), HELD(200n));
      await server.command('DEL', ...names);
      assert.deepEqual(brief(await ledger.admit(holdRequest('much', 501n, { limits }))), SHORT('Key', 500n));
      assert.deepEqual(await ledger.admit(holdRequest('fitting', 500n, { limits })), HELD(500n));
      await assertSpending(ledger, 300n, 700n);
      assert.equal((await ledger.settle(settlement('running', 150n))).record.costNanoUsd, 150n);
      await assertSpending(ledger, 450n, 500n);
      assert.deepEqual(lostIn(events), names.map((name) => name.replace('{mgw0}:', '')).toSorted());
    });

  it('knows the limits that it has seen', async () => {
    const server = await start();
    const { ledger } = await open(server, { over });
    const newer = { ...limits, keyGeneration: 2n, accountGeneration: 2n };
    await ledger.admit(holdRequest('a', 1n, { limits: newer }));
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    const older = { ...limits, keyGeneration: 1n, accountGeneration: 1n };
    assert.equal((await ledger.admit(holdRequest('b', 1n, { limits: older }))).outcome, 'StaleLimits');
  });

  it('settles calls, ends jobs and reaps from copies', async () => {
    const server = await start();
    const leases = { over: { ...over, leaseMs: 1_500 } };
    const { ledger: dying } = await open(server, leases);
    const { ledger } = await open(server, leases);
    await dying.admit(holdRequest('dead', 80n, { limits, progress: progress(33n) }));
    await eventually('it is confirmed', async () => (await server.command('KEYS', '{mgw0}:u:*'))?.toString() === '');
    await dying.close();
    const of = origin('job', { createdMs: Date.now() });
    await ledger.admit(holdRequest('job', 90n, { limits, origin: of }));
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    const job = { jobId: 'job', pollMs: Date.now() };
    await ledger.settle({ ...settlement('job', 90n), status: 'Running', origin: of, job });
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    const ended = await ledger.finishJob({ jobId: 'job', origin: of }, 'Completed', {
      status: 'Succeeded',
      progress: progress(20n),
    });
    assert.equal(ended.billed?.costNanoUsd, 20n);
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    await eventually('it is reaped', async () => (await ledger.readUsage('key-1', 'dead'))?.status === 'Abandoned');
    await assertSpending(ledger, 53n);
  });

  it('is read right by readers, who change nothing', async () => {
    const server = await start();
    const { ledger, events } = await open(server, { over });
    await call(ledger, 'a', 100n);
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    const reader = openValkeyReader(server.url);
    assert.equal((await reader.readAccount(ACCOUNT)).spentNanoUsd, 100n);
    assert.equal((await reader.readKey('key-1', 'Never', ACCOUNT)).spentNanoUsd, 100n);
    assert.equal(await server.command('EXISTS', OF_ACCOUNT, OF_KEY), 0);
    reader.close();
    assert.deepEqual(lostIn(events), []);
  });

  it('loses nothing without its copies either, which come back with the next change', async () => {
    const server = await start();
    const { ledger, events } = await open(server, { over });
    await call(ledger, 'a', 100n);
    await server.command('DEL', COPIES);
    await call(ledger, 'b', 10n);
    await assertSpending(ledger, 110n);
    await server.command('DEL', OF_ACCOUNT, OF_KEY);
    await assertSpending(ledger, 110n);
    assert.deepEqual(lostIn(events), [`a:${ACCOUNT}`, 'k:key-1']);
  });
});

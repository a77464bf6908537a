/** A store that loses what was spent in calendar windows gets it back from journals, statuses and copies. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'vitest';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import type { KnownSpending } from '../../../../../dataplane/ledger/valkey/refill.ts';
import { spanAt } from '#ledger/periods.ts';
import { valkey } from '../../../../support/valkey.ts';
import { brief, DAY_MS, holdRequest, settlement } from '../calls.ts';
import type { Spending } from '../calls.ts';
import { HELD, SHORT } from '../contract-scenario.ts';
import { LONG_TIMEOUT } from './subject.ts';
import { dataFolder, endScene, eventually, open, start } from './scene.ts';

const ACCOUNT = 'team-a/team-a';
const ZONE = 'Europe/Berlin';
const LIMITS: Partial<Spending> = { accountLimits: [{ amountNanoUsd: 100n, window: 'Week', timeZone: ZONE }] };
const over = { timeoutMs: 60_000 };

async function spend(ledger: Ledger, id: string, cost: bigint): Promise<void> {
  const request = holdRequest(id, cost, { limits: LIMITS, origin: { createdMs: Date.now() } });
  await ledger.admit(request);
  await ledger.settle(settlement(id, cost, { origin: request.origin }));
}

async function refusal(ledger: Ledger) {
  await eventually('it is filled again', () =>
    ledger.readAccount(ACCOUNT).then(
      () => true,
      () => false,
    ),
  );
  return brief(await ledger.admit(holdRequest('last', 99n, { limits: LIMITS })));
}

describe.skipIf(valkey.skip)('what was spent in a window', () => {
  afterEach(endScene);

  it('comes back from a journal', async () => {
    const server = await start();
    const { ledger } = await open(server, { dataDir: await dataFolder(), over });
    for (const id of ['a', 'b']) await spend(ledger, id, 30n);
    await server.command('FLUSHALL');
    assert.deepEqual(await refusal(ledger), SHORT('Account Week Europe/Berlin', 40n));
  });

  it('comes back from a status', async () => {
    const server = await start();
    const { startMs } = spanAt('Week', Date.now(), ZONE);
    const windows = [{ startMs, spentNanoUsd: 60n }];
    const known: KnownSpending = { keys: [], accounts: [{ account: ACCOUNT, spentNanoUsd: 500n, windows }] };
    const { ledger } = await open(server, { over: { ...over, refillMs: 1_500 }, refill: async () => known });
    assert.deepEqual(await refusal(ledger), SHORT('Account Week Europe/Berlin', 40n));
  });

  it('comes back from a status without what a running call holds since before the window', async () => {
    const server = await start();
    const startMs = Date.UTC(2026, 10, 22, 23);
    let laterMs = startMs - DAY_MS - Date.now();
    const windows = [{ startMs, spentNanoUsd: 60n }];
    let known: KnownSpending = { keys: [], accounts: [] };
    const { ledger } = await open(server, {
      over: { ...LONG_TIMEOUT, refillMs: 1_500, clock: () => Date.now() + laterMs },
      refill: async () => known,
    });
    const read = () => ledger.readAccount(ACCOUNT, [{ kind: 'Week', timeZone: ZONE }]);
    const reads = () =>
      read().then(
        () => true,
        () => false,
      );
    await eventually('it is filled', reads);
    assert.deepEqual(await ledger.admit(holdRequest('across', 50n, { limits: LIMITS })), HELD(50n));
    laterMs += DAY_MS;
    known = { keys: [], accounts: [{ account: ACCOUNT, spentNanoUsd: 500n, windows }] };
    await server.command('FLUSHALL');
    await eventually('it is filled again', async () => (await reads()) && (await read()).spentNanoUsd === 500n);
    const { heldNanoUsd, windows: [week] = [] } = await read();
    assert.deepEqual([heldNanoUsd, week?.spentNanoUsd, week?.heldNanoUsd], [50n, 60n, 0n]);
  });

  it('is put back from its copy', async () => {
    const server = await start();
    const { ledger } = await open(server, { over });
    for (const id of ['a', 'b']) await spend(ledger, id, 30n);
    assert.equal(await server.command('DEL', `{mgw0}:w:a:${ACCOUNT}`), 1);
    assert.deepEqual(await refusal(ledger), SHORT('Account Week Europe/Berlin', 40n));
  });
});

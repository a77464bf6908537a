/** A store that loses everything twice while a gateway is away: nothing is lost, and nothing counts twice. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'vitest';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { valkey } from '../../../../support/valkey.ts';
import type { ValkeyServer } from '../../../../support/valkey.ts';
import { holdRequest, settlement } from '../calls.ts';
import { dataFolder, endScene, eventually, open, start } from './scene.ts';

const ACCOUNT = 'team-a/team-a';
/** Long enough for all processes that have noticed. */
const REFILL_MS = 1_500;
/** Long enough for all running processes. */
const LONG_REFILL_MS = 2_500;

/** `key`: of a key that only this gateway serves. */
async function bill(ledger: Ledger, id: string, cost: bigint, key = 'key-1'): Promise<void> {
  const request = holdRequest(id, cost);
  const origin = { ...request.origin, keyUid: key, createdMs: Date.now() };
  await ledger.admit({ ...request, origin });
  await ledger.settle({ ...settlement(id, cost), origin });
}

/** Resolves when all of them have refilled the store. */
async function loseEverything(server: ValkeyServer, ...ledgers: readonly Ledger[]): Promise<void> {
  await server.command('FLUSHALL');
  for (const ledger of ledgers)
    await eventually('it is filled again', () =>
      ledger.readAccount(ACCOUNT).then(
        () => true,
        () => false,
      ),
    );
}

async function assertBooks(ledger: Ledger, costs: Readonly<Record<string, bigint>>): Promise<void> {
  const total = Object.values(costs).reduce((sum, cost) => sum + cost, 0n);
  await eventually(`${total} are spent`, () =>
    ledger.readAccount(ACCOUNT).then(
      ({ spentNanoUsd }) => spentNanoUsd === total,
      () => false,
    ),
  );
  for (const [id, cost] of Object.entries(costs)) {
    const keyUid = id.startsWith('own') ? 'key-own' : 'key-1';
    assert.equal((await ledger.readUsage(keyUid, id))?.costNanoUsd, cost, id);
  }
  for (const [keyUid, isMine] of [
    ['key-own', true],
    ['key-1', false],
  ] as const) {
    const spent = Object.entries(costs)
      .filter(([id]) => id.startsWith('own') === isMine)
      .reduce((sum, [, cost]) => sum + cost, 0n);
    assert.equal((await ledger.readKey(keyUid, 'Never')).totalSpentNanoUsd, spent, keyUid);
  }
}

describe.skipIf(valkey.skip)('a store that loses everything twice', () => {
  afterEach(endScene);

  /** One gateway that stays, and one that stops after it has billed calls that the other has not seen. */
  const twoGateways = async (refillMs = REFILL_MS) => {
    const server = await start();
    const over = { timeoutMs: 60_000, refillMs };
    const { ledger: stays } = await open(server, { dataDir: await dataFolder(), over });
    const dataDir = await dataFolder();
    const { ledger: goes } = await open(server, { dataDir, over });
    await bill(goes, 'a', 5n);
    await bill(stays, 'b', 7n);
    await bill(goes, 'c', 60n);
    await bill(goes, 'own', 11n, 'key-own');
    await goes.close();
    return { server, stays, comeBack: async () => (await open(server, { dataDir, over })).ledger };
  };
  const BILLED = { a: 5n, b: 7n, c: 60n, own: 11n };

  it('gets the data of a gateway that returns after the second loss', async () => {
    const { server, stays, comeBack } = await twoGateways();
    await loseEverything(server, stays);
    for (const id of ['d', 'e', 'f']) await bill(stays, id, 1n);
    await loseEverything(server, stays);
    const back = await comeBack();
    await assertBooks(back, { ...BILLED, d: 1n, e: 1n, f: 1n });
  });

  it('gets the data of a gateway that returns while the store is filled the second time', async () => {
    const { server, stays, comeBack } = await twoGateways();
    await loseEverything(server, stays);
    for (const id of ['d', 'e', 'f']) await bill(stays, id, 1n);
    await server.command('FLUSHALL');
    await eventually('it is noticed', async () => String(await server.command('HEXISTS', '{mgw0}:e', 'id')) === '1');
    const back = await comeBack();
    await assertBooks(back, { ...BILLED, d: 1n, e: 1n, f: 1n });
  });

  it('gets the data of a gateway that returns before the other has noticed', async () => {
    const { server, stays, comeBack } = await twoGateways(LONG_REFILL_MS);
    await loseEverything(server, stays);
    for (const id of ['d', 'e', 'f']) await bill(stays, id, 1n);
    await server.command('FLUSHALL');
    const back = await comeBack();
    await assertBooks(back, { ...BILLED, d: 1n, e: 1n, f: 1n });
  });

  it('gets the data that a gateway restored late after the first loss', async () => {
    const { server, stays, comeBack } = await twoGateways();
    await loseEverything(server, stays);
    for (const id of ['d', 'e', 'f']) await bill(stays, id, 1n);
    const back = await comeBack();
    await assertBooks(back, { ...BILLED, d: 1n, e: 1n, f: 1n });
    await loseEverything(server, stays, back);
    await assertBooks(back, { ...BILLED, d: 1n, e: 1n, f: 1n });
    await bill(stays, 'g', 2n);
    await loseEverything(server, stays, back);
    await assertBooks(stays, { ...BILLED, d: 1n, e: 1n, f: 1n, g: 2n });
  });
});

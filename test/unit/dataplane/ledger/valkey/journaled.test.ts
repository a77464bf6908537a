/**
 * A settlement while the store does not answer: once the journal has it on disk, the call counts as settled, because
 * the store applies it exactly once later, by this process or by the next one with the same folder.
 */
import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { afterEach, describe, it } from 'vitest';
import type { Ledger } from '#ledger/ledger.ts';
import { valkey } from '../../../../support/valkey.ts';
import type { ValkeyServer } from '../../../../support/valkey.ts';
import { holdRequest, settlement } from '../calls.ts';
import { HELD } from '../contract-scenario.ts';
import { ALWAYS, dataFolder, endScene, eventually, isReady, open, OUTAGES, start } from './scene.ts';

const COST = 50n;

async function running(dataDir?: string): Promise<{ server: ValkeyServer; ledger: Ledger }> {
  const server = await start(ALWAYS);
  const { ledger } = await open(server, dataDir === undefined ? {} : { dataDir });
  assert.deepEqual(await ledger.hold(holdRequest('a', 100n)), HELD(100n));
  return { server, ledger };
}

/** Resolves when the journal has the settlement. The second promise is the store's own answer. */
function settling(ledger: Ledger): { journaled: Promise<void>; settled: Promise<unknown> } {
  const journaled = Promise.withResolvers<void>();
  const settled = ledger.settle(settlement('a', COST), () => journaled.resolve());
  settled.catch(() => undefined);
  return { journaled: journaled.promise, settled };
}

async function assertBilledOnce(ledger: Ledger): Promise<void> {
  await eventually('it is billed', async () => (await ledger.readUsage('key-1', 'a'))?.costNanoUsd === COST);
  assert.equal((await ledger.readUsage('key-1', 'a'))?.status, 'Succeeded');
  assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: COST, heldNanoUsd: 0n });
}

describe.skipIf(valkey.skip)('a settlement that the store does not answer', () => {
  afterEach(endScene);

  for (const [name, outage] of Object.entries(OUTAGES)) {
    it(`is in the journal, and is applied once when the store is back (${name})`, async () => {
      const { server, ledger } = await running(await dataFolder());
      await outage.begin(server);
      const { journaled, settled } = settling(ledger);
      await journaled;
      await outage.end(server);
      await settled;
      await eventually('it is ready', isReady(ledger));
      await assertBilledOnce(ledger);
    });

    it(`is applied once although its process is gone, and although it comes back (${name})`, async () => {
      const [folder, copy] = [await dataFolder(), await dataFolder()];
      const { server, ledger } = await running(folder);
      await outage.begin(server);
      const { journaled, settled } = settling(ledger);
      await journaled;
      // what a process that is killed now leaves
      await cp(folder, copy, { recursive: true });
      await outage.end(server);
      const { ledger: next } = await open(server, { dataDir: copy });
      await assertBilledOnce(next);
      await settled;
      await assertBilledOnce(next);
    });
  }

  it('is not promised without a journal', async () => {
    const { server, ledger } = await running();
    await OUTAGES.hanging.begin(server);
    let promised = false;
    const settled = ledger.settle(settlement('a', COST), () => {
      promised = true;
    });
    await assert.rejects(ledger.hold(holdRequest('b', 1n)));
    await OUTAGES.hanging.end(server);
    await settled;
    assert.equal(promised, false);
  });
});

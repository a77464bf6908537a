/**
 * A settlement while the store does not answer: once the journal has it on disk, the call counts as settled, because
 * the store applies it exactly once later, by this process or by the next one with the same folder.
 */
import assert from 'node:assert/strict';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, it } from 'vitest';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { valkey } from '../../../../support/valkey.ts';
import type { ValkeyServer } from '../../../../support/valkey.ts';
import { holdRequest, settlement } from '../calls.ts';
import { HELD } from '../contract-scenario.ts';
import { ALWAYS, dataFolder, endScene, eventually, isReady, open, OUTAGES, start } from './scene.ts';

const COST = 50n;

async function running(dataDir?: string): Promise<{ server: ValkeyServer; ledger: Ledger }> {
  const server = await start(ALWAYS);
  const { ledger } = await open(server, dataDir === undefined ? {} : { dataDir });
  assert.deepEqual(await ledger.admit(holdRequest('a', 100n)), HELD(100n));
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
    await assert.rejects(ledger.admit(holdRequest('b', 1n)));
    await OUTAGES.hanging.end(server);
    await settled;
    assert.equal(promised, false);
  });
});

describe.skipIf(valkey.skip)('a call whose response is withheld', () => {
  afterEach(endScene);

  async function assertWithheldOnce(ledger: Ledger): Promise<void> {
    await eventually('it is withheld', async () => (await ledger.readUsage('key-1', 'a'))?.status === 'Withheld');
    assert.equal((await ledger.readUsage('key-1', 'a'))?.costNanoUsd, COST);
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: COST, heldNanoUsd: 0n });
  }

  for (const [name, outage] of Object.entries(OUTAGES)) {
    // a hanging store has received the settlement, and takes it later
    it(`has a record that says so, and is billed once (${name})`, async () => {
      const { server, ledger } = await running(await dataFolder());
      await outage.begin(server);
      const settled = ledger.settle(settlement('a', COST));
      ledger.withhold('a');
      await outage.end(server);
      assert.equal((await settled).record.status, 'Withheld');
      await assertWithheldOnce(ledger);
    });

    it(`has such a record also if the next process delivers its settlement (${name})`, async () => {
      const [folder, copy] = [await dataFolder(), await dataFolder()];
      const { server, ledger } = await running(folder);
      await outage.begin(server);
      const { journaled, settled } = settling(ledger);
      await journaled;
      ledger.withhold('a');
      await eventually('the journal says so', async () => {
        await cp(folder, copy, { recursive: true, force: true });
        const texts = await Promise.all(
          (await readdir(copy, { recursive: true, withFileTypes: true }))
            .filter((entry) => entry.isFile())
            .map(({ parentPath, name: file }) => readFile(join(parentPath, file), 'utf8')),
        );
        return texts.some((text) => text.includes('Withheld'));
      });
      await outage.end(server);
      const { ledger: next } = await open(server, { dataDir: copy });
      await assertWithheldOnce(next);
      await settled;
      await assertWithheldOnce(next);
    });
  }

  it('keeps that status in a store that has lost everything', async () => {
    const { server, ledger } = await running(await dataFolder());
    await OUTAGES.hanging.begin(server);
    const settled = ledger.settle(settlement('a', COST));
    ledger.withhold('a');
    await OUTAGES.hanging.end(server);
    await settled;
    await server.command('FLUSHALL');
    await eventually('the store is filled again', () =>
      ledger.readUsage('key-1', 'a').then(
        (record) => record?.status === 'Withheld',
        () => false,
      ),
    );
    await assertWithheldOnce(ledger);
  });

  it('stays as it is once its settlement is complete', async () => {
    const { ledger } = await running();
    await ledger.settle(settlement('a', COST));
    ledger.withhold('a');
    await assertBilledOnce(ledger);
  });
});

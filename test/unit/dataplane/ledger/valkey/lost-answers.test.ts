/** Lost replies, and new thresholds, while gateway and store are disconnected. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { valkey } from '../../../../support/valkey.ts';
import { holdRequest, progress, settlement, slot } from '../calls.ts';
import { HELD } from '../contract-scenario.ts';
import { muteable } from './append-only-file.ts';
import type { Muted } from './append-only-file.ts';
import { ALWAYS, dataFolder, endScene, eventually, isReady, open, OUTAGES, start } from './scene.ts';
import { NOTHING_CONSUMED, NO_TOKENS_LOAD } from '../../../../../dataplane/ledger/load.ts';

const ACCOUNT = 'team-a/team-a';
const KEY = slot('Key', '1', 3);

describe.skipIf(valkey.skip)('a settlement whose reply was lost', () => {
  let between: Muted | undefined;
  afterEach(async () => {
    await endScene();
    await between?.close();
  });

  /** Two calls are settled, and the connection breaks after the store has taken the first settlement. */
  const loseAnswer = async () => {
    const server = await start();
    between = await muteable(server);
    const dataDir = await dataFolder();
    const { ledger } = await open(server, { url: between.url, dataDir, over: { timeoutMs: 60_000 } });
    for (const id of ['a', 'b'])
      assert.deepEqual(await ledger.admit(holdRequest(id, 60n, { progress: progress(5n) })), HELD(60n));
    between.mute();
    const settling = ledger.settle(settlement('a', 50n));
    await eventually(
      'the store has taken it',
      async () => String(await server.command('XLEN', `{mgw0}:s:${ACCOUNT}`)) === '1',
    );
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    between.speak();
    assert.equal((await settling).record.costNanoUsd, 50n);
    return { server, ledger, dataDir, url: between.url };
  };

  for (const after of ['before', 'after'] as const) {
    it(`is restored in a store that loses everything ${after} the next settlement`, async () => {
      const { server, ledger } = await loseAnswer();
      if (after === 'after') await ledger.settle(settlement('b', 7n));
      await server.command('FLUSHALL');
      await eventually('the store is filled again', isReadyAfterLoss(ledger));
      if (after === 'before') await ledger.settle(settlement('b', 7n));
      assert.deepEqual(await ledger.readAccount(ACCOUNT), { spentNanoUsd: 57n, heldNanoUsd: 0n });
      assert.equal((await ledger.readKey('key-1', 'Daily')).spentNanoUsd, 57n);
      const records = await Promise.all(['a', 'b'].map((id) => ledger.readUsage('key-1', id)));
      assert.deepEqual(
        records.map((record) => record?.costNanoUsd),
        [50n, 7n],
      );
    });
  }

  it('is restored by the next process of its gateway, and counts once', async () => {
    const { server, ledger, dataDir, url } = await loseAnswer();
    const over = { timeoutMs: 60_000 };
    const { ledger: other } = await open(server, { dataDir: await dataFolder(), over });
    await other.admit(holdRequest('c', 20n));
    await other.settle(settlement('c', 3n));
    await ledger.settle(settlement('b', 7n));
    await ledger.close();
    await server.command('FLUSHALL');
    const { ledger: next } = await open(server, { url, dataDir, over });
    await eventually('both are ready', () => isReady(next)() && isReady(other)());
    await eventually('the store is filled again', () =>
      next.readAccount(ACCOUNT).then(
        ({ spentNanoUsd }) => spentNanoUsd === 60n,
        () => false,
      ),
    );
    for (const [id, cost] of [
      ['a', 50n],
      ['b', 7n],
      ['c', 3n],
    ] as const)
      assert.equal((await next.readUsage('key-1', id))?.costNanoUsd, cost);
  });
});

function isReadyAfterLoss(ledger: Parameters<typeof isReady>[0]): () => Promise<boolean> {
  // the loss is noticed by the next operation
  return async () =>
    ledger.readAccount(ACCOUNT).then(
      ({ spentNanoUsd }) => spentNanoUsd > 0n,
      () => false,
    );
}

describe.skipIf(valkey.skip)('a threshold that is set while the store is unavailable', () => {
  afterEach(endScene);

  for (const [how, outage] of Object.entries(OUTAGES)) {
    it(`counts the calls that run before anything is admitted under it (${how})`, async () => {
      const server = await start(ALWAYS);
      const { ledger } = await open(server);
      for (const id of ['a', 'b', 'c']) await ledger.admit(holdRequest(id, 10n));
      await outage.begin(server);
      await assert.rejects(ledger.admit(holdRequest('refused', 10n)), LedgerUnavailable);
      for (const id of ['a', 'b', 'c']) ledger.count(id, [KEY]);
      await outage.end(server);
      await eventually('it is ready again', isReady(ledger));
      assert.deepEqual(await ledger.take('d', [KEY], NO_TOKENS_LOAD), { outcome: 'Full', full: KEY });
      await ledger.settle(settlement('a', 1n));
      assert.deepEqual(await ledger.take('d', [KEY], NO_TOKENS_LOAD), { outcome: 'Taken' });
    });

    it(`leaves nothing of a call that ends or leaves its channel meanwhile (${how})`, async () => {
      const server = await start(ALWAYS);
      const { ledger } = await open(server);
      await ledger.admit(holdRequest('a', 10n));
      await ledger.admit(holdRequest('b', 10n));
      await outage.begin(server);
      await assert.rejects(ledger.admit(holdRequest('refused', 10n)), LedgerUnavailable);
      const channel = slot('Channel', 'route/channel', 1);
      for (const id of ['a', 'b']) ledger.count(id, [KEY, channel]);
      ledger.release('a', NOTHING_CONSUMED, ['Group', 'Channel']);
      const settling = ledger.settle(settlement('b', 1n));
      await outage.end(server);
      await settling;
      await eventually('it is ready again', isReady(ledger));
      assert.deepEqual(await ledger.take('c', [channel], NO_TOKENS_LOAD), { outcome: 'Taken' });
      assert.deepEqual(await ledger.take('c', [{ ...KEY, amount: 1 }], NO_TOKENS_LOAD), {
        outcome: 'Full',
        full: { ...KEY, amount: 1 },
      });
      assert.deepEqual(ledger.gauges().slots, { Key: 1, Group: 0, Channel: 1 });
      ledger.release('a', NOTHING_CONSUMED);
      assert.deepEqual(await ledger.take('c', [{ ...KEY, amount: 1 }], NO_TOKENS_LOAD), { outcome: 'Taken' });
    });
  }
});

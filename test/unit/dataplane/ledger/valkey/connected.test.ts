/** The note of connected proxies, on a server and on a Cluster. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { openEmbeddedLedger } from '../../../../../dataplane/ledger/embedded.ts';
import { openValkeyLedger } from '../../../../../dataplane/ledger/valkey.ts';
import { valkey } from '../../../../support/valkey.ts';
import { startValkeyCluster } from '../../../../support/valkey-cluster.ts';
import { dataFolder, endScene, eventually, open, OUTAGES, start } from './scene.ts';

describe.skipIf(valkey.skip)('proxies that are connected to an operator', () => {
  afterEach(endScene);

  it('are known to the others for ten seconds by the clock of the server', async () => {
    const server = await start();
    const [{ ledger: one }, { ledger: two }] = [await open(server), await open(server)];
    assert.equal(await one.othersConnected?.(), false);
    await one.noteConnected?.();
    assert.equal(await one.othersConnected?.(), false, 'its own note says nothing');
    assert.equal(await two.othersConnected?.(), true);
    const restMs = Number(await server.command('PTTL', '{mgw0}:connected'));
    assert.ok(restMs > 5_000 && restMs <= 10_000, String(restMs));
    await two.noteConnected?.();
    assert.equal(await one.othersConnected?.(), true);
    await server.command('PEXPIRE', '{mgw0}:connected', '1');
    await eventually('nobody is noted', async () => (await one.othersConnected?.()) === false);
  });

  it('are unknown while the server is away', async () => {
    const server = await start();
    const { ledger } = await open(server);
    await OUTAGES.killed.begin(server);
    await assert.rejects(async () => ledger.noteConnected?.(), LedgerUnavailable);
    await assert.rejects(async () => ledger.othersConnected?.(), LedgerUnavailable);
    await OUTAGES.killed.end(server);
    await eventually('it is noted', async () => {
      const done = await ledger.noteConnected?.().then(
        () => true,
        () => false,
      );
      return done === true;
    });
  });

  it('are known on a Cluster', async () => {
    await using cluster = await startValkeyCluster();
    const [one, two] = [await openValkeyLedger({ url: cluster.url }), await openValkeyLedger({ url: cluster.url })];
    await one.noteConnected?.();
    assert.equal(await two.othersConnected?.(), true);
    await Promise.all([one.close(), two.close()]);
    await assert.rejects(async () => one.noteConnected?.(), LedgerUnavailable);
  });

  it('are no matter of a ledger in a file', async () => {
    const ledger = await openEmbeddedLedger({ path: `${await dataFolder()}/ledger.db`, sync: 'normal' });
    assert.ok(!('noteConnected' in ledger));
    await ledger.close();
  });
});

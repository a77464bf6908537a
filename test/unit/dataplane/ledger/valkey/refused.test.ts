/** A refused call costs nothing, whatever happens to its gateway; an admitted one is billed. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, it } from 'vitest';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { admit } from '../../../../../dataplane/ledger/valkey/admission.ts';
import { openConnection } from '../../../../../dataplane/ledger/valkey/connection.ts';
import { Instance } from '../../../../../dataplane/ledger/valkey/instance.ts';
import { openJournal } from '../../../../../dataplane/ledger/valkey/journal.ts';
import { parseValkeyUrl } from '../../../../../dataplane/ledger/valkey/location.ts';
import { settle } from '../../../../../dataplane/ledger/valkey/settlements.ts';
import { valkey } from '../../../../support/valkey.ts';
import type { ValkeyServer } from '../../../../support/valkey.ts';
import { DAY_MS, holdRequest, progress, settlement } from '../calls.ts';
import { HELD } from '../contract-scenario.ts';
import { dataFolder, endScene, eventually, open, start } from './scene.ts';
import { LONG_TIMEOUT } from './subject.ts';

const ACCOUNT = 'team-a/team-a';
const NOTHING = { spentNanoUsd: 0n, heldNanoUsd: 0n };

/**
 * A connection to the server that the test can cut: `mute` holds replies back, `end` leaves what a killed gateway
 * leaves.
 */
async function openWay(server: ValkeyServer) {
  const sockets = new Set<Socket>();
  let muted = false;
  const proxy = createServer((near) => {
    const far = connect(server.port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          near.destroy();
          far.destroy();
        });
    }
    near.pipe(far);
    far.on('data', (data) => {
      if (!muted) near.write(data);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  return {
    url: `valkey://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    mute: () => {
      muted = true;
    },
    unmute: () => {
      muted = false;
    },
    /** Closes the connections: held replies are lost. */
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    end: () => {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const ended: (() => void)[] = [];

/** A gateway's ledger, over a connection of its own. Its process can only end like a killed one. */
async function joinFleet(server: ValkeyServer, timeoutMs = 200) {
  const way = await openWay(server);
  const location = parseValkeyUrl(way.url);
  const connection = openConnection(location);
  const folder = join(await dataFolder(), 'ledger-journal');
  const journal = await openJournal({
    folder,
    onFault: (error) => {
      throw error;
    },
  });
  const settings = {
    ...LONG_TIMEOUT,
    leaseMs: 25_000,
    timeoutMs,
    instance: randomUUID(),
    keepMs: DAY_MS,
    records: 100,
    lenient: false,
    clock: undefined,
  };
  const instance = new Instance({
    location,
    connection,
    settings,
    journal,
    onEvent: () => undefined,
    refill: undefined,
  });
  instance.start();
  await eventually('it is ready', () => instance.health().ok);
  const die = (): void => {
    way.end();
    connection.close();
  };
  ended.push(die);
  return { instance, way, die, id: settings.instance };
}

/** Makes another gateway find it dead. */
async function reap(server: ValkeyServer, id: string, other: Ledger): Promise<void> {
  const declareSilent = () => server.command('HSET', '{mgw0}:i', id, `${Date.now() - 60_000},1000000`);
  await declareSilent();
  await eventually('it is reaped', async () => {
    if ((await other.readAccount(ACCOUNT)).heldNanoUsd === 0n) return true;
    await declareSilent(); // a gateway that is only muted may have been heard of since
    return false;
  });
  await eventually(
    'its lists are gone',
    async () => String(await server.command('EXISTS', `{mgw0}:o:${id}`, `{mgw0}:u:${id}`)) === '0',
  );
}

describe.skipIf(valkey.skip)('a call whose hold was confirmed too late', () => {
  afterEach(async () => {
    for (const die of ended.splice(0)) die();
    await endScene();
  });

  const refusedCall = async (server: ValkeyServer, callId = 'a') => {
    const gateway = await joinFleet(server);
    gateway.way.mute();
    await assert.rejects(
      admit(gateway.instance, holdRequest(callId, 60n, { progress: progress(5n) })),
      LedgerUnavailable,
    );
    await eventually(
      'the store has it',
      async () => String(await server.command('EXISTS', `{mgw0}:c:${callId}`)) === '1',
    );
    return gateway;
  };

  it('costs nothing when its gateway is killed then', async () => {
    const server = await start();
    const { ledger: other } = await open(server);
    const { die, id } = await refusedCall(server);
    die();
    await reap(server, id, other);
    assert.deepEqual(await other.readAccount(ACCOUNT), NOTHING);
    assert.equal(await other.readUsage('key-1', 'a'), undefined);
  });

  it('costs nothing when its gateway is disconnected for longer than its lease, and returns', async () => {
    const server = await start();
    const { ledger: other } = await open(server);
    const { way, id } = await refusedCall(server);
    await reap(server, id, other);
    way.unmute();
    way.cut();
    await eventually('it is withdrawn', async () => String(await server.command('GET', '{mgw0}:c:a')) === 'W');
    assert.deepEqual(await other.readAccount(ACCOUNT), NOTHING);
    assert.equal(await other.readUsage('key-1', 'a'), undefined);
  });
});

describe.skipIf(valkey.skip)('a call whose hold was confirmed in time', () => {
  afterEach(async () => {
    for (const die of ended.splice(0)) die();
    await endScene();
  });

  it('is billed as Abandoned when its gateway is killed at once', async () => {
    const server = await start();
    const { ledger: other } = await open(server);
    const { instance, die, id } = await joinFleet(server, 60_000);
    assert.deepEqual(await admit(instance, holdRequest('a', 60n, { progress: progress(5n) })), HELD(60n));
    die();
    await reap(server, id, other);
    assert.deepEqual(await other.readAccount(ACCOUNT), { spentNanoUsd: 5n, heldNanoUsd: 0n });
    assert.equal((await other.readUsage('key-1', 'a'))?.status, 'Abandoned');
  });

  it('is billed as Abandoned also if the store lost the confirmation before its gateway is killed', async () => {
    const server = await start();
    const { ledger: other } = await open(server);
    const { instance, die, id } = await joinFleet(server, 60_000);
    await admit(instance, holdRequest('a', 60n, { progress: progress(5n) }));
    const confirmed = async (): Promise<boolean> =>
      String(await server.command('SISMEMBER', `{mgw0}:o:${id}`, 'a')) === '1';
    await eventually('it is confirmed', confirmed);
    await server.command('SMOVE', `{mgw0}:o:${id}`, `{mgw0}:u:${id}`, 'a');
    // a batch older than the latest acknowledged one
    await server.command('HSET', '{mgw0}:i', id, `${Date.now()},0`);
    await eventually('it is confirmed again', confirmed);
    await eventually('the other gateway follows', () =>
      other.readAccount(ACCOUNT).then(
        () => true,
        () => false,
      ),
    );
    die();
    await reap(server, id, other);
    assert.deepEqual(await other.readAccount(ACCOUNT), { spentNanoUsd: 5n, heldNanoUsd: 0n });
  });

  for (const [what, credit, billed] of [
    ['what it cost', 100n, 50n],
    ['what is free', 80n, 30n],
  ] as const) {
    it(`is billed ${what} by its gateway if the reaper dropped its hold without a confirmation`, async () => {
      const server = await start();
      const { ledger: other } = await open(server);
      const { instance, way, id } = await joinFleet(server, 60_000);
      const limits = { accountCreditNanoUsd: credit };
      await admit(instance, holdRequest('a', 60n, { limits, progress: progress(5n) }));
      // as if the store had never got the confirmation
      await eventually(
        'it is confirmed',
        async () => String(await server.command('SISMEMBER', `{mgw0}:o:${id}`, 'a')) === '1',
      );
      way.mute();
      await server.command('SMOVE', `{mgw0}:o:${id}`, `{mgw0}:u:${id}`, 'a');
      await reap(server, id, other);
      assert.deepEqual(await other.readAccount(ACCOUNT), NOTHING);
      await other.admit(holdRequest('b', 50n, { limits }));
      way.unmute();
      way.cut();
      const { record } = await settle(instance, settlement('a', 50n, { status: 'Succeeded' }));
      assert.deepEqual(
        [record.status, record.costNanoUsd, record.unbilledNanoUsd],
        ['Succeeded', billed, 50n - billed],
      );
      assert.deepEqual(await other.readAccount(ACCOUNT), { spentNanoUsd: billed, heldNanoUsd: 50n });
      await other.settle(settlement('b', 0n));
    });
  }
});

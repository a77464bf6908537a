/**
 * Operations in flight when a ledger is closed, or when the server loses them: the next process delivers them, once.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, describe, test } from 'vitest';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { admit } from '../../../../../dataplane/ledger/valkey/admission.ts';
import { Instance } from '../../../../../dataplane/ledger/valkey/instance.ts';
import { openJournal } from '../../../../../dataplane/ledger/valkey/journal.ts';
import type { PendingSettlement } from '../../../../../dataplane/ledger/valkey/journal-line.ts';
import { openConnection } from '../../../../../dataplane/ledger/valkey/connection.ts';
import type { ValkeyConnection } from '../../../../../dataplane/ledger/valkey/connection.ts';
import { parseValkeyUrl } from '../../../../../dataplane/ledger/valkey/location.ts';
import { settle } from '../../../../../dataplane/ledger/valkey/settlements.ts';
import { valkey } from '../../../../support/valkey.ts';
import type { ValkeyServer } from '../../../../support/valkey.ts';
import { DAY_MS, holdRequest, origin, progress, settlement } from '../calls.ts';
import { HELD } from '../contract-scenario.ts';
import { ALWAYS, dataFolder, endScene, eventually, open, OUTAGES, start } from './scene.ts';
import { LONG_TIMEOUT } from './subject.ts';

const ACCOUNT = 'team-a/team-a';
/** How long a settlement waits before it is written to the journal in any case. */
const WAITING_MS = 100;

function fault(error: unknown): never {
  throw new Error('the journal cannot be written', { cause: error });
}

/** A process of the fleet, which the test closes. `over`: its connection to the server. */
async function joinFleet(
  server: ValkeyServer,
  dataDir: string,
  over: (connection: ValkeyConnection) => Partial<ValkeyConnection> = () => ({}),
): Promise<Instance> {
  const location = parseValkeyUrl(server.url);
  const connection = openConnection(location);
  const journal = await openJournal({ folder: join(dataDir, 'ledger-journal'), onFault: fault });
  const settings = {
    ...LONG_TIMEOUT,
    instance: randomUUID(),
    keepMs: DAY_MS,
    records: 100,
    lenient: false,
    clock: undefined,
  };
  const instance = new Instance({
    location,
    connection: { ...connection, ...over(connection) },
    settings,
    journal,
    onEvent: () => undefined,
    refill: undefined,
  });
  instance.start();
  await eventually('it is ready', () => instance.health().ok);
  return instance;
}

/** The settlements that the folder's next process must deliver. */
async function leftIn(dataDir: string): Promise<readonly PendingSettlement[]> {
  const journal = await openJournal({ folder: join(dataDir, 'ledger-journal'), onFault: fault });
  await journal.close();
  return journal.undelivered;
}

/** Opens the next process on the folder, once the call's record has its 50 nano-USD. */
async function nextDelivers(server: ValkeyServer, dataDir: string): Promise<Ledger> {
  const { ledger } = await open(server, { dataDir });
  await eventually('it is delivered', async () => (await ledger.readUsage('key-1', 'a'))?.costNanoUsd === 50n);
  return ledger;
}

/** Closes at once, while the settlement still waits to be written. */
async function closeAtOnce(instance: Instance, refused: Promise<unknown>): Promise<void> {
  const beganMs = performance.now();
  const closing = instance.close(0);
  const tookMs = performance.now() - beganMs;
  await Promise.all([assert.rejects(refused, LedgerUnavailable), closing]);
  assert.ok(tookMs < WAITING_MS);
}

describe.skipIf(valkey.skip)('a ledger that is closed', () => {
  afterEach(endScene);

  for (const [how, outage] of [
    ['is away', OUTAGES.killed],
    ['hangs', OUTAGES.hanging],
  ] as const) {
    test(`while the server ${how} has its settlement delivered by the next process, once`, async () => {
      const server = await start(ALWAYS);
      const dataDir = await dataFolder();
      const first = await joinFleet(server, dataDir);
      assert.deepEqual(await admit(first, holdRequest('a', 60n, { progress: progress(5n) })), HELD(60n));
      await outage.begin(server);
      const settling = settle(first, settlement('a', 50n));
      // on its way
      await new Promise(setImmediate);
      await closeAtOnce(first, settling);
      assert.deepEqual(
        (await leftIn(dataDir)).map(({ callId }) => callId),
        ['a'],
      );
      await outage.end(server);
      for (let round = 0; round < 2; round++) {
        const { ledger } = await open(server, { dataDir });
        await eventually('it is delivered', async () => (await ledger.readUsage('key-1', 'a'))?.status === 'Succeeded');
        assert.deepEqual(await ledger.readAccount(ACCOUNT), { spentNanoUsd: 50n, heldNanoUsd: 0n });
        await ledger.close();
      }
      assert.deepEqual(await leftIn(dataDir), []);
    });
  }

  test('delivers what it had not sent by the next process', async () => {
    const server = await start();
    const dataDir = await dataFolder();
    const first = await joinFleet(server, dataDir);
    await admit(first, holdRequest('a', 60n));
    await closeAtOnce(first, settle(first, settlement('a', 50n)));
    await nextDelivers(server, dataDir);
  });

  test('delivers the settlement of a call that another process holds', async () => {
    const server = await start(ALWAYS);
    const dataDir = await dataFolder();
    const { ledger: other } = await open(server, { over: LONG_TIMEOUT });
    await other.admit(holdRequest('a', 60n));
    const first = await joinFleet(server, dataDir);
    await server.kill();
    await closeAtOnce(first, settle(first, settlement('a', 50n)));
    await server.start();
    await nextDelivers(server, dataDir);
  });

  test('bills nothing for a hold without a response', async () => {
    const server = await start();
    const dataDir = await dataFolder();
    const first = await joinFleet(server, dataDir);
    server.signal('SIGSTOP');
    const asked = admit(first, holdRequest('a', 60n, { progress: progress(5n) }));
    await new Promise(setImmediate);
    await closeAtOnce(first, asked);
    server.signal('SIGCONT');
    const { ledger } = await open(server, { dataDir });
    await eventually('it is withdrawn', async () => String(await server.command('GET', '{mgw0}:c:a')) === 'W');
    assert.deepEqual(await ledger.readAccount(ACCOUNT), { spentNanoUsd: 0n, heldNanoUsd: 0n });
    await ledger.close();
    assert.deepEqual(await leftIn(dataDir), []);
  });

  test('delivers a settlement at which the script has failed', async () => {
    const server = await start();
    const dataDir = await dataFolder();
    const first = await joinFleet(server, dataDir);
    await admit(first, holdRequest('a', 60n));
    await server.command('SET', `{mgw0}:s:${ACCOUNT}`, 'no stream');
    await assert.rejects(settle(first, settlement('a', 50n)), /failed at settle/);
    await first.close(0);
    assert.deepEqual(
      (await leftIn(dataDir)).map(({ callId }) => callId),
      ['a'],
    );
    await server.command('DEL', `{mgw0}:s:${ACCOUNT}`);
    const ledger = await nextDelivers(server, dataDir);
    assert.deepEqual(await ledger.readAccount(ACCOUNT), { spentNanoUsd: 50n, heldNanoUsd: 0n });
  });

  test('delivers a settlement between the two steps of a lost hold', async () => {
    const server = await start();
    const dataDir = await dataFolder();
    const adopting = Promise.withResolvers<void>();
    const first = await joinFleet(server, dataDir, (connection) => ({
      run: (base, batch) => {
        if (!batch.includes('adopt')) return connection.run(base, batch);
        adopting.resolve();
        return new Promise(() => undefined);
      },
    }));
    await admit(first, holdRequest('a', 60n));
    await server.command('DEL', '{mgw0}:c:a', '{mgw0}:k:key-1', `{mgw0}:a:${ACCOUNT}`, '{mgw0}:copies');
    const settling = settle(first, settlement('a', 50n));
    await adopting.promise;
    await closeAtOnce(first, settling);
    const ledger = await nextDelivers(server, dataDir);
    assert.deepEqual(await ledger.readAccount(ACCOUNT), { spentNanoUsd: 50n, heldNanoUsd: 0n });
  });
});

describe.skipIf(valkey.skip)('a lost reply', () => {
  afterEach(endScene);

  for (const lost of ['settle', 'adopt']) {
    test(`to the step ${lost} counts the settlement once`, async () => {
      const server = await start();
      let dropped = 0;
      const first = await joinFleet(server, await dataFolder(), (connection) => ({
        async run(base, batch) {
          const reply = await connection.run(base, batch);
          if (batch.includes(`"op":"${lost}"`) && dropped++ === 0) throw new Error('the connection is gone');
          return reply;
        },
      }));
      await admit(first, holdRequest('a', 60n));
      await server.command('DEL', '{mgw0}:c:a', '{mgw0}:k:key-1', `{mgw0}:a:${ACCOUNT}`, '{mgw0}:copies');
      const { record } = await settle(first, settlement('a', 50n, { origin: origin('a') }));
      assert.equal(record.costNanoUsd, 50n);
      assert.ok(dropped > 0);
      const { ledger } = await open(server);
      assert.deepEqual(await ledger.readAccount(ACCOUNT), { spentNanoUsd: 50n, heldNanoUsd: 0n });
      await first.close(0);
    });
  }
});

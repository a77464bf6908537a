/** A store in which holds of running calls are missing, deleted or evicted, although it has everything else. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'vitest';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { valkey } from '../../../../support/valkey.ts';
import type { ValkeyServer } from '../../../../support/valkey.ts';
import { brief, holdRequest, progress, settlement } from '../calls.ts';
import { HELD, SHORT } from '../contract-scenario.ts';
import { endScene, eventually, open, start } from './scene.ts';
import type { Event } from './scene.ts';

const ACCOUNT = 'team-a/team-a';
const limits = { keyLimitNanoUsd: 1_000n, accountCreditNanoUsd: 1_000n };
const over = { timeoutMs: 60_000, refillMs: 300 };
/** Instances die fast. */
const mortal = { over: { ...over, leaseMs: 1_500 } };

async function assertSpending(ledger: Ledger, spent: bigint, held: bigint): Promise<void> {
  assert.deepEqual(await ledger.readAccount(ACCOUNT), { spentNanoUsd: spent, heldNanoUsd: held });
  for (const period of ['Never', 'Daily', 'Monthly'] as const) {
    const { spentNanoUsd, heldNanoUsd } = await ledger.readKey('key-1', period);
    assert.deepEqual([spentNanoUsd, heldNanoUsd], [spent, held], period);
  }
}

async function lose(server: ValkeyServer, callId: string): Promise<void> {
  assert.equal(await server.command('DEL', `{mgw0}:c:${callId}`), 1);
}

const lostIn = (events: readonly Event[]): string[] =>
  events.flatMap((event) => (event.kind === 'LostValues' ? event.names : []));

async function isConfirmed(server: ValkeyServer): Promise<boolean> {
  return (await server.command('KEYS', '{mgw0}:u:*'))?.toString() === '';
}

describe.skipIf(valkey.skip)('a store that has lost a hold', () => {
  afterEach(endScene);

  it('settles its call as if nothing were lost, and says so', async () => {
    const server = await start();
    const { ledger, events } = await open(server, { over });
    assert.deepEqual(await ledger.admit(holdRequest('a', 600n, { limits })), HELD(600n));
    await lose(server, 'a');
    assert.deepEqual(brief(await ledger.admit(holdRequest('b', 401n, { limits }))), SHORT('Key', 400n));
    assert.equal((await ledger.settle(settlement('a', 250n))).record.costNanoUsd, 250n);
    await assertSpending(ledger, 250n, 0n);
    assert.deepEqual(await ledger.admit(holdRequest('c', 750n, { limits })), HELD(750n));
    assert.deepEqual(lostIn(events), ['c:a']);
  });

  it('replaces it by a later hold of its call', async () => {
    const server = await start();
    const { ledger } = await open(server, { over });
    await ledger.admit(holdRequest('a', 600n, { limits }));
    await lose(server, 'a');
    assert.deepEqual(await ledger.admit(holdRequest('a', 900n, { limits })), HELD(900n));
    await assertSpending(ledger, 0n, 900n);
    await ledger.settle(settlement('a', 1n));
    await assertSpending(ledger, 1n, 0n);
  });

  it('keeps its latest progress, by which a reaper bills it', async () => {
    const server = await start();
    const { ledger: dying } = await open(server, mortal);
    const { ledger, events } = await open(server, mortal);
    await dying.admit(holdRequest('a', 80n, { limits }));
    await dying.recordProgress(new Map([['a', progress(33n)]]));
    await eventually('it is confirmed', () => isConfirmed(server));
    await dying.close();
    await lose(server, 'a');
    await eventually('it is reaped', async () => (await ledger.readUsage('key-1', 'a'))?.status === 'Abandoned');
    await assertSpending(ledger, 33n, 0n);
    assert.deepEqual([...new Set(lostIn(events))], ['c:a']);
  });

  it('knows that its call runs', async () => {
    const server = await start();
    const { ledger } = await open(server, { over });
    await ledger.admit(holdRequest('a', 80n, { limits }));
    await lose(server, 'a');
    const { ledger: other } = await open(server, { over });
    assert.equal((await other.readUsage('key-1', 'a'))?.status, 'Running');
  });

  it('puts its call back on the list of its process with the next progress', async () => {
    const server = await start();
    const { ledger: dying } = await open(server, mortal);
    const { ledger } = await open(server, mortal);
    await dying.admit(holdRequest('a', 80n, { limits }));
    await eventually('it is confirmed', () => isConfirmed(server));
    const list = String(await server.command('KEYS', '{mgw0}:o:*'));
    assert.equal(await server.command('DEL', list), 1);
    await dying.recordProgress(new Map([['a', progress(7n)]]));
    assert.equal(await server.command('SISMEMBER', list, 'a'), 1);
    await dying.close();
    await eventually('it is reaped', async () => (await ledger.readUsage('key-1', 'a'))?.status === 'Abandoned');
    await assertSpending(ledger, 7n, 0n);
  });

  it('has no copy of a hold that has ended', async () => {
    const server = await start();
    const { ledger } = await open(server, { over });
    await ledger.admit(holdRequest('a', 80n, { limits }));
    assert.equal(await server.command('HEXISTS', '{mgw0}:copies', 'c:a'), 1);
    await ledger.settle(settlement('a', 1n));
    assert.equal(await server.command('HEXISTS', '{mgw0}:copies', 'c:a'), 0);
  });
});

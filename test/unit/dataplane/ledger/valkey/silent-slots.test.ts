/** The slots of a gateway that is suspended or disconnected for longer than its lease. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'vitest';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { valkey } from '../../../../support/valkey.ts';
import type { ValkeyServer } from '../../../../support/valkey.ts';
import { slot } from '../calls.ts';
import { muteable } from './append-only-file.ts';
import { endScene, eventually, isReady, open, start } from './scene.ts';
import { NOTHING_CONSUMED, NO_TOKENS_LOAD } from '../../../../../dataplane/ledger/load.ts';

const KEY = slot('Key', '1', 1);
const TAKEN = { outcome: 'Taken' };
const FULL = { outcome: 'Full', full: KEY };
const over = { leaseMs: 1_500 };

const ends: (() => Promise<void>)[] = [];

/** One gateway has the only slot of a key, and stays silent. */
async function silence() {
  const server = await start();
  const between = await muteable(server);
  ends.push(() => between.close());
  const { ledger: silent } = await open(server, { url: between.url, over });
  const { ledger: other } = await open(server, { over });
  assert.deepEqual(await silent.take('a', [KEY], NO_TOKENS_LOAD), TAKEN);
  assert.deepEqual(await other.take('b', [KEY], NO_TOKENS_LOAD), FULL);
  between.mute();
  await assert.rejects(silent.readAccount('team-a/team-a'));
  const speak = async (): Promise<void> => {
    between.speak();
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually('both are ready', () => isReady(silent)() && isReady(other)());
  };
  return { server, silent, other, speak };
}

async function leaseEnds(server: ValkeyServer): Promise<void> {
  await eventually(
    'the lease ends',
    async () => String(await server.command('ZCOUNT', '{mgw0}:z:key/1', String(Date.now()), '+inf')) === '0',
  );
}

/** The ticks of the gateway renew what it has. */
async function ticks(server: ValkeyServer, ledger: Ledger): Promise<void> {
  const seen = new Set<string>();
  await eventually('it has renewed its slots', async () => {
    await ledger.readAccount('team-a/team-a');
    seen.add(String(await server.command('ZSCORE', '{mgw0}:z:key/1', 'a')));
    return seen.size > 2;
  });
}

describe.skipIf(valkey.skip)('a slot of a gateway that was silent for longer than its lease', () => {
  afterEach(async () => {
    await endScene();
    for (const end of ends.splice(0)) await end();
  });

  it('can be taken by another, and stays taken when the gateway returns', async () => {
    const { server, silent, other, speak } = await silence();
    await leaseEnds(server);
    assert.deepEqual(await other.take('b', [KEY], NO_TOKENS_LOAD), TAKEN);
    await speak();
    assert.deepEqual(await silent.take('c', [KEY], NO_TOKENS_LOAD), FULL);
    assert.equal(await server.command('ZSCORE', '{mgw0}:z:key/1', 'a'), null);
    // the earlier call ends
    silent.release('a', NOTHING_CONSUMED);
    assert.deepEqual(await silent.take('c', [KEY], NO_TOKENS_LOAD), FULL);
    other.release('b', NOTHING_CONSUMED);
    assert.deepEqual(await other.take('c', [KEY], NO_TOKENS_LOAD), TAKEN);
  });

  it('belongs to the gateway again if nobody took it, and is freed when its call ends', async () => {
    const { server, silent, other, speak } = await silence();
    await leaseEnds(server);
    await speak();
    await ticks(server, silent);
    assert.deepEqual(await other.take('b', [KEY], NO_TOKENS_LOAD), FULL);
    silent.release('a', NOTHING_CONSUMED);
    assert.deepEqual(await silent.take('c', [KEY], NO_TOKENS_LOAD), TAKEN);
  });
});

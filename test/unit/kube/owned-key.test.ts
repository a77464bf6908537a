/** A key in a Secret of the gateway: who creates it, and with what a deleted Secret is restored. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { KubeJson, KubeRequest } from '#kube/client.ts';
import { KubeError } from '#kube/errors.ts';
import { keepOwnedKey } from '#kube/owned-key.ts';
import { NO_LOG, NO_METER, fakeClock, quietWatch } from '../operator/fake-clock.ts';

const BYTES = 32;
const LOOK_AGAIN_MS = 1_000;

interface StoredSecret {
  readonly metadata: { readonly uid: string };
  readonly data: Readonly<Record<string, string>>;
}

function setUp(restoresFirst: boolean, leads = true) {
  const state: { secret: StoredSecret | undefined; leads: boolean; writes: number } = {
    secret: undefined,
    leads,
    writes: 0,
  };
  const keys: { readonly key: string; readonly isFirst: boolean }[] = [];
  const restored: string[] = [];
  const clock = fakeClock();
  const key = keepOwnedKey({
    ownership: {
      client: {
        request({ method, path, body }: KubeRequest): Promise<KubeJson> {
          if (path.includes('fieldSelector')) return Promise.resolve({ metadata: {}, items: [] });
          if (method === 'POST') {
            state.writes += 1;
            const { data } = body as Pick<StoredSecret, 'data'>;
            state.secret = { metadata: { uid: `${state.writes}` }, data };
          }
          return state.secret ? Promise.resolve(state.secret) : Promise.reject(new KubeError('no', { status: 404 }));
        },
        watch: quietWatch,
      },
      clock,
      meter: NO_METER,
      log: NO_LOG,
      namespace: 'gateway',
      leading: () => state.leads,
      onRestored: ({ name }) => restored.push(name),
    },
    secret: 'own',
    entry: 'key',
    bytes: BYTES,
    restoresFirst,
    onKey: (found, isFirst) => keys.push({ key: found.toString('base64'), isFirst }),
  });
  const look = async (): Promise<void> => {
    key.look();
    await clock.pass(0);
  };
  return { state, keys, restored, clock, key, look };
}

const secretWith = (key: Buffer): StoredSecret => ({
  metadata: { uid: 'by hand' },
  data: { key: Buffer.from(key.toString('base64')).toString('base64') },
});

describe('a key in a Secret', () => {
  it('is restored as it was at first, though another one was in the Secret meanwhile', async () => {
    const { state, keys, restored, key, look } = setUp(true);
    const first = (await key.first).toString('base64');
    assert.deepEqual(restored, [], 'the first creation restores nothing');
    const other = Buffer.alloc(BYTES, 7);
    state.secret = secretWith(other);
    await look();
    state.secret = undefined;
    await look();
    assert.deepEqual(keys, [
      { key: first, isFirst: true },
      { key: other.toString('base64'), isFirst: false },
      { key: first, isFirst: false },
    ]);
    assert.deepEqual([state.writes, restored], [2, ['own']]);
    await key.stop();
  });

  it('is another one after a deletion if old ones are not to come back', async () => {
    const { state, keys, restored, key, look } = setUp(false);
    const first = (await key.first).toString('base64');
    state.secret = undefined;
    await look();
    assert.deepEqual(
      keys.map(({ isFirst }) => isFirst),
      [true, false],
    );
    assert.notEqual(keys[1]?.key, first);
    assert.deepEqual([state.writes, restored], [2, ['own']]);
    await key.stop();
  });

  it('is created by the leader only, and looked for until it is there', async () => {
    const { state, keys, key, clock } = setUp(true, false);
    await clock.pass(10 * LOOK_AGAIN_MS);
    assert.deepEqual([state.writes, keys], [0, []]);
    state.leads = true;
    await clock.pass(LOOK_AGAIN_MS);
    assert.deepEqual([state.writes, keys.length, (await key.first).length], [1, 1, BYTES]);
    await key.stop();
  });
});

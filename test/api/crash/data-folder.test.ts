/** The data folder is locked by one process at a time, and survives it. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { assertBalanced, readBooks } from '../../support/api/books.ts';
import { ask, nanoUsd, usage } from '../../support/api/client.ts';
import { answerNumbered, createScene, keyOf, numberedCall } from '../../support/api/scene.ts';
import type { Scene } from '../../support/api/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await createScene({ keys: [{ name: 'one' }], creditUsd: '100' });
  scene.provider.script(answerNumbered);
});
afterAll(() => scene.remove());

const KEY = keyOf('one');

describe('a data folder', () => {
  it('is refused to a second process with a clear error, while the first continues', async () => {
    const first = await scene.home.start();
    await assert.rejects(scene.home.start(), (error: Error) => {
      assert.match(error.message, /ledger .*ledger\.db is in use by another process/);
      assert.match(error.message, /--data/);
      assert.doesNotMatch(error.message, /\n {4}at /, 'a stack is shown');
      return true;
    });
    assert.equal((await ask(first.url, { ...numberedCall(0), key: KEY })).status, 200);
    // whatever ends its owner, the next process gets the lock
    await first.kill();
    await (await scene.home.start()).terminate();
  });

  it('works with --ledger-sync full, and keeps the cost of a call after a kill', async () => {
    const first = await scene.home.start('--ledger-sync', 'full');
    const call = numberedCall(1);
    const seen = await ask(first.url, { ...call, key: KEY });
    await first.kill();
    assert.equal(seen.status, 200, seen.text);
    const second = await scene.home.start('--ledger-sync', 'full');
    assert.equal(nanoUsd((await usage(second.url, KEY, seen.id)).body.cost_usd), call.costNanoUsd);
    await second.terminate();
    assertBalanced(readBooks(scene.home.dataDir));
  });
});

/** The times of token requests, and the effect of a failing token service on calls. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { createTokenSource } from '../../../../../dataplane/upstream/sign-in/token-source.ts';
import type { Issued } from '../../../../../dataplane/upstream/sign-in/token-source.ts';

const LIFE_MS = 3_600_000;

function scene(random = 0): {
  readonly source: ReturnType<typeof createTokenSource<string>>;
  readonly asked: PromiseWithResolvers<Issued<string>>[];
  readonly answer: (index: number, value: string) => Promise<void>;
  readonly at: (ms: number) => void;
} {
  let now = 0;
  const asked: PromiseWithResolvers<Issued<string>>[] = [];
  const source = createTokenSource(
    () => {
      const pending = Promise.withResolvers<Issued<string>>();
      asked.push(pending);
      return pending.promise;
    },
    { nowMs: () => now, random: () => random },
  );
  return {
    source,
    asked,
    answer: async (index, value) => {
      asked[index]?.resolve({ value, expiresAtMs: now + LIFE_MS });
      await Promise.resolve();
      await Promise.resolve();
    },
    at: (ms) => {
      now = ms;
    },
  };
}

describe('a token source', () => {
  it('sends one request for all waiting calls', async () => {
    const { source, asked, answer } = scene();
    const calls = [source.get(), source.get(), source.get()];
    await answer(0, 'one');
    assert.deepEqual(await Promise.all(calls), ['one', 'one', 'one']);
    assert.equal(asked.length, 1);
  });
  it('renews after 70 to 80 % of the lifetime, while the old token is used', async () => {
    for (const [random, share] of [
      [0, 0.8],
      [0.999, 0.7001],
    ] as const) {
      const { source, asked, answer, at } = scene(random);
      const first = source.get();
      await answer(0, 'one');
      await first;
      at(LIFE_MS * (share - 0.001));
      assert.equal(await source.get(), 'one');
      assert.equal(asked.length, 1);
      at(LIFE_MS * (share + 0.001));
      assert.equal(await source.get(), 'one');
      assert.equal(await source.get(), 'one');
      assert.equal(asked.length, 2);
      await answer(1, 'two');
      assert.equal(await source.get(), 'two');
    }
  });
  it('uses the old token to its end if it cannot be renewed, and then fails', async () => {
    const { source, asked, answer, at } = scene();
    const first = source.get();
    await answer(0, 'one');
    await first;
    at(LIFE_MS * 0.9);
    assert.equal(await source.get(), 'one');
    asked[1]?.reject(new Error('down'));
    assert.equal(await source.get(), 'one');
    at(LIFE_MS);
    const late = source.get();
    asked[2]?.reject(new Error('still down'));
    await assert.rejects(late, /still down/);
  });
  it('fails at once for a second after a failure, and then tries again', async () => {
    const { source, asked, answer, at } = scene();
    const failing = source.get();
    asked[0]?.reject(new Error('down'));
    await assert.rejects(failing, /down/);
    at(999);
    await assert.rejects(source.get(), /down/);
    assert.equal(asked.length, 1);
    at(1000);
    const next = source.get();
    await answer(1, 'one');
    assert.equal(await next, 'one');
  });
  it('drops a refused token, but not the one that replaced it', async () => {
    const { source, asked, answer } = scene();
    const first = source.get();
    await answer(0, 'one');
    await first;
    source.refuse('one');
    const second = source.get();
    await answer(1, 'two');
    assert.equal(await second, 'two');
    source.refuse('one');
    assert.equal(await source.get(), 'two');
    assert.equal(asked.length, 2);
  });
});

/** The timeout of waiting for the ledger. */
import assert from 'node:assert/strict';
import { test, vi } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { withTimeout } from '../../../../dataplane/pipeline/settle.ts';

vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

const never = new Promise<never>(() => undefined);

test('work that ends in time has its own result or error', async () => {
  assert.equal(await withTimeout(100, Promise.resolve('done')), 'done');
  const failure = new LedgerUnavailable('no disk');
  await assert.rejects(withTimeout(100, Promise.reject(failure)), failure);
});

test('each call has its own timeout', async () => {
  const done = Promise.withResolvers<string>();
  const first = assert.rejects(withTimeout(100, never), LedgerUnavailable);
  vi.advanceTimersByTime(60);
  const second = withTimeout(100, done.promise);
  const third = assert.rejects(withTimeout(100, never), LedgerUnavailable);
  vi.advanceTimersByTime(40);
  await first;
  done.resolve('second');
  assert.equal(await second, 'second');
  vi.advanceTimersByTime(60);
  await third;
});

test('work that fails too late is ignored', async () => {
  const late = Promise.withResolvers<string>();
  const timedOut = assert.rejects(withTimeout(0, late.promise), LedgerUnavailable);
  vi.advanceTimersByTime(1);
  await timedOut;
  late.reject(new Error('later still'));
});

/** Waiting for the ledger, but not for ever. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LedgerUnavailable } from '../../../dataplane/ledger/ledger.ts';
import { createPatience } from '../../../dataplane/pipeline/patience.ts';
import { moveClock } from '../../support/moved-clock.ts';

const clock = moveClock();

const told = (work: Promise<unknown>): Promise<unknown> => work.then((result) => result, (error: unknown) => error);

test('work that is done in time is its result, or its own failure', async () => {
  const within = createPatience();
  assert.equal(await within(100, Promise.resolve('done')), 'done');
  const failure = new LedgerUnavailable('no disk');
  assert.equal(await told(within(100, Promise.reject(failure))), failure);
  clock.tick(100);
  assert.equal(clock.waiting, 0);
});

test('each waits for its own time, all on one timer', async () => {
  const within = createPatience();
  const done = Promise.withResolvers<string>();
  const first = told(within(100, new Promise(() => undefined)));
  clock.tick(60);
  const second = told(within(100, done.promise));
  const third = told(within(100, new Promise(() => undefined)));
  assert.equal(clock.waiting, 1);
  clock.tick(40);
  assert.ok(await first instanceof LedgerUnavailable);
  done.resolve('second');
  assert.equal(await second, 'second');
  clock.tick(60);
  assert.ok(await third instanceof LedgerUnavailable);
  assert.equal(clock.waiting, 0);
});

test('no patience at all, and work that ends too late, is nobody\'s', async () => {
  const within = createPatience();
  const late = Promise.withResolvers<string>();
  const waited = told(within(0, late.promise));
  clock.tick(0);
  assert.ok(await waited instanceof LedgerUnavailable);
  late.reject(new Error('later still'));
  assert.equal(await within(5, Promise.resolve(1)), 1);
});

/** Limits of much that waits, on one timer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { NOWHERE, TimeLimits } from '../../dataplane/time-limits.ts';
import type { Limited } from '../../dataplane/time-limits.ts';
import { moveClock } from '../support/moved-clock.ts';

const clock = moveClock();

function waiter(expire: () => void = () => undefined): Limited & { expired: number } {
  return { dueMs: 0, place: NOWHERE, expired: 0, expire() { this.expired++; expire(); } };
}

type Step = { readonly kind: 'set' | 'clear' | 'tick'; readonly who: number; readonly ms: number };

const STEPS = fc.array(fc.oneof(
  fc.record({ kind: fc.constant('set' as const), who: fc.nat(7), ms: fc.integer({ min: 1, max: 50 }) }),
  fc.record({ kind: fc.constant('clear' as const), who: fc.nat(7), ms: fc.constant(0) }),
  fc.record({ kind: fc.constant('tick' as const), who: fc.constant(0), ms: fc.integer({ min: 1, max: 30 }) }),
), { maxLength: 60 });

/** What is due when, in the simplest words. */
class Expected {
  readonly due = Array<number>(8).fill(Infinity);
  readonly expired = Array<number>(8).fill(0);

  step({ kind, who, ms }: Step): void {
    if (kind === 'set') this.due[who] = clock.now + ms;
    else if (kind === 'clear') this.due[who] = Infinity;
    else for (const [index, dueAt] of this.due.entries()) if (dueAt <= clock.now) this.expire(index);
  }

  expire(index: number): void {
    this.due[index] = Infinity;
    this.expired[index] = (this.expired[index] ?? 0) + 1;
  }
}

test('whatever is set, put off, brought forward and cleared: each expires when it is due, and then once', () => {
  fc.assert(fc.property(STEPS, (steps) => {
    const limits = new TimeLimits({ keepsProcess: true });
    const expected = new Expected();
    const waiters = expected.due.map(() => waiter());
    const check = (): void => {
      assert.deepEqual(waiters.map(({ expired }) => expired), expected.expired);
      assert.equal(clock.keeping, expected.due.some((dueAt) => dueAt < Infinity) ? 1 : 0);
      assert.ok(clock.waiting <= 1, `${clock.waiting} timers`);
    };
    for (const step of steps) {
      const one = waiters[step.who] ?? waiter();
      if (step.kind === 'set') limits.set(one, step.ms);
      if (step.kind === 'clear') limits.clear(one);
      for (let passed = 0; passed < step.ms && step.kind === 'tick'; passed++) {
        clock.tick(1);
        expected.step(step);
        check();
      }
      expected.step(step);
      check();
    }
    for (const one of waiters) limits.clear(one);
    clock.tick(100);
    assert.equal(clock.waiting, 0);
  }));
});

test('much of one kind, one after the other, sets one timer', () => {
  const limits = new TimeLimits({ keepsProcess: true });
  const before = clock.set;
  for (let calls = 0; calls < 1000; calls++) {
    const one = waiter();
    limits.set(one, 5000);
    clock.tick(1);
    limits.clear(one);
  }
  assert.equal(clock.set - before, 1);
  assert.equal(clock.keeping, 0);
  clock.tick(5000);
  assert.equal(clock.waiting, 0);
});

test('what does not keep the process never does', () => {
  const limits = new TimeLimits({ keepsProcess: false });
  const [first, second] = [waiter(), waiter()];
  limits.set(first, 10);
  limits.clear(first);
  limits.set(second, 20);
  assert.equal(clock.keeping, 0);
  clock.tick(15);
  assert.equal(clock.keeping, 0);
  clock.tick(5);
  assert.deepEqual([first.expired, second.expired], [0, 1]);
});

test('an end that ends another, or begins anew', () => {
  const limits = new TimeLimits({ keepsProcess: true });
  const other = waiter();
  const again: Limited & { expired: number } = waiter(() => { if (again.expired < 3) limits.set(again, 10); });
  const first = waiter(() => limits.clear(other));
  limits.set(first, 10);
  limits.set(other, 10);
  limits.set(again, 10);
  clock.tick(10);
  assert.deepEqual([first.expired, other.expired, again.expired], [1, 0, 1]);
  clock.tick(10);
  clock.tick(10);
  assert.equal(again.expired, 3);
  assert.equal(clock.keeping, 0);
});

test('an end that throws leaves the others theirs', () => {
  const limits = new TimeLimits({ keepsProcess: true });
  const bad = waiter(() => { throw new Error('bad'); });
  const good = waiter();
  limits.set(bad, 10);
  limits.set(good, 10);
  assert.throws(() => clock.tick(10), /bad/);
  clock.tick(1);
  assert.deepEqual([bad.expired, good.expired], [1, 1]);
});

test('keeps nothing alive that has left', async () => {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  assert.ok(typeof collect === 'function');
  const limits = new TimeLimits({ keepsProcess: true });
  const stays = waiter();
  const left = Array.from({ length: 10 }, () => {
    const one = waiter();
    limits.set(one, 1000);
    limits.set(stays, 1000);
    limits.clear(one);
    return new WeakRef(one);
  });
  await turn();
  collect();
  assert.deepEqual(left.map((one) => one.deref()), left.map(() => undefined));
  limits.clear(stays);
});

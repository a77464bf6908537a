import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createLeaseKeeper } from '../../../../dataplane/ledger/lease.ts';
import type { LeaseKeeper } from '../../../../dataplane/ledger/lease.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { CallProgress } from '#usage/record.ts';
import { progress } from './calls.ts';

/** A lease keeper with a controlled clock, and a ledger with scripted responses. */
class Bench {
  readonly renewals: Map<string, CallProgress>[] = [];
  readonly outcomes: string[] = [];
  readonly lost: string[] = [];
  readonly keeper: LeaseKeeper;
  stopped = false;
  /** The ledger's behaviour at the next renewals. */
  answer: () => Promise<void> = async () => undefined;
  #nowMs = 1_000_000;
  #tick: () => void = () => undefined;
  readonly #intervalsMs: number[] = [];

  constructor() {
    this.keeper = createLeaseKeeper({
      ledger: {
        recordProgress: (renewal) => {
          this.renewals.push(new Map(renewal));
          return this.answer();
        },
      },
      monotonicMs: () => this.#nowMs,
      every: (intervalMs, tick) => {
        this.#intervalsMs.push(intervalMs);
        this.#tick = tick;
        return () => {
          this.stopped = true;
        };
      },
      onRenewal: (outcome) => this.outcomes.push(outcome),
    });
    assert.deepEqual(this.#intervalsMs, [1_000]);
  }

  track(callId: string, current: () => CallProgress = () => progress(1n)): void {
    this.keeper.track(callId, current, () => this.lost.push(callId));
  }

  /** Ticks once after this much time, and lets the started work continue. */
  async tick(afterMs = 1_000): Promise<void> {
    this.#nowMs += afterMs;
    this.#tick();
    await new Promise(setImmediate);
  }
}

const unavailable = async (): Promise<void> => {
  throw new LedgerUnavailable('down');
};

test('records the progress of all running calls in one step, then only changes', async () => {
  const bench = new Bench();
  let cost = 1n;
  bench.track('a', () => progress(cost));
  bench.track('b');
  await bench.tick();
  cost = 2n;
  await bench.tick();
  bench.keeper.untrack('b');
  await bench.tick();
  assert.deepEqual(bench.renewals, [
    new Map([
      ['a', progress(1n)],
      ['b', progress(1n)],
    ]),
    new Map([['a', progress(2n)]]),
    new Map(),
  ]);
});

test('records any changed field', async () => {
  const bench = new Bench();
  const states: CallProgress[] = [progress(1n), progress(1n, { usageSource: 'Estimated' })];
  for (const field of ['input', 'cached', 'cacheWrite5m', 'cacheWrite1h', 'output'] as const)
    states.push(progress(1n, { tokens: { ...progress(1n).tokens, [field]: 77 } }));
  let index = 0;
  bench.track('a', () => states[index]!);
  for (; index < states.length; index++) await bench.tick();
  assert.deepEqual(
    bench.renewals.map((renewal) => renewal.get('a')),
    states,
  );
});

test('sends nothing to the ledger without calls', async () => {
  const bench = new Bench();
  await bench.tick();
  assert.deepEqual(bench.renewals, []);
  bench.keeper.stop();
  assert.equal(bench.stopped, true);
});

test('records what failed with the next renewal', async () => {
  const bench = new Bench();
  bench.track('a');
  bench.answer = unavailable;
  await bench.tick();
  bench.answer = async () => undefined;
  await bench.tick();
  await bench.tick();
  assert.deepEqual(
    bench.renewals.map(({ size }) => size),
    [1, 1, 0],
  );
  assert.deepEqual(bench.outcomes, ['unavailable', 'ok', 'ok']);
});

test('gives up every call after 20 s without a renewal, once', async () => {
  const bench = new Bench();
  bench.track('a');
  bench.track('b');
  await bench.tick();
  bench.answer = unavailable;
  for (let second = 1; second < 20; second++) await bench.tick();
  assert.deepEqual(bench.lost, []);
  bench.track('young');
  await bench.tick();
  assert.deepEqual(bench.lost, ['a', 'b']);
  await bench.tick(5_000);
  assert.deepEqual(bench.lost, ['a', 'b']);
  await bench.tick(15_000);
  assert.deepEqual(bench.lost, ['a', 'b', 'young']);
});

test('counts a renewal from its request, and runs one at a time', async () => {
  const bench = new Bench();
  bench.track('a');
  let finish: () => void = () => undefined;
  bench.answer = () =>
    new Promise((resolve) => {
      finish = resolve;
    });
  await bench.tick();
  await bench.tick(15_000);
  assert.equal(bench.renewals.length, 1);
  bench.answer = unavailable;
  finish();
  await new Promise(setImmediate);
  await bench.tick(4_000);
  assert.deepEqual(bench.lost, []);
  await bench.tick(1_000);
  assert.deepEqual(bench.lost, ['a']);
});

test('gives up its calls before a renewal if the process was stopped for 20 s', async () => {
  const bench = new Bench();
  bench.track('a');
  await bench.tick();
  await bench.tick(60_000);
  assert.deepEqual(bench.lost, ['a']);
  assert.deepEqual(
    bench.renewals.map((renewal) => [...renewal.keys()]),
    [['a'], []],
  );
});

test('keeps the calls after a renewal that succeeds again', async () => {
  const bench = new Bench();
  bench.track('a');
  for (let round = 0; round < 4; round++) {
    bench.answer = unavailable;
    for (let second = 0; second < 18; second++) await bench.tick();
    bench.answer = async () => undefined;
    await bench.tick();
  }
  assert.deepEqual(bench.lost, []);
});

test('renews other calls if the progress of one cannot be computed', async () => {
  const bench = new Bench();
  bench.track('a', () => {
    throw new Error('a defect');
  });
  bench.track('b', () => progress(1n));
  await bench.tick();
  assert.deepEqual(bench.outcomes, ['unavailable', 'ok'], 'the defect is told, and the renewal goes on');
});

test('records a change of what the call costs the platform alone', async () => {
  const bench = new Bench();
  let current: CallProgress = { ...progress(5n), upstreamCostNanoUsd: 3n };
  bench.track('call', () => current);
  await bench.tick();
  current = { ...current, upstreamCostNanoUsd: 4n };
  await bench.tick();
  assert.deepEqual(bench.renewals.at(-1)?.get('call'), current);
});

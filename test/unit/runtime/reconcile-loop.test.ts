/** The loop's timing: suspended machines, clocks that are set, retries, and waiting for its end. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ReconcileLoop } from '#runtime/reconcile-loop.ts';
import type { RunResult } from '#runtime/reconcile-loop.ts';

const DEBOUNCE_MS = 20;
const HOUR_MS = 3_600_000;

/** Timers count the time that the machine is awake; the clock can be set. */
function setUp(
  result: () => RunResult | Promise<RunResult>,
  bounds: Pick<ConstructorParameters<typeof ReconcileLoop>[0], 'maxRestMs' | 'longestRetryMs'> = {},
) {
  let awakeMs = 0;
  let aheadMs = 0;
  let runs = 0;
  let failures = 0;
  const pending = new Set<{ readonly atMs: number; readonly run: () => void }>();
  const loop = new ReconcileLoop({
    debounceMs: DEBOUNCE_MS,
    ...bounds,
    onFailed: () => {
      failures++;
    },
    run: async () => {
      runs++;
      return result();
    },
    clock: {
      nowMs: () => awakeMs + aheadMs,
      after(ms, run) {
        const timer = { atMs: awakeMs + ms, run };
        pending.add(timer);
        return () => {
          pending.delete(timer);
        };
      },
    },
  });
  return {
    loop,
    runs: () => runs,
    failures: () => failures,
    /** Sets the clock forward, as after a suspension, or back. */
    setClock: (byMs: number): void => {
      aheadMs += byMs;
    },
    pass: async (ms: number): Promise<void> => {
      const untilMs = awakeMs + ms;
      for (;;) {
        const [next] = [...pending].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs);
        if (!next) break;
        pending.delete(next);
        awakeMs = next.atMs;
        next.run();
        await turns();
      }
      awakeMs = untilMs;
      await turns();
    },
  };
}

async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}

const again = (againInMs: number) => (): RunResult => ({ againInMs });

test('handles a change at once, also if the clock jumped past its sleep', async () => {
  const { loop, runs, setClock, pass } = setUp(again(HOUR_MS / 2));
  await loop.runNow();
  setClock(HOUR_MS);
  loop.changed();
  await pass(DEBOUNCE_MS);
  assert.equal(runs(), 2);
});

test('notices changes by time within a minute of the end of a suspension', async () => {
  const { loop, runs, setClock, pass } = setUp(again(12 * HOUR_MS));
  await loop.runNow();
  await pass(60_000);
  assert.equal(runs(), 1);
  setClock(12 * HOUR_MS);
  await pass(60_000);
  assert.equal(runs(), 2);
});

test('is not delayed by a clock that is set back', async () => {
  const { loop, runs, setClock, pass } = setUp(again(10 * 60_000));
  await loop.runNow();
  setClock(-HOUR_MS);
  await pass(10 * 60_000 - 1);
  assert.equal(runs(), 1);
  await pass(1);
  assert.equal(runs(), 2);
});

test('does with a change the run that time would have caused', async () => {
  const { loop, runs, pass } = setUp(again(100));
  await loop.runNow();
  await pass(90);
  loop.changed();
  await pass(DEBOUNCE_MS - 1);
  // at 100 because of the time; that run also handled the change
  assert.equal(runs(), 2);
  await pass(90);
  assert.equal(runs(), 2);
  await pass(1);
  assert.equal(runs(), 3);
});

test('settled resolves at once when idle, otherwise when all changes are processed', async () => {
  let release: () => void = () => undefined;
  const { loop, runs, pass } = setUp(async () => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    return {};
  });
  await loop.settled();
  let settledAfter = -1;
  loop.changed();
  const settled = loop.settled().then(() => {
    settledAfter = runs();
    return undefined;
  });
  await pass(DEBOUNCE_MS);
  loop.changed();
  release();
  await turns();
  assert.deepEqual([runs(), settledAfter], [1, -1]);
  await pass(DEBOUNCE_MS);
  assert.deepEqual([runs(), settledAfter], [2, -1]);
  release();
  await settled;
  assert.equal(settledAfter, 2);
});

test('settled resolves for a loop that fails or is stopped', async () => {
  const { loop, pass } = setUp(() => {
    throw new Error('no');
  });
  loop.changed();
  const failed = loop.settled();
  await pass(DEBOUNCE_MS);
  await failed;
  loop.changed();
  const stopped = loop.settled();
  await loop.stop();
  await stopped;
  loop.changed();
  await loop.settled();
});

test('rests for as long as a run took, so that changes can be read meanwhile', async () => {
  let takesMs = 0;
  const scene = setUp(
    () => {
      scene.setClock(takesMs);
      return {};
    },
    { maxRestMs: 50 },
  );
  const { loop, runs, pass } = scene;
  for (const { tookMs, restMs } of [
    { tookMs: 5, restMs: DEBOUNCE_MS },
    { tookMs: 35, restMs: 35 },
    { tookMs: 500, restMs: 50 },
  ]) {
    takesMs = tookMs;
    await pass(1_000);
    const before = runs();
    loop.changed();
    await pass(DEBOUNCE_MS);
    loop.changed();
    await pass(restMs - 1);
    assert.equal(runs(), before + 1, `a run of ${tookMs} ms`);
    await pass(1);
    assert.equal(runs(), before + 2, `a run of ${tookMs} ms`);
  }
});

test('rests also before the run for what changed during a run', async () => {
  let release: () => void = () => undefined;
  const scene = setUp(
    async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      scene.setClock(40);
      return {};
    },
    { maxRestMs: 50 },
  );
  const { loop, runs, pass } = scene;
  loop.changed();
  await pass(DEBOUNCE_MS);
  loop.changed();
  await pass(DEBOUNCE_MS);
  release();
  await turns();
  await pass(49);
  assert.equal(runs(), 1);
  await pass(1);
  assert.equal(runs(), 2);
  release();
});

test('retries failed runs after pauses that double up to the longest', async () => {
  const { loop, runs, failures, pass } = setUp(
    () => {
      throw new Error('no');
    },
    { longestRetryMs: 3000 },
  );
  await loop.runNow();
  for (const pauseMs of [1000, 2000, 3000, 3000]) {
    const before = runs();
    await pass(pauseMs - 1);
    assert.equal(runs(), before);
    await pass(1);
    assert.deepEqual([runs(), failures()], [before + 1, before + 1]);
  }
});

test('runs once more at once, however often it is told to during a run', async () => {
  const turn = Promise.withResolvers<void>();
  const { loop, runs } = setUp(async () => {
    await turn.promise;
    return {};
  });
  const ended = loop.runNow();
  for (let n = 0; n < 3; n++) void loop.runNow();
  turn.resolve();
  await ended;
  assert.equal(runs(), 2);
});

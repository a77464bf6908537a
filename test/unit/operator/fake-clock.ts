/** A clock that advances only when a test says so, and other parts of an operator without effects. */
import type { OperatorClock } from '#runtime/clock.ts';
import { NOW_MS } from './support.ts';

export interface FakeClock extends OperatorClock {
  /** Advances the clock, timer by timer, and settles promises in between. */
  pass(ms: number): Promise<void>;
  /** When the pending timers are due. */
  pending(): readonly number[];
}

export function fakeClock(): FakeClock {
  let nowMs = NOW_MS;
  const pending = new Set<{ readonly atMs: number; readonly run: () => void }>();
  return {
    nowMs: () => nowMs,
    random: () => 0.5,
    after(ms, run) {
      const timer = { atMs: nowMs + ms, run };
      pending.add(timer);
      return () => {
        pending.delete(timer);
      };
    },
    pending: () => [...pending].map(({ atMs }) => atMs),
    async pass(ms) {
      const untilMs = nowMs + ms;
      await settled();
      for (;;) {
        const [next] = [...pending].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs);
        if (!next) break;
        pending.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.run();
        await settled();
      }
      nowMs = untilMs;
      await settled();
    },
  };
}

/** Resolves when no promise can make progress. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 12; i++)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}

export const NO_METER = { add: () => undefined, set: () => undefined, observe: () => undefined };
export const NO_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A watch without events. */
export async function* quietWatch(_path: string, signal: AbortSignal): AsyncGenerator<never> {
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
  yield* [];
}

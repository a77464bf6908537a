import { afterAll, vi } from 'vitest';
/** Timers that the tests move, with refresh(), which Node's own mock timers leave without effect. */

interface MovedTimer {
  at: number;
  readonly fire: () => void;
  keeps: boolean;
  ref(): MovedTimer;
  unref(): MovedTimer;
  refresh(): MovedTimer;
}

interface MovedClock {
  /** Timers that would keep the process. */
  readonly keeping: number;
  tick(ms: number): void;
}

/** In place of the real ones for the rest of the test file. */
export function moveClock(): MovedClock {
  const timers = new Set<MovedTimer>();
  let now = 0;
  vi.stubGlobal('setTimeout', (fire: () => void, delayMs: number) => {
    const timer: MovedTimer = {
      at: now + delayMs, fire, keeps: true,
      ref() { this.keeps = true; return this; },
      unref() { this.keeps = false; return this; },
      refresh() { this.at = now + delayMs; timers.add(this); return this; },
    };
    timers.add(timer);
    return timer;
  });
  vi.stubGlobal('clearTimeout', (timer: MovedTimer) => timers.delete(timer));
  afterAll(() => vi.unstubAllGlobals());
  return {
    get keeping() { return [...timers].filter(({ keeps }) => keeps).length; },
    tick(ms) {
      now += ms;
      for (const timer of timers) if (timer.at <= now && timers.delete(timer)) timer.fire();
    },
  };
}

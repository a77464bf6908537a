import { afterAll, vi } from 'vitest';
/** Timers that tests advance, including refresh(), which Node's mock timers do not support. */

interface MovedTimer {
  at: number;
  readonly fire: () => void;
  keeps: boolean;
  ref(): MovedTimer;
  unref(): MovedTimer;
  refresh(): MovedTimer;
}

interface MovedClock {
  /** The number of timers that keep the process alive. */
  readonly keeping: number;
  tick(ms: number): void;
}

/** Replaces the real timers for the rest of the test file. */
export function moveClock(): MovedClock {
  const timers = new Set<MovedTimer>();
  let now = 0;
  vi.stubGlobal('setTimeout', (fire: () => void, delayMs: number) => {
    const timer: MovedTimer = {
      at: now + delayMs,
      fire,
      keeps: true,
      ref() {
        this.keeps = true;
        return this;
      },
      unref() {
        this.keeps = false;
        return this;
      },
      refresh() {
        this.at = now + delayMs;
        timers.add(this);
        return this;
      },
    };
    timers.add(timer);
    return timer;
  });
  vi.stubGlobal('clearTimeout', (timer: MovedTimer) => timers.delete(timer));
  afterAll(() => vi.unstubAllGlobals());
  return {
    get keeping() {
      return [...timers].filter(({ keeps }) => keeps).length;
    },
    tick(ms) {
      now += ms;
      for (const timer of timers) if (timer.at <= now && timers.delete(timer)) timer.fire();
    },
  };
}

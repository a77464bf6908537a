/** A clock that the tests move, which Node's own mock would not do for performance.now(). */
import { after, mock } from 'node:test';

interface MovedTimer {
  readonly at: number;
  readonly fire: () => void;
  keeps: boolean;
  ref(): MovedTimer;
  unref(): MovedTimer;
}

interface MovedClock {
  readonly now: number;
  /** Timers that would keep the process. */
  readonly keeping: number;
  /** Timers that wait. */
  readonly waiting: number;
  /** Timers that were ever set. */
  readonly set: number;
  tick(ms: number): void;
}

/** In place of the real one for the rest of the test file. */
export function moveClock(): MovedClock {
  const timers = new Set<MovedTimer>();
  let now = 0;
  let set = 0;
  mock.method(globalThis, 'setTimeout', (fire: () => void, delayMs: number) => {
    const timer: MovedTimer = {
      at: now + delayMs, fire, keeps: true,
      ref() { this.keeps = true; return this; },
      unref() { this.keeps = false; return this; },
    };
    timers.add(timer);
    set++;
    return timer;
  });
  mock.method(globalThis, 'clearTimeout', (timer: MovedTimer) => timers.delete(timer));
  mock.method(performance, 'now', () => 1 + now);
  after(() => mock.reset());
  return {
    get now() { return now; },
    get keeping() { return [...timers].filter(({ keeps }) => keeps).length; },
    get waiting() { return timers.size; },
    get set() { return set; },
    tick(ms) {
      now += ms;
      for (const timer of timers) if (timer.at <= now && timers.delete(timer)) timer.fire();
    },
  };
}

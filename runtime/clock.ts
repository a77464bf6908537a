/**
 * The control plane's clock, timers and random numbers. Functions take them as arguments, so that tests can control
 * them.
 */

/** The part of the clock that loops need. */
export type TimerClock = Pick<OperatorClock, 'nowMs' | 'after'>;

export interface OperatorClock {
  nowMs(): number;
  /** Calls a function once after a delay; the returned function cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Returns a number in [0, 1). */
  random(): number;
}

/** Date.now, setTimeout and Math.random. */
export const SYSTEM_CLOCK: OperatorClock = {
  nowMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.max(0, ms));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Resolves after `ms`, or as soon as the signal aborts. */
export function sleep(clock: OperatorClock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener('abort', end);
  });
}

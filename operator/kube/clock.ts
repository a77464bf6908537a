/** Time and chance, handed in so that tests have them in hand. */

export interface Clock {
  nowMs(): number;
  /** Runs something once, later; the result takes it back. */
  readonly after: (ms: number, run: () => void) => () => void;
  /** In [0, 1). */
  random(): number;
}

/** The machine's own. */
export const SYSTEM_CLOCK: Clock = {
  nowMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.max(0, ms));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Resolves after a while, or as soon as the signal says so. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
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

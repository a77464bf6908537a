/**
 * [P] How long to wait before another try: twice as long after each failure, up to a limit, and never the same twice,
 * so that a fleet does not come back all at once.
 */

export interface Backoff {
  /** After a failure: how long to wait. `atLeastMs`: a wish of the server. */
  next(atLeastMs?: number): number;
  /** It went well: the next failure counts as the first. */
  reset(): void;
}

interface BackoffOptions {
  readonly firstMs: number;
  readonly longestMs: number;
  /** In [0, 1). */
  readonly random: () => number;
}

export function createBackoff({ firstMs, longestMs, random }: BackoffOptions): Backoff {
  let stepMs = firstMs;
  return {
    next(atLeastMs = 0) {
      const waitMs = stepMs * (0.5 + random() / 2);
      stepMs = Math.min(stepMs * 2, longestMs);
      return Math.max(atLeastMs, waitMs);
    },
    reset() { stepMs = firstMs; },
  };
}

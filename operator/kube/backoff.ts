/**
 * [P] Exponential backoff with jitter, so that a fleet does not retry all at once.
 */

export interface Backoff {
  /** The wait after a failure. `atLeastMs`: the server's Retry-After. */
  next(atLeastMs?: number): number;
  /** Call after a success: the next failure starts from `firstMs`. */
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

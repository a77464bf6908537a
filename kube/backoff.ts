/**
 * [P] Exponential backoff with jitter, so that a fleet does not retry all at once.
 */

export interface Backoff {
  /** Returns the pause after a failure. `atLeastMs` is the server's Retry-After. */
  next(atLeastMs?: number): number;
  /** Call it after a success: the pause after the next failure is `firstMs` again. */
  reset(): void;
}

interface BackoffOptions {
  readonly firstMs: number;
  readonly longestMs: number;
  /** Returns a number in [0, 1). */
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
    reset() {
      stepMs = firstMs;
    },
  };
}

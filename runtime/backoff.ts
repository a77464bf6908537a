/**
 * [P] Exponential backoff: each failure doubles the pause before the next attempt. With jitter, a fleet does not retry
 * all at once.
 */

interface BackoffBounds {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** The pause after a failure; `failures`: how many there were before it since the last success. */
export function pauseAfter(failures: number, { firstMs, longestMs }: BackoffBounds): number {
  return Math.min(firstMs * 2 ** failures, longestMs);
}

export interface Backoff {
  /** Returns the pause after a failure. `atLeastMs` is the server's Retry-After. */
  next(atLeastMs?: number): number;
  /** Call it after a success: the pause after the next failure is `firstMs` again. */
  reset(): void;
}

interface BackoffOptions extends BackoffBounds {
  /** Returns a number in [0, 1), which shortens a pause by up to half; absent: pauses are exact. */
  readonly random?: () => number;
}

export function createBackoff({ random, ...bounds }: BackoffOptions): Backoff {
  let failures = 0;
  return {
    next(atLeastMs = 0) {
      const share = random ? 0.5 + random() / 2 : 1;
      const waitMs = pauseAfter(failures, bounds) * share;
      failures += 1;
      return Math.max(atLeastMs, waitMs);
    },
    reset() {
      failures = 0;
    },
  };
}

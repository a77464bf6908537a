/** Limits failed sign-ins per address. Tokens are too long to be guessed; this spares the API server the guesses. */

interface SignInLimit {
  /** Seconds until the address may try again; 0: now. */
  retryAfter(address: string, nowMs: number): number;
  failed(address: string, nowMs: number): void;
  succeeded(address: string): void;
}

const MAX_FAILURES = 20;
const WINDOW_MS = 300_000;
/** Beyond this number, the address that failed first is dropped. */
const MAX_ADDRESSES = 10_000;

/** Twenty failures in five minutes. */
export function limitSignIns(): SignInLimit {
  const failures = new Map<string, { count: number; sinceMs: number }>();
  return {
    retryAfter(address, nowMs) {
      const entry = failures.get(address);
      if (!entry || entry.count < MAX_FAILURES) return 0;
      return Math.max(0, Math.ceil((entry.sinceMs + WINDOW_MS - nowMs) / 1000));
    },
    failed(address, nowMs) {
      const entry = failures.get(address);
      if (entry && nowMs < entry.sinceMs + WINDOW_MS) {
        entry.count++;
        return;
      }
      failures.delete(address);
      const [oldest] = failures.keys();
      if (failures.size >= MAX_ADDRESSES && oldest !== undefined) failures.delete(oldest);
      failures.set(address, { count: 1, sinceMs: nowMs });
    },
    succeeded(address) {
      failures.delete(address);
    },
  };
}

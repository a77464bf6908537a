/**
 * [P] How many writes may be made: so many in a second, with a reserve for bursts, so that no number of objects can
 * overload the cluster's store.
 */
interface WriteBudget {
  /** 0: one write is taken out. Otherwise nothing is, and so many milliseconds are to be waited. */
  take(nowMs: number): number;
}

export function createWriteBudget({
  perSecond, burst,
}: { readonly perSecond: number; readonly burst: number }): WriteBudget {
  let left = burst;
  let atMs: number | undefined;
  return {
    take(nowMs) {
      left = Math.min(burst, left + Math.max(0, nowMs - (atMs ?? nowMs)) * perSecond / 1000);
      atMs = nowMs;
      if (left < 1) return Math.ceil((1 - left) * 1000 / perSecond);
      left -= 1;
      return 0;
    },
  };
}

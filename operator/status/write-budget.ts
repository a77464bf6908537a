/**
 * [P] A token bucket for writes, so that no number of objects can overload the cluster's store.
 */
interface WriteBudget {
  /** Takes one token and returns 0, or returns how many milliseconds to wait. */
  take(nowMs: number): number;
}

export function createWriteBudget({
  perSecond,
  burst,
}: {
  readonly perSecond: number;
  readonly burst: number;
}): WriteBudget {
  let left = burst;
  let atMs: number | undefined;
  return {
    take(nowMs) {
      left = Math.min(burst, left + (Math.max(0, nowMs - (atMs ?? nowMs)) * perSecond) / 1000);
      atMs = nowMs;
      if (left < 1) return Math.ceil(((1 - left) * 1000) / perSecond);
      left -= 1;
      return 0;
    },
  };
}

/**
 * [P] Token buckets for writes, so that no number of objects can overload the cluster's store.
 */
export interface WriteBudget {
  /** Takes one token and returns 0, or returns how many milliseconds to wait. */
  take(nowMs: number): number;
}

interface BudgetOptions {
  readonly perSecond: number;
  readonly burst: number;
}

export function createWriteBudget({ perSecond, burst }: BudgetOptions): WriteBudget {
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

/** A budget that limits each namespace to a share. */
export interface SharedBudget {
  /** Takes one token for a namespace; false if it or all together have none left. */
  take(namespace: string, nowMs: number): boolean;
}

/** A namespace that has been quiet for this long has its whole share again, and is forgotten. */
const FORGET_MS = 60_000;

/** `share`: the maximum part of `all` for one namespace. */
export function createSharedBudget(all: BudgetOptions, share: BudgetOptions): SharedBudget {
  const whole = createWriteBudget(all);
  const namespaces = new Map<string, { readonly budget: WriteBudget; atMs: number }>();
  let sweptMs = 0;
  return {
    take(namespace, nowMs) {
      if (nowMs - sweptMs > FORGET_MS) {
        sweptMs = nowMs;
        for (const [name, { atMs }] of namespaces) if (nowMs - atMs > FORGET_MS) namespaces.delete(name);
      }
      const known = namespaces.get(namespace) ?? { budget: createWriteBudget(share), atMs: nowMs };
      known.atMs = nowMs;
      namespaces.set(namespace, known);
      return known.budget.take(nowMs) === 0 && whole.take(nowMs) === 0;
    },
  };
}

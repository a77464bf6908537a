/** [P] The order of a snapshot's lists, by namespace and then by name, and what differs between two of them. */

/** What every object of a snapshot has. */
export interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** Orders by code units: the same order on every machine. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Orders by namespace, then by name. */
export function compareNamed(a: Named, b: Named): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

/**
 * Pairs what differs between two lists that are sorted by `compare` and have each item once; what only one of them has
 * is paired with undefined. Unchanged items, nearly all, are compared by identity and never read.
 */
export function differences<T extends object>(
  before: readonly T[],
  after: readonly T[],
  compare: (a: T, b: T) => number,
): [old: T | undefined, now: T | undefined][] {
  const found: [T | undefined, T | undefined][] = [];
  let i = 0;
  let j = 0;
  for (;;) {
    while (i < before.length && before[i] === after[j]) {
      i += 1;
      j += 1;
    }
    const [old, now] = [before[i], after[j]];
    if (!old && !now) return found;
    const order = orderOf(old, now, compare);
    found.push([order <= 0 ? old : undefined, order >= 0 ? now : undefined]);
    if (order <= 0) i += 1;
    if (order >= 0) j += 1;
  }
}

/** Compares like `compare`; a missing item, whose list has ended, comes last. */
function orderOf<T>(old: T | undefined, now: T | undefined, compare: (a: T, b: T) => number): number {
  if (!old) return 1;
  return now ? compare(old, now) : -1;
}

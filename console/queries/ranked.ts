/** [P] The names of a split, the largest first: the first five by themselves, the others together. */
import { compareText } from '#web/compare-text.ts';
import { added, addAll, NO_CALLS } from '../data/add-sums.ts';
import type { SeriesSum, SpendingSum } from '../data/usage.ts';
import type { Measure } from './usage-query.ts';

export interface RankedName {
  readonly name: string;
  readonly sum: SpendingSum;
  readonly byStart: ReadonlyMap<number, SpendingSum>;
}

export interface Ranking {
  readonly all: SpendingSum;
  readonly top: readonly RankedName[];
  readonly others: readonly RankedName[];
  /** The others together; undefined: there is none. */
  readonly rest: Omit<RankedName, 'name'> | undefined;
}

export const TOP = 5;

export function rank(sums: readonly SeriesSum[], measure: Measure): Ranking {
  const named = [...Map.groupBy(sums, ({ name }) => name)].map(([name, some]): RankedName => ({
    name,
    sum: addAll(some),
    byStart: byStart(some),
  }));
  const sorted = named.sort((a, b) => compare(b, a, measure) || compareText(a.name, b.name));
  // a single leftover name is shown itself
  const top = sorted.slice(0, sorted.length === TOP + 1 ? TOP + 1 : TOP);
  const others = sorted.slice(top.length);
  const names = new Set(others.map(({ name }) => name));
  const rest = sums.filter(({ name }) => names.has(name));
  return {
    all: addAll(sums),
    top,
    others,
    rest: others.length > 0 ? { sum: addAll(rest), byStart: byStart(rest) } : undefined,
  };
}

export function measured(sum: SpendingSum, measure: Measure): bigint {
  switch (measure) {
    case 'cost':
      return sum.costNanoUsd;
    case 'calls':
      return BigInt(sum.calls);
    case 'tokens':
      return BigInt(sum.inputTokens + sum.outputTokens);
  }
}

function compare(a: RankedName, b: RankedName, measure: Measure): number {
  const [ofA, ofB] = [measured(a.sum, measure), measured(b.sum, measure)];
  return ofA === ofB ? a.sum.calls - b.sum.calls : ofA < ofB ? -1 : 1;
}

function byStart(sums: readonly SeriesSum[]): Map<number, SpendingSum> {
  const found = new Map<number, SpendingSum>();
  for (const sum of sums) found.set(sum.startMs, added(found.get(sum.startMs) ?? NO_CALLS, sum));
  return found;
}

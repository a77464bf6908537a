/**
 * Sums for charts: by interval, and by model, key, group or account. Whole days by model, key and account come
 * from the sums that are kept; groups and hours are summed from the calls. Days by group are remembered for as long as
 * the kept sums of that day do not change, so that a month of a million calls is read once.
 */
import { setImmediate } from 'node:timers/promises';
import type { IntervalSum, UsageTables } from '#usage/tables.ts';
import { added, addAll, NO_CALLS } from './add-sums.ts';
import { daysOf, daySumsKnow, searchesOf, sumIntervals } from './call-search.ts';
import type { CallSearch } from './call-search.ts';
import type { CallQuery, SeriesKind, SeriesSum, SpendingSum } from './usage.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Of accounts; one takes some hundred bytes for each group. */
const MAX_REMEMBERED_DAYS = 20_000;

export interface SeriesReader {
  read(tables: UsageTables, query: CallQuery, kind: SeriesKind): Promise<readonly SeriesSum[]>;
}

interface RememberedDay {
  /** A fingerprint of the kept sums, which shows whether they have changed. */
  readonly fingerprint: string;
  readonly groups: ReadonlyMap<string, SpendingSum>;
}

export function createSeriesReader(): SeriesReader {
  return new Reader();
}

class Reader implements SeriesReader {
  /** Least recently used first. */
  readonly #days = new Map<string, RememberedDay>();

  async read(tables: UsageTables, query: CallQuery, kind: SeriesKind): Promise<readonly SeriesSum[]> {
    const sums = new Map<string, SeriesSum>();
    const add = (startMs: number, name: string, sum: SpendingSum): void => {
      const id = `${startMs} ${name}`;
      sums.set(id, { startMs, name, ...added(sums.get(id) ?? NO_CALLS, sum) });
    };
    for (const search of searchesOf(query)) {
      if (kind.unit === 'Hour') await addHours(tables, search, { by: kind.by, add });
      else await this.#addDays(tables, search, { by: kind.by, add });
    }
    return [...sums.values()];
  }

  async #addDays(tables: UsageTables, search: CallSearch, { by, add }: Adding): Promise<void> {
    for (const { day, whole, range } of daysOf(tables, search)) {
      const ofDay = { filter: search.filter, range };
      for (const [name, sum] of await this.#dayBy(tables, ofDay, { day, whole, by })) add(day * DAY_MS, name, sum);
      await setImmediate();
    }
  }

  async #dayBy(
    tables: UsageTables,
    search: CallSearch,
    { day, whole, by }: { readonly day: number; readonly whole: boolean; readonly by: SeriesKind['by'] },
  ): Promise<Iterable<readonly [string, SpendingSum]>> {
    const { filter } = search;
    if (whole && by === 'Group') return this.#groupsOf(tables, search, day);
    if (!whole || by === 'Group' || !daySumsKnow(filter)) return sumDay(tables, search, by);
    return tables.dayTotals(filter, day, by).map(({ name, ...sum }) => [name, sum] as const);
  }

  async #groupsOf(tables: UsageTables, search: CallSearch, day: number): Promise<ReadonlyMap<string, SpendingSum>> {
    const { account, keyUid, model, group, channel, callId, status } = search.filter;
    const name = JSON.stringify([day, account, keyUid, model, group, channel, callId, status]);
    const { calls, costNanoUsd, inputTokens, outputTokens } = addAll(tables.dayTotals(search.filter, day, 'Account'));
    const fingerprint = `${calls} ${costNanoUsd} ${inputTokens} ${outputTokens}`;
    const known = this.#days.get(name);
    if (known?.fingerprint === fingerprint) return known.groups;
    const groups = await sumDay(tables, search, 'Group');
    this.#days.delete(name);
    this.#days.set(name, { fingerprint, groups });
    for (const oldest of this.#days.keys()) {
      if (this.#days.size <= MAX_REMEMBERED_DAYS) break;
      this.#days.delete(oldest);
    }
    return groups;
  }
}

interface Adding {
  readonly by: SeriesKind['by'];
  readonly add: (startMs: number, name: string, sum: SpendingSum) => void;
}

async function addHours(tables: UsageTables, search: CallSearch, { by, add }: Adding): Promise<void> {
  for await (const each of sumIntervals(tables, search, HOUR_MS)) add(each.startMs, nameOf(by, search, each), each);
}

/** From the calls of a day, or of a part of one. */
async function sumDay(
  tables: UsageTables,
  search: CallSearch,
  by: SeriesKind['by'],
): Promise<Map<string, SpendingSum>> {
  const names = new Map<string, SpendingSum>();
  for await (const each of sumIntervals(tables, search, DAY_MS)) {
    const name = nameOf(by, search, each);
    names.set(name, added(names.get(name) ?? NO_CALLS, each));
  }
  return names;
}

function nameOf(
  by: SeriesKind['by'],
  { filter }: CallSearch,
  { model, keyUid, group }: Pick<IntervalSum, 'model' | 'keyUid' | 'group'>,
): string {
  switch (by) {
    case 'Model':
      return model;
    case 'Key':
      return keyUid;
    case 'Group':
      return group;
    case 'Account':
      return filter.account;
  }
}

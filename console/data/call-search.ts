/**
 * Finds and sums the calls of one account, a slice at a time: SQLite answers on the thread that serves pages and, on
 * one machine, calls. Days whose sums show no such call are skipped.
 */
import { setImmediate } from 'node:timers/promises';
import type { UsageRecord } from '#usage/record.ts';
import type {
  CallFilter,
  CallOrder,
  CallPosition,
  CallRange,
  DaySum,
  MarginSum,
  IntervalSum,
  UsageTables,
} from '#usage/tables.ts';
import type { CallQuery } from './usage.ts';

const DAY_MS = 86_400_000;
/** Reading so many rows takes some ten milliseconds. */
const SLICE_ROWS = 5_000;

/** Where in an account to search, and for what. */
export interface CallSearch {
  readonly filter: CallFilter;
  readonly range: CallRange;
}

/** The searches of a query: one per account, or per named key of an account. */
export function searchesOf(query: CallQuery): CallSearch[] {
  const { accounts, keysOf = {}, keyUid, sinceMs = 0, untilMs = Number.MAX_SAFE_INTEGER } = query;
  const range = { from: momentOf(sinceMs), to: momentOf(untilMs) };
  return [...new Set(accounts)].flatMap((account) => {
    const uids = keysOf[account];
    if (!uids) return [{ filter: { ...query, account }, range }];
    return uids
      .filter((uid) => keyUid === undefined || uid === keyUid)
      .map((uid) => ({ filter: { ...query, account, keyUid: uid }, range }));
  });
}

/** Before all calls of this millisecond. */
function momentOf(createdMs: number): CallPosition {
  return { createdMs, callId: '' };
}

export function comparePositions(a: CallPosition, b: CallPosition): number {
  if (a.createdMs !== b.createdMs) return a.createdMs - b.createdMs;
  return Number(a.callId > b.callId) - Number(a.callId < b.callId);
}

/** The part of a range that lies before a position. */
export function rangeBefore({ from, to }: CallRange, position: CallPosition): CallRange {
  return { from, to: comparePositions(position, to) < 0 ? position : to };
}

/** The part of a range that lies after a call. */
export function rangeAfter({ from, to }: CallRange, { createdMs, callId }: CallPosition): CallRange {
  const next = { createdMs, callId: `${callId}\0` }; // no id lies between these two
  return { from: comparePositions(next, from) > 0 ? next : from, to };
}

/** The first calls that are searched for, at most so many. */
export async function findCalls(
  tables: UsageTables,
  search: CallSearch,
  { order, most }: { readonly order: CallOrder; readonly most: number },
): Promise<UsageRecord[]> {
  const found: UsageRecord[] = [];
  for (const slice of slicesOf(tables, search, order)) {
    found.push(...tables.calls(search.filter, slice, { order, most: most - found.length }));
    await setImmediate(); // an export asks again at once
    if (found.length >= most) break;
  }
  return found;
}

/** The sums of all calls that are searched for, of whole days from the sums that are kept. */
export async function* sumCalls(tables: UsageTables, search: CallSearch): AsyncGenerator<DaySum> {
  const { filter, range } = search;
  const lastDay = lastDayOf(range);
  for (let fromDay = dayOf(range.from); ; await setImmediate()) {
    const day = tables.day(filter, [fromDay, lastDay], 'OldestFirst');
    if (day === undefined) return;
    const ofDay = withinDay(range, day);
    if (isWholeDay(ofDay) && daySumsKnow(filter)) yield* tables.daySums(filter, day);
    else yield* sumSlices(tables, { filter, range: ofDay });
    fromDay = day + 1;
  }
}

/** The sums of days are kept neither by group, nor by channel, nor by call. */
export function daySumsKnow({ group, channel, callId }: CallFilter): boolean {
  return group === undefined && channel === undefined && callId === undefined;
}

async function* sumSlices(tables: UsageTables, search: CallSearch): AsyncGenerator<DaySum> {
  for (const slice of slicesOf(tables, search, 'OldestFirst')) {
    yield* tables.sums(search.filter, slice);
    await setImmediate();
  }
}

/** The sums of all calls that are searched for, by intervals of a length, from the calls themselves. */
export async function* sumIntervals(
  tables: UsageTables,
  search: CallSearch,
  lengthMs: number,
): AsyncGenerator<IntervalSum> {
  for (const slice of slicesOf(tables, search, 'OldestFirst')) {
    yield* tables.intervals(search.filter, slice, lengthMs);
    await setImmediate();
  }
}

/** The margins of all calls that are searched for, from the calls themselves; the same names may repeat. */
export async function* sumMargins(tables: UsageTables, search: CallSearch): AsyncGenerator<MarginSum> {
  for (const slice of slicesOf(tables, search, 'OldestFirst')) {
    yield* tables.margins(search.filter, slice);
    await setImmediate();
  }
}

/** Each day of the search that has such calls, with the part of the range that lies in it. */
export function* daysOf(
  tables: UsageTables,
  { filter, range }: CallSearch,
): Generator<{ readonly day: number; readonly whole: boolean; readonly range: CallRange }> {
  const lastDay = lastDayOf(range);
  for (let from = dayOf(range.from); ;) {
    const day = tables.day(filter, [from, lastDay], 'OldestFirst');
    if (day === undefined) return;
    const ofDay = withinDay(range, day);
    yield { day, whole: isWholeDay(ofDay), range: ofDay };
    from = day + 1;
  }
}

/** The parts of a range, in an order, that may have such calls. */
function* slicesOf(tables: UsageTables, { filter, range }: CallSearch, order: CallOrder): Generator<CallRange> {
  for (let rest = range; comparePositions(rest.from, rest.to) < 0;) {
    const day = tables.day(filter, [dayOf(rest.from), lastDayOf(rest)], order);
    if (day === undefined) return;
    const slice = tables.slice(filter.account, withinDay(rest, day), { order, size: SLICE_ROWS });
    yield slice;
    rest = order === 'OldestFirst' ? { from: slice.to, to: rest.to } : { from: rest.from, to: slice.from };
  }
}

function dayOf({ createdMs }: CallPosition): number {
  return Math.floor(createdMs / DAY_MS);
}

/** The last day that a call of the range may have. */
function lastDayOf({ to }: CallRange): number {
  return to.callId === '' ? Math.ceil(to.createdMs / DAY_MS) - 1 : dayOf(to);
}

function withinDay({ from, to }: CallRange, day: number): CallRange {
  const [begin, end] = [momentOf(day * DAY_MS), momentOf((day + 1) * DAY_MS)];
  return {
    from: comparePositions(from, begin) > 0 ? from : begin,
    to: comparePositions(to, end) < 0 ? to : end,
  };
}

function isWholeDay({ from, to }: CallRange): boolean {
  return from.callId === '' && to.callId === '' && to.createdMs - from.createdMs === DAY_MS;
}

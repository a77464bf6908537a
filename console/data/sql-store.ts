/** A usage store over the tables that a ledger's file and a usage mirror share. */
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { UsageRecord } from '#usage/record.ts';
import type { CallPosition, DaySum, MarginSum, UsageTables } from '#usage/tables.ts';
import {
  comparePositions,
  findCalls,
  rangeAfter,
  rangeBefore,
  searchesOf,
  sumCalls,
  sumMargins,
} from './call-search.ts';
import { added, addedMargins, NO_CALLS } from './add-sums.ts';
import { createSeriesReader } from './series.ts';
import type { CallQuery, CallPage, KeyName, MarginName, SpendingSum, SpendingSums, UsageStore } from './usage.ts';

/** Gives access to the tables of some accounts. */
export interface UsageDatabase {
  /** Works with tables that are up to date, and open until the work has ended. Rejects where there are none. */
  use<R>(accounts: readonly string[], work: DatabaseQuery<R>): Promise<R>;
  close(): void;
}

/** `wholeSinceMs`: what was admitted before this moment may be missing in the tables; 0: nothing is. */
export type DatabaseQuery<R> = (tables: UsageTables, wholeSinceMs: number) => Promise<R>;

/** The batch size of an export. */
const BATCH_RECORDS = 1_000;
const DAY_MS = 86_400_000;

/** The store owns the source from now on. */
export function openSqlUsageStore(source: UsageDatabase): Omit<UsageStore, 'prepare'> {
  let closed = false;
  const series = createSeriesReader();

  async function ask<R>(query: CallQuery, work: DatabaseQuery<R>): Promise<R> {
    if (closed) throw new LedgerUnavailable('the ledger is closed');
    try {
      return await source.use([...new Set(query.accounts)], work);
    } catch (error) {
      if (error instanceof LedgerUnavailable) throw error;
      throw new LedgerUnavailable("the ledger's records cannot be read", { cause: error });
    }
  }

  return {
    sums: (query) => ask(query, (tables, wholeSinceMs) => sum(tables, query, wholeSinceMs)),
    series: (query, kind) =>
      ask(query, async (tables, wholeSinceMs) => ({ sums: await series.read(tables, query, kind), wholeSinceMs })),
    margins: (query, by) =>
      ask(query, async (tables, wholeSinceMs) => ({ sums: await readMargins(tables, query, by), wholeSinceMs })),
    page: (query, wanted) =>
      ask(query, async (tables, wholeSinceMs) => ({ ...(await readPage(tables, query, wanted)), wholeSinceMs })),
    find: (query, call) => ask(query, async (tables) => findCall(tables, query, call)),
    keyNames: (accounts) => ask({ accounts }, async (tables) => readKeyNames(tables, accounts)),
    async *records(query) {
      for (let after: UsageRecord | undefined; ;) {
        const previous = after;
        const records = await ask(query, (tables) => readBatch(tables, query, previous));
        yield* records;
        after = records.at(-1);
        if (!after) return;
      }
    },
    close() {
      closed = true;
      source.close();
    },
  };
}

async function sum(tables: UsageTables, query: CallQuery, wholeSinceMs: number): Promise<SpendingSums> {
  let all = NO_CALLS;
  const [byDay, byKey, byModel] = [
    new Map<number, SpendingSum>(),
    new Map<string, SpendingSum>(),
    new Map<string, SpendingSum>(),
  ];
  for (const search of searchesOf(query)) {
    for await (const each of sumCalls(tables, search)) {
      all = added(all, each);
      addTo(byDay, each.day, each);
      addTo(byKey, each.keyUid, each);
      addTo(byModel, each.model, each);
    }
  }
  const days = [...byDay].sort(([a], [b]) => a - b).map(([day, ofDay]) => [isoDay(day), ofDay] as const);
  return { all, byDay: new Map(days), byKey: dearestFirst(byKey), byModel: dearestFirst(byModel), wholeSinceMs };
}

function readKeyNames(tables: UsageTables, accounts: readonly string[]): Map<string, KeyName> {
  return new Map(
    accounts.flatMap((account) => tables.keyNames(account).map(([uid, name]) => [uid, { name, account }] as const)),
  );
}

async function readMargins(tables: UsageTables, query: CallQuery, by: readonly MarginName[]): Promise<MarginSum[]> {
  const sums = new Map<string, MarginSum>();
  for (const search of searchesOf(query)) {
    for await (const each of sumMargins(tables, search)) {
      const id = JSON.stringify(by.map((name) => each[name]));
      const before = sums.get(id);
      sums.set(id, before ? addedMargins(before, each) : each);
    }
  }
  return [...sums.values()].sort((a, b) => (a.billedNanoUsd > b.billedNanoUsd ? -1 : 1));
}

function findCall(tables: UsageTables, query: CallQuery, { createdMs, callId }: CallPosition): UsageRecord | undefined {
  const range = { from: { createdMs, callId }, to: { createdMs, callId: `${callId}\0` } };
  for (const { filter } of searchesOf(query)) {
    const [found] = tables.calls(filter, range, { order: 'OldestFirst', most: 1 });
    if (found) return found;
  }
  return undefined;
}

/** Reads one call more than the page shows, which tells whether there is a next page. */
async function readPage(
  tables: UsageTables,
  query: CallQuery,
  { size, before }: { readonly size: number; readonly before?: string },
): Promise<Omit<CallPage, 'wholeSinceMs'>> {
  const position = before === undefined ? undefined : parseCursor(before);
  const found: UsageRecord[] = [];
  for (const { filter, range } of searchesOf(query)) {
    const search = { filter, range: position ? rangeBefore(range, position) : range };
    found.push(...(await findCalls(tables, search, { order: 'NewestFirst', most: size + 1 })));
  }
  const calls = found.sort((a, b) => comparePositions(b, a)).slice(0, size);
  const last = calls.at(-1);
  return { calls, next: found.length > size && last ? formatCursor(last) : undefined };
}

/** The next records of an export; empty at its end. */
async function readBatch(
  tables: UsageTables,
  query: CallQuery,
  previous: UsageRecord | undefined,
): Promise<UsageRecord[]> {
  const found: UsageRecord[] = [];
  for (const { filter, range } of searchesOf(query)) {
    const search = { filter, range: previous ? rangeAfter(range, previous) : range };
    found.push(...(await findCalls(tables, search, { order: 'OldestFirst', most: BATCH_RECORDS })));
  }
  return found.sort(comparePositions).slice(0, BATCH_RECORDS);
}

/** For the address of a page. It names a call, so that it means the same on every replica. */
function formatCursor({ createdMs, callId }: CallPosition): string {
  return Buffer.from(`${createdMs} ${callId}`).toString('base64url');
}

/** undefined: it is none. */
function parseCursor(text: string): CallPosition | undefined {
  const [, createdMs, callId] = /^(\d{1,15}) (.+)$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  return createdMs === undefined || callId === undefined ? undefined : { createdMs: Number(createdMs), callId };
}

function addTo<K>(sums: Map<K, SpendingSum>, name: K, each: DaySum): void {
  sums.set(name, added(sums.get(name) ?? NO_CALLS, each));
}

function isoDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

function dearestFirst(sums: ReadonlyMap<string, SpendingSum>): Map<string, SpendingSum> {
  return new Map(
    [...sums].sort(([aName, a], [bName, b]) => {
      if (a.costNanoUsd !== b.costNanoUsd) return a.costNanoUsd > b.costNanoUsd ? -1 : 1;
      return aName < bName ? -1 : 1;
    }),
  );
}

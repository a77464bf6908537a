/** Records for a ledger, usage queries, and the results by plain counting. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { CallStatus, UsageRecord } from '#usage/record.ts';
import { comparePositions } from '../../../../console/data/call-search.ts';
import type { MarginSum } from '#usage/tables.ts';
import type { CallQuery, MarginName, SpendingSum, UsageStore } from '../../../../console/data/usage.ts';
import { marginsOf } from '../wallet/stand.ts';

export const NOON_MS = Date.UTC(2026, 10, 20, 12);
export const DAY_MS = 86_400_000;
export const ACCOUNTS = ['team-a/main', 'team-a/other', 'team-b/main'];
const MODELS = ['gpt', 'claude', 'flux'];
const KEYS = ['key-1', 'key-2', 'key-3'];
const SETTLED: readonly CallStatus[] = ['Succeeded', 'Failed', 'ClientClosed', 'ProviderCut', 'Abandoned'];

export interface PlannedCall {
  readonly account: string;
  readonly keyUid: string;
  readonly model: string;
  readonly status: CallStatus;
  readonly createdMs: number;
  readonly costNanoUsd: bigint;
  readonly tokens: { readonly input: number; readonly cached: number; readonly output: number };
  /** Its job fails later, and its cost is refunded. */
  readonly refunded: boolean;
}

const moment = fc.integer({ min: NOON_MS - 3 * DAY_MS, max: NOON_MS });

export const plannedCall: fc.Arbitrary<PlannedCall> = fc.record({
  account: fc.constantFrom(...ACCOUNTS),
  keyUid: fc.constantFrom(...KEYS),
  model: fc.constantFrom(...MODELS),
  status: fc.constantFrom(...SETTLED),
  // several calls in one millisecond too
  createdMs: fc.oneof(moment, fc.constantFrom(NOON_MS, NOON_MS - DAY_MS)),
  // also one that no float can represent; many of them fit into 64 bits
  costNanoUsd: fc.oneof(fc.bigInt({ min: 0n, max: 5_000_000_000n }), fc.constant(20_000_000_000_000_001n)),
  tokens: fc.record({ input: fc.nat(200_000), cached: fc.nat(100_000), output: fc.nat(64_000) }),
  refunded: fc.boolean(),
});

const optional = <T>(values: readonly T[]): fc.Arbitrary<T | undefined> =>
  fc.option(fc.constantFrom(...values), { nil: undefined });

export const query: fc.Arbitrary<CallQuery> = fc
  .record({
    accounts: fc.uniqueArray(fc.constantFrom(...ACCOUNTS, 'nobody/at-all'), { minLength: 1, maxLength: 4 }),
    keyUid: optional([...KEYS, 'no-key']),
    model: optional([...MODELS, 'no-model']),
    keysOf: optional([{ 'team-a/main': ['key-1', 'key-3'], 'team-b/main': [] }]),
    group: optional(['main', 'vip']),
    channel: optional(['route/direct', 'route/spare']),
    status: optional<CallStatus>([...SETTLED, 'Refunded', 'Running']),
    sinceMs: fc.option(moment, { nil: undefined }),
    untilMs: fc.option(moment, { nil: undefined }),
  })
  .map((given) => asQuery(given));

type Given = { readonly [F in keyof CallQuery]: CallQuery[F] | undefined } & Pick<CallQuery, 'accounts'>;

function asQuery({ accounts, keysOf, keyUid, model, group, channel, status, sinceMs, untilMs }: Given): CallQuery {
  return {
    accounts,
    ...(keysOf !== undefined && { keysOf }),
    ...(group !== undefined && { group }),
    ...(channel !== undefined && { channel }),
    ...(keyUid !== undefined && { keyUid }),
    ...(model !== undefined && { model }),
    ...(status !== undefined && { status }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(untilMs !== undefined && { untilMs }),
  };
}

export function recordOf(call: PlannedCall, callId: string): UsageRecord {
  const { refunded: _, tokens, ...rest } = call;
  return {
    ...rest,
    callId,
    group: call.costNanoUsd % 2n === 0n ? 'main' : 'vip',
    channel: call.tokens.output % 2 === 0 ? 'route/direct' : 'route/spare',
    catalog: 'model-gateway/prices@1',
    tokens: { ...tokens, cacheWrite5m: 3, cacheWrite1h: 2 },
    usageSource: 'Provider',
    unbilledNanoUsd: 0n,
    durationMs: 1200,
  };
}

export function asRefunded(record: UsageRecord): UsageRecord {
  return { ...record, costNanoUsd: 0n, unbilledNanoUsd: 0n, status: 'Refunded' };
}

const SERIES = [
  ['Model', ({ model }: UsageRecord) => model],
  ['Key', ({ keyUid }: UsageRecord) => keyUid],
  ['Group', ({ group }: UsageRecord) => group],
  ['Account', ({ account }: UsageRecord) => account],
] as const;

/** Asserts that the queries' results equal the count of these records. */
export async function checkBook(
  book: UsageStore,
  all: readonly UsageRecord[],
  asked: CallQuery,
  size: number,
): Promise<void> {
  const wanted = all.filter((record) => isWanted(record, asked)).sort(comparePositions);
  const { all: sum, byDay, byKey, byModel, wholeSinceMs } = await book.sums(asked);
  assert.equal(wholeSinceMs, 0);
  assert.deepEqual(sum, sumOf(wanted));
  assert.deepEqual(
    [...byDay],
    grouped(wanted, ({ createdMs }) => new Date(createdMs).toISOString().slice(0, 10)).sort(([a], [b]) =>
      a < b ? -1 : 1,
    ),
  );
  assert.deepEqual([...byKey], dearestFirst(grouped(wanted, ({ keyUid }) => keyUid)));
  assert.deepEqual([...byModel], dearestFirst(grouped(wanted, ({ model }) => model)));
  for (const unit of ['Day', 'Hour'] as const)
    for (const [by, nameOf] of SERIES) {
      const intervalMs = unit === 'Day' ? DAY_MS : DAY_MS / 24;
      const expected = grouped(
        wanted,
        (record) => `${Math.floor(record.createdMs / intervalMs) * intervalMs} ${nameOf(record)}`,
      );
      const series = await book.series(asked, { by, unit });
      const got = series.sums.map(({ startMs, name, ...each }) => [`${startMs} ${name}`, each] as const);
      assert.deepEqual(
        got.toSorted(([a], [b]) => (a < b ? -1 : 1)),
        expected.toSorted(([a], [b]) => (a < b ? -1 : 1)),
      );
    }
  for (const by of MARGINS) {
    const { sums } = await book.margins(asked, by);
    assert.deepEqual(named(sums, by), named(marginsOf(wanted, by), by));
  }
  assert.deepEqual(await Array.fromAsync(book.records(asked)), wanted);
  assert.deepEqual(await pagesOf(book, asked, size), wanted.toReversed());
}

const MARGINS: readonly (readonly MarginName[])[] = [
  ['model', 'channel'],
  ['account', 'model'],
  ['keyUid', 'group'],
  [],
];

/** Sums by the names that they were asked by, in an order of their own; other names are any call's. */
function named(sums: readonly MarginSum[], by: readonly MarginName[]): (readonly [string, object])[] {
  return sums
    .map(({ calls, billedNanoUsd, known, ...sum }) => {
      const names = JSON.stringify(by.map((name) => sum[name]));
      return [names, { calls, billedNanoUsd, known }] as const;
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

async function pagesOf(book: UsageStore, asked: CallQuery, size: number): Promise<UsageRecord[]> {
  const calls: UsageRecord[] = [];
  for (let before: string | undefined, pages = 0; ; pages++) {
    const page = await book.page(asked, { size, ...(before !== undefined && { before }) });
    assert.ok(page.calls.length <= size && pages < 1000);
    calls.push(...page.calls);
    if (page.next === undefined) return calls;
    assert.equal(page.calls.length, size);
    before = page.next;
  }
}

function isWanted(
  record: UsageRecord,
  { accounts, keysOf = {}, keyUid, model, group, channel, status, sinceMs = 0, untilMs = Infinity }: CallQuery,
): boolean {
  return (
    accounts.includes(record.account) &&
    (keysOf[record.account] ?? [record.keyUid]).includes(record.keyUid) &&
    [
      [keyUid, record.keyUid],
      [model, record.model],
      [group, record.group],
      [channel, record.channel],
      [status, record.status],
    ].every(([wish, is]) => wish === undefined || wish === is) &&
    record.createdMs >= sinceMs &&
    record.createdMs < untilMs
  );
}

function sumOf(records: readonly UsageRecord[]): SpendingSum {
  const inputOf = ({ tokens: { input, cached, cacheWrite5m, cacheWrite1h } }: UsageRecord): number =>
    input + cached + cacheWrite5m + cacheWrite1h;
  return {
    calls: records.length,
    costNanoUsd: records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n),
    inputTokens: records.reduce((sum, record) => sum + inputOf(record), 0),
    outputTokens: records.reduce((sum, { tokens }) => sum + tokens.output, 0),
  };
}

function grouped(records: readonly UsageRecord[], by: (record: UsageRecord) => string): [string, SpendingSum][] {
  return [...Map.groupBy(records, by)].map(([name, some]) => [name, sumOf(some)]);
}

function dearestFirst(sums: [string, SpendingSum][]): [string, SpendingSum][] {
  return sums.sort(
    ([a, { costNanoUsd: ofA }], [b, { costNanoUsd: ofB }]) => Number(ofB > ofA) - Number(ofB < ofA) || (a < b ? -1 : 1),
  );
}

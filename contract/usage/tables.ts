/**
 * Reads the tables of schema.ts. Calls of an account are ordered by admission, then by id. Each statement reads a
 * bounded part of an account, because SQLite blocks the calling thread. Every method throws if the database cannot be
 * read.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { decodeCount, decodeRecord, RECORD_COLUMNS, RowReader } from './rows.ts';
import type { Row } from './rows.ts';
import { prepareRows, rowsOf } from './sqlite.ts';
import type { CallStatus, UsageRecord } from './record.ts';
import { DAY_MS } from './schema.ts';

/** A position in the order of an account's calls. An empty id comes before all calls of its millisecond. */
export interface CallPosition {
  readonly createdMs: number;
  readonly callId: string;
}

/** Selects calls of one account; an absent field matches every call. */
export interface CallFilter {
  readonly account: string;
  readonly keyUid?: string;
  readonly model?: string;
  /** The serving group. The daily sums are not kept by group. */
  readonly group?: string;
  /** "route/channel". The daily sums are not kept by channel. */
  readonly channel?: string;
  readonly callId?: string;
  readonly status?: CallStatus;
}

/** From one position (inclusive) to another (exclusive). */
export interface CallRange {
  readonly from: CallPosition;
  readonly to: CallPosition;
}

/** The sum of an account's calls with the same UTC day, key, model and status. */
export interface DaySum {
  /** Days since the epoch. */
  readonly day: number;
  readonly keyUid: string;
  readonly model: string;
  readonly calls: number;
  readonly costNanoUsd: bigint;
  /** Includes cached and written tokens. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The sum of calls with the same key, model and group that were admitted in one interval of time. */
export interface IntervalSum extends Omit<DaySum, 'day'> {
  /** The start of the interval, milliseconds since the epoch. */
  readonly startMs: number;
  readonly group: string;
}

/** The sum of a day's calls with the same model, account or key; `name` is that model, account or key's uid. */
export interface DayTotal extends Omit<DaySum, 'day' | 'keyUid' | 'model'> {
  readonly name: string;
}

/** The calls that share all of these names: what they were billed, and what they cost the platform. */
export interface MarginSum extends MarginNames {
  readonly calls: number;
  /** Includes cached and written tokens. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly billedNanoUsd: bigint;
  /**
   * The calls whose cost to the platform is known, what these were billed, and what they cost. A failed call that was
   * not billed is one of them, at a cost of 0.
   */
  readonly known: { readonly calls: number; readonly billedNanoUsd: bigint; readonly upstreamNanoUsd: bigint };
}

/** The names that calls are summed by. */
export interface MarginNames {
  readonly account: string;
  readonly model: string;
  /** "route/channel" */
  readonly channel: string;
  readonly keyUid: string;
  readonly group: string;
  /** In the record's format; "" if there were none. */
  readonly labels: string;
}

/** The attribute by which a day's calls are summed. */
export type DayTotalBy = 'Model' | 'Key' | 'Account';

export type CallOrder = 'OldestFirst' | 'NewestFirst';

const COLUMNS = RECORD_COLUMNS.join(', ');
const DAY_FILTER = `(:key IS NULL OR key_uid = :key) AND (:model IS NULL OR model = :model)
  AND (:status IS NULL OR status = :status)`;
const FILTER = `${DAY_FILTER} AND (:group IS NULL OR group_name = :group)
  AND (:channel IS NULL OR channel = :channel) AND (:callId IS NULL OR call_id = :callId)`;
const IN_RANGE = `account = :account AND (created_ms, call_id) >= (:fromMs, :fromId)
  AND (created_ms, call_id) < (:toMs, :toId)`;
const ORDER: Readonly<Record<CallOrder, string>> = {
  OldestFirst: 'ORDER BY created_ms, call_id',
  NewestFirst: 'ORDER BY created_ms DESC, call_id DESC',
};
const DAYS = 'account = :account AND day >= :fromDay AND day <= :toDay';

/** Whether the cost to the platform is known: it is recorded, or nothing for a failed call that was not billed. */
const COST_KNOWN = `(upstream_cost_nano_usd IS NOT NULL OR (status = 'Failed' AND cost_nano_usd = 0))`;

/** The statements; tests check their query plans. */
export const USAGE_QUERIES = {
  calls: (order: CallOrder) =>
    `SELECT ${COLUMNS} FROM usage WHERE ${IN_RANGE} AND ${FILTER} ${ORDER[order]} LIMIT :most`,
  position: (order: CallOrder) =>
    `SELECT created_ms, call_id FROM usage WHERE ${IN_RANGE} ${ORDER[order]} LIMIT 1 OFFSET :count`,
  sums: `SELECT created_ms / ${DAY_MS}, key_uid, model, count(*), sum(cost_nano_usd),
    sum(input + cached + cache_write_5m + cache_write_1h), sum(output)
    FROM usage WHERE ${IN_RANGE} AND ${FILTER} GROUP BY 1, 2, 3`,
  daySums: `SELECT day, key_uid, model, calls, cost_nano_usd, input_tokens, output_tokens FROM usage_days
    WHERE account = :account AND day = :day AND ${DAY_FILTER}`,
  intervals: `SELECT created_ms / :lengthMs, key_uid, model, group_name, count(*), sum(cost_nano_usd),
    sum(input + cached + cache_write_5m + cache_write_1h), sum(output)
    FROM usage WHERE ${IN_RANGE} AND ${FILTER} GROUP BY 1, 2, 3, 4`,
  margins: `SELECT account, model, channel, key_uid, group_name, labels, count(*),
    sum(input + cached + cache_write_5m + cache_write_1h), sum(output), sum(cost_nano_usd),
    sum(${COST_KNOWN}), sum(CASE WHEN ${COST_KNOWN} THEN cost_nano_usd ELSE 0 END),
    sum(coalesce(upstream_cost_nano_usd, 0)) FROM usage WHERE ${IN_RANGE} AND ${FILTER} GROUP BY 1, 2, 3, 4, 5, 6`,
  dayTotals: (column: 'model' | 'key_uid' | 'account') => `SELECT ${column}, sum(calls), sum(cost_nano_usd),
    sum(input_tokens), sum(output_tokens) FROM usage_days WHERE account = :account AND day = :day AND ${DAY_FILTER}
    GROUP BY ${column}`,
  day: (order: CallOrder) => `SELECT day FROM usage_days WHERE ${DAYS} AND ${DAY_FILTER}
    ORDER BY day ${order === 'OldestFirst' ? 'ASC' : 'DESC'} LIMIT 1`,
  keyNames: 'SELECT key_uid, key_name FROM key_names WHERE account = :account',
};

export class UsageTables {
  readonly #calls: Readonly<Record<CallOrder, StatementSync>>;
  readonly #position: Readonly<Record<CallOrder, StatementSync>>;
  readonly #day: Readonly<Record<CallOrder, StatementSync>>;
  readonly #sums: StatementSync;
  readonly #daySums: StatementSync;
  readonly #intervals: StatementSync;
  readonly #margins: StatementSync;
  readonly #dayTotals: Readonly<Record<DayTotalBy, StatementSync>>;
  readonly #keyNames: StatementSync;

  constructor(db: DatabaseSync) {
    const both = (sql: (order: CallOrder) => string): Readonly<Record<CallOrder, StatementSync>> => ({
      OldestFirst: prepareRows(db, sql('OldestFirst')),
      NewestFirst: prepareRows(db, sql('NewestFirst')),
    });
    this.#calls = both(USAGE_QUERIES.calls);
    this.#position = both(USAGE_QUERIES.position);
    this.#day = both(USAGE_QUERIES.day);
    this.#sums = prepareRows(db, USAGE_QUERIES.sums);
    this.#daySums = prepareRows(db, USAGE_QUERIES.daySums);
    this.#intervals = prepareRows(db, USAGE_QUERIES.intervals);
    this.#margins = prepareRows(db, USAGE_QUERIES.margins);
    this.#dayTotals = {
      Model: prepareRows(db, USAGE_QUERIES.dayTotals('model')),
      Key: prepareRows(db, USAGE_QUERIES.dayTotals('key_uid')),
      Account: prepareRows(db, USAGE_QUERIES.dayTotals('account')),
    };
    this.#keyNames = prepareRows(db, USAGE_QUERIES.keyNames);
  }

  /** At most `most` calls of a range, in the given order. */
  calls(
    filter: CallFilter,
    range: CallRange,
    { order, most }: { readonly order: CallOrder; readonly most: number },
  ): UsageRecord[] {
    const parameters = { ...filterParameters(filter), ...rangeParameters(range), most };
    return rowsOf(this.#calls[order].all(parameters)).map(decodeRecord);
  }

  /** The first part of a range that contains `size` calls of the account, or the whole range if it has fewer. */
  slice(
    account: string,
    range: CallRange,
    { order, size }: { readonly order: CallOrder; readonly size: number },
  ): CallRange {
    // the newest slice starts at its last call; the oldest slice ends before the first call of the next slice
    const count = order === 'NewestFirst' ? size - 1 : size;
    const [row] = rowsOf(this.#position[order].all({ account, ...rangeParameters(range), count }));
    if (!row) return range;
    const read = new RowReader(row);
    const position = { createdMs: read.count(), callId: read.text() };
    return order === 'NewestFirst' ? { from: position, to: range.to } : { from: range.from, to: position };
  }

  /** Sums of a range, computed from its calls. */
  sums(filter: CallFilter, range: CallRange): DaySum[] {
    return rowsOf(this.#sums.all({ ...filterParameters(filter), ...rangeParameters(range) })).map(decodeSum);
  }

  /** Sums of a range by intervals of a length, computed from its calls. */
  intervals(filter: CallFilter, range: CallRange, lengthMs: number): IntervalSum[] {
    const parameters = { ...filterParameters(filter), ...rangeParameters(range), lengthMs: BigInt(lengthMs) };
    return rowsOf(this.#intervals.all(parameters)).map((row) => decodeInterval(row, lengthMs));
  }

  /** Margins of a range, computed from its calls. */
  margins(filter: CallFilter, range: CallRange): MarginSum[] {
    return rowsOf(this.#margins.all({ ...filterParameters(filter), ...rangeParameters(range) })).map(decodeMargin);
  }

  /** Sums of a whole day; a key and model have one for each status. */
  daySums(filter: CallFilter, day: number): DaySum[] {
    return rowsOf(this.#daySums.all({ ...dayParameters(filter), day })).map(decodeSum);
  }

  /** Sums of a whole day, one for each name. */
  dayTotals(filter: CallFilter, day: number, by: DayTotalBy): DayTotal[] {
    return rowsOf(this.#dayTotals[by].all({ ...dayParameters(filter), day })).map((row) => {
      const read = new RowReader(row);
      return {
        name: read.text(),
        calls: read.count(),
        costNanoUsd: read.amount(),
        inputTokens: read.count(),
        outputTokens: read.count(),
      };
    });
  }

  /** The names of the account's keys by uid, deleted ones included. */
  keyNames(account: string): (readonly [uid: string, name: string])[] {
    return rowsOf(this.#keyNames.all({ account })).map((row) => {
      const read = new RowReader(row);
      return [read.text(), read.text()];
    });
  }

  /** The first day, in the given order, that has matching calls; the range includes both ends. */
  day(filter: CallFilter, [fromDay, toDay]: readonly [number, number], order: CallOrder): number | undefined {
    const [row] = rowsOf(this.#day[order].all({ ...dayParameters(filter), fromDay, toDay }));
    return row && decodeCount(row);
  }
}

function dayParameters({ account, keyUid, model, status }: CallFilter): Record<string, string | null> {
  return { account, key: keyUid ?? null, model: model ?? null, status: status ?? null };
}

function filterParameters(filter: CallFilter): Record<string, string | null> {
  const { group = null, channel = null, callId = null } = filter;
  return { ...dayParameters(filter), group, channel, callId };
}

function rangeParameters({ from, to }: CallRange): Record<string, string | number> {
  return { fromMs: from.createdMs, fromId: from.callId, toMs: to.createdMs, toId: to.callId };
}

function decodeSum(row: Row): DaySum {
  const read = new RowReader(row);
  return {
    day: read.count(),
    keyUid: read.text(),
    model: read.text(),
    calls: read.count(),
    costNanoUsd: read.amount(),
    inputTokens: read.count(),
    outputTokens: read.count(),
  };
}

function decodeMargin(row: Row): MarginSum {
  const read = new RowReader(row);
  return {
    account: read.text(),
    model: read.text(),
    channel: read.text(),
    keyUid: read.text(),
    group: read.text(),
    labels: read.text(),
    calls: read.count(),
    inputTokens: read.count(),
    outputTokens: read.count(),
    billedNanoUsd: read.amount(),
    known: { calls: read.count(), billedNanoUsd: read.amount(), upstreamNanoUsd: read.amount() },
  };
}

function decodeInterval(row: Row, lengthMs: number): IntervalSum {
  const read = new RowReader(row);
  return {
    startMs: read.count() * lengthMs,
    keyUid: read.text(),
    model: read.text(),
    group: read.text(),
    calls: read.count(),
    costNanoUsd: read.amount(),
    inputTokens: read.count(),
    outputTokens: read.count(),
  };
}

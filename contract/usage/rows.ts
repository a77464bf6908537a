/** [P] Rows of SQLite, and how a usage record is written to them and read, in the order of the column lists. */
import { OPTIONAL_FIELDS, optionalValues, parseOptional, PROGRESS_FIELDS } from './optional-fields.ts';
import type { CallOrigin, CallProgress, UsageRecord } from './record.ts';

export type Value = string | number | bigint | null;
/** A row of SQLite, in which integers are read as BigInt. */
export type Row = readonly Value[];

/** The columns of a call's origin, and of its progress. */
export const ORIGIN_COLUMNS = [
  'call_id',
  'key_uid',
  'account',
  'created_ms',
  'group_name',
  'model',
  'channel',
  'catalog',
];
const PROGRESS_COLUMNS = [
  'cost_nano_usd',
  'input',
  'cached',
  'cache_write_5m',
  'cache_write_1h',
  'output',
  'usage_source',
];

export const RECORD_COLUMNS = [
  ...ORIGIN_COLUMNS,
  ...PROGRESS_COLUMNS,
  'status',
  'unbilled_nano_usd',
  'duration_ms',
  ...OPTIONAL_FIELDS.map(({ column }) => column),
];
/** The columns that a job's end changes in the record of its call. */
export const CORRECTED_COLUMNS = [
  ...PROGRESS_COLUMNS,
  'status',
  'unbilled_nano_usd',
  ...PROGRESS_FIELDS.map(({ column }) => column),
];

/** The values of RECORD_COLUMNS. */
export function recordRow(record: UsageRecord): Value[] {
  const { status, unbilledNanoUsd, durationMs } = record;
  return [
    ...originRow(record),
    ...progressRow(record),
    status,
    unbilledNanoUsd,
    durationMs,
    ...optionalValues(OPTIONAL_FIELDS, record),
  ];
}

/** The values of CORRECTED_COLUMNS. */
export function correctedRow(record: UsageRecord): Value[] {
  const { status, unbilledNanoUsd } = record;
  return [...progressRow(record), status, unbilledNanoUsd, ...optionalValues(PROGRESS_FIELDS, record)];
}

function progressRow({ costNanoUsd, tokens, usageSource }: CallProgress): Value[] {
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = tokens;
  return [costNanoUsd, input, cached, cacheWrite5m, cacheWrite1h, output, usageSource];
}

/** The values of ORIGIN_COLUMNS. */
export function originRow({ callId, keyUid, account, createdMs, group, model, channel, catalog }: CallOrigin): Value[] {
  return [callId, keyUid, account, createdMs, group, model, channel, catalog];
}

/** Decodes a row that begins with RECORD_COLUMNS. */
export function decodeRecord(row: Row): UsageRecord {
  return readRecord(new RowReader(row));
}

/** Decodes a row that begins with a safe integer. */
export function decodeCount(row: Row): number {
  return new RowReader(row).count();
}

/** Reads the values of RECORD_COLUMNS. */
export function readRecord(read: RowReader): UsageRecord {
  const record = {
    ...readOrigin(read),
    ...readProgress(read),
    status: read.text(),
    unbilledNanoUsd: read.amount(),
    durationMs: read.count(),
  };
  const texts = OPTIONAL_FIELDS.map(({ kind }) =>
    kind === 'Text' ? read.text() : (read.amountOrNull()?.toString() ?? ''),
  );
  return { ...record, ...parseOptional(OPTIONAL_FIELDS, texts) };
}

/** Reads the values of ORIGIN_COLUMNS. */
export function readOrigin(read: RowReader): CallOrigin {
  return {
    callId: read.text(),
    keyUid: read.text(),
    account: read.text(),
    createdMs: read.count(),
    group: read.text(),
    model: read.text(),
    channel: read.text(),
    catalog: read.text(),
  };
}

/** Reads the values of PROGRESS_COLUMNS. */
export function readProgress(read: RowReader): CallProgress {
  const costNanoUsd = read.amount();
  const [input, cached, cacheWrite5m] = [read.count(), read.count(), read.count()];
  const [cacheWrite1h, output] = [read.count(), read.count()];
  const tokens = { input, cached, cacheWrite5m, cacheWrite1h, output };
  return { costNanoUsd, tokens, usageSource: read.text() };
}

/** Reads a row's values in order. Throws if a value has another type, because the file is then damaged. */
export class RowReader {
  readonly #row: Row;
  #at = 0;

  constructor(row: Row) {
    this.#row = row;
  }

  text(): string {
    const value = this.#row[this.#at++];
    if (typeof value !== 'string') throw new Error('a value in the file is not a text');
    return value;
  }

  textOrNull(): string | null {
    return this.#row[this.#at] === null ? (this.#at++, null) : this.text();
  }

  /** An integer of any size. */
  amount(): bigint {
    const value = this.amountOrNull();
    if (value === null) throw new Error('a value is missing in the file');
    return value;
  }

  amountOrNull(): bigint | null {
    const value = this.#row[this.#at++];
    if (typeof value !== 'bigint' && value !== null) throw new Error('a value in the file is not an integer');
    return value;
  }

  /** A safe integer. */
  count(): number {
    return Number(this.amount());
  }

  countOrNull(): number | null {
    const value = this.amountOrNull();
    return value === null ? null : Number(value);
  }

  oneOf<T extends string>(words: readonly T[]): T {
    const text = this.text();
    const known = words.find((word) => word === text);
    if (known === undefined) throw new Error(`the file has an unknown word: ${text}`);
    return known;
  }
}

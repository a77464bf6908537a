/** [P] Formats usage records as JSON columns and CSV. Amounts are decimal USD. */
import { formatLines } from '#price/bill.ts';
import { formatDecimal } from '#snapshot/decimal.ts';
import { namespaceOf } from './filter.ts';
import type { UsageRecord } from './record.ts';

export type UsageColumn = readonly [name: string, value: (record: UsageRecord) => string | number];

/** At least two decimal places; nano-USD have up to nine. */
const PLACES = 2;

/** Columns, in the order of JSON and CSV. */
const USAGE_COLUMNS: readonly UsageColumn[] = [
  ['id', ({ callId }) => callId],
  ['created_at', ({ createdMs }) => new Date(createdMs).toISOString()],
  ['key', ({ keyUid }) => keyUid],
  ['account', ({ account }) => account],
  ['group', ({ group }) => group],
  ['model', ({ model }) => model],
  ['channel', ({ channel }) => channel],
  ['catalog', ({ catalog }) => catalog],
  ['status', ({ status }) => status],
  ['usage_source', ({ usageSource }) => usageSource],
  ['input_tokens', ({ tokens }) => tokens.input],
  ['cached_tokens', ({ tokens }) => tokens.cached],
  ['cache_write_5m_tokens', ({ tokens }) => tokens.cacheWrite5m],
  ['cache_write_1h_tokens', ({ tokens }) => tokens.cacheWrite1h],
  ['output_tokens', ({ tokens }) => tokens.output],
  ['cost_usd', ({ costNanoUsd }) => usd(costNanoUsd)],
  ['unbilled_usd', ({ unbilledNanoUsd }) => usd(unbilledNanoUsd)],
  ['duration_ms', ({ durationMs }) => durationMs],
  ['lines', ({ lines }) => formatLines(lines)],
  ['session', ({ session }) => session ?? ''],
  ['key_name', ({ keyName }) => keyName ?? ''],
  ['namespace', namespaceOf],
  ['labels', ({ labels }) => labels ?? ''],
];

/** What calls cost the platform. Only for who may see it: never for holders of keys. Empty: unknown. */
const MARGIN_COLUMNS: readonly UsageColumn[] = [
  ['upstream_cost_usd', ({ upstreamCostNanoUsd }) => usdOrNothing(upstreamCostNanoUsd)],
  ['margin_usd', (record) => usdOrNothing(marginNanoUsd(record))],
];

/** Writes a table of records: its header line and each record's line, with their line breaks. */
export interface UsageCsv {
  readonly head: string;
  readonly row: (record: UsageRecord) => string;
}

/** With `margins` also the columns that only the platform may see. */
export function usageCsv({ margins }: { readonly margins: boolean }): UsageCsv {
  const columns = usageColumns({ margins });
  return {
    head: csvLine(columns.map(([name]) => name)),
    row: (record) => csvLine(columns.map(([, value]) => value(record))),
  };
}

/** The columns of JSON and CSV. */
export function usageColumns({ margins }: { readonly margins: boolean }): readonly UsageColumn[] {
  return margins ? [...USAGE_COLUMNS, ...MARGIN_COLUMNS] : USAGE_COLUMNS;
}

/** What was billed less what the call costs the platform; negative: a loss. Undefined: the cost is unknown. */
export function marginNanoUsd({
  costNanoUsd,
  upstreamCostNanoUsd,
}: Pick<UsageRecord, 'costNanoUsd' | 'upstreamCostNanoUsd'>): bigint | undefined {
  return upstreamCostNanoUsd === undefined ? undefined : costNanoUsd - upstreamCostNanoUsd;
}

function usdOrNothing(nanoUsd: bigint | undefined): string {
  return nanoUsd === undefined ? '' : usd(nanoUsd);
}

/** Formats nano-USD as decimal USD. */
export function usd(nanoUsd: bigint): string {
  return formatDecimal(nanoUsd, PLACES);
}

/** One line of RFC 4180, with its line break. */
export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^-?\d+(?:\.\d+)?$/;

/**
 * A cell of RFC 4180. Text that a spreadsheet would run as a formula gets an apostrophe, because model names come from
 * outside.
 */
function csvCell(value: string | number): string {
  const text = typeof value === 'string' && FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

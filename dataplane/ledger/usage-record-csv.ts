/** [P] Formats usage records as JSON columns and CSV. Amounts are decimal USD. */
import { formatLines } from './bill.ts';
import { formatDecimal } from '../snapshot/decimal.ts';
import type { UsageRecord } from './usage-record.ts';

export type UsageColumn = readonly [name: string, value: (record: UsageRecord) => string | number];

/** At least two decimal places; nano-USD have up to nine. */
const PLACES = 2;

/** Columns, in the order of JSON and CSV. */
export const USAGE_COLUMNS: readonly UsageColumn[] = [
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
];

/** The header line, with its line break. */
export function usageCsvHead(): string {
  return csvLine(USAGE_COLUMNS.map(([name]) => name));
}

/** One record's line, with its line break. */
export function usageCsvRow(record: UsageRecord): string {
  return csvLine(USAGE_COLUMNS.map(([, value]) => value(record)));
}

/** Formats nano-USD as decimal USD. */
export function usd(nanoUsd: bigint): string {
  return formatDecimal(nanoUsd, PLACES);
}

/** One line of RFC 4180, with its line break. */
export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * A cell of RFC 4180. Text that a spreadsheet would run as a formula gets an apostrophe, because model names come from
 * outside.
 */
function csvCell(value: string | number): string {
  const text = typeof value === 'string' && /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

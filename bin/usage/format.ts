/** Records of calls as people and programs read them: a table, JSON (one list) or CSV. Money is a decimal of USD. */
import { formatDecimal } from '../../dataplane/snapshot/decimal.ts';
import type { UsageRecord } from '../../dataplane/ledger/usage-record.ts';

export type UsageFormat = 'table' | 'json' | 'csv';

/** A part of the text for each record, and what comes before and after all of them. */
export interface UsageWriter {
  readonly begin: string;
  row(record: UsageRecord): string;
  end(): string;
}

type Column = readonly [name: string, value: (record: UsageRecord) => string | number];

/** At least, as people write money; nano-dollars have nine. */
const PLACES = 2;
const COLUMNS: readonly Column[] = [
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
];

/** What fits a terminal: the rest is in JSON and CSV. */
const TABLE: readonly (readonly [name: string, width: number, value: (record: UsageRecord) => string])[] = [
  ['CREATED', 20, ({ createdMs }) => new Date(createdMs).toISOString().replace(/\.\d+Z$/, 'Z')],
  ['KEY', 36, ({ keyUid }) => keyUid],
  ['ACCOUNT', 24, ({ account }) => account],
  ['MODEL', 24, ({ model }) => model],
  ['STATUS', 12, ({ status }) => status],
  ['IN', 9, ({ tokens: { input, cached, cacheWrite5m, cacheWrite1h } }) => String(input + cached + cacheWrite5m + cacheWrite1h)],
  ['OUT', 8, ({ tokens }) => String(tokens.output)],
  ['COST USD', 14, ({ costNanoUsd }) => usd(costNanoUsd)],
  ['ID', 0, ({ callId }) => callId],
];

export function usageWriter(format: UsageFormat): UsageWriter {
  return { table: tableWriter, json: jsonWriter, csv: csvWriter }[format]();
}

function tableWriter(): UsageWriter {
  let [calls, cost] = [0, 0n];
  const line = (cells: readonly string[]): string => `${cells.map((cell, index) => cell.padEnd(TABLE[index]?.[1] ?? 0)).join('  ').trimEnd()}\n`;
  return {
    begin: line(TABLE.map(([name]) => name)),
    row: (record) => {
      calls++;
      cost += record.costNanoUsd;
      return line(TABLE.map(([, , value]) => value(record)));
    },
    end: () => `${calls} ${calls === 1 ? 'call' : 'calls'}, ${usd(cost)} USD\n`,
  };
}

function jsonWriter(): UsageWriter {
  let first = true;
  return {
    begin: '[',
    row: (record) => {
      const text = JSON.stringify(Object.fromEntries(COLUMNS.map(([name, value]) => [name, value(record)])));
      const separator = first ? '\n' : ',\n';
      first = false;
      return `${separator}  ${text}`;
    },
    end: () => '\n]\n',
  };
}

function csvWriter(): UsageWriter {
  const line = (cells: readonly (string | number)[]): string => `${cells.map(csvCell).join(',')}\r\n`;
  return { begin: line(COLUMNS.map(([name]) => name)), row: (record) => line(COLUMNS.map(([, value]) => value(record))), end: () => '' };
}

/** RFC 4180. What a spreadsheet would take for a formula is kept from being one: names of models come from outside. */
function csvCell(value: string | number): string {
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function usd(nanoUsd: bigint): string {
  return formatDecimal(nanoUsd, PLACES);
}

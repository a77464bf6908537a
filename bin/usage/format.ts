/** Formats usage records as a table, JSON (one list) or CSV. Amounts are decimal USD. */
import { viewLines } from '../../dataplane/ledger/bill.ts';
import { USAGE_COLUMNS, usageCsvHead, usageCsvRow, usd } from '../../dataplane/ledger/usage-record-csv.ts';
import type { UsageRecord } from '../../dataplane/ledger/usage-record.ts';

export type UsageFormat = 'table' | 'json' | 'csv';

/** Writes each record, and the text before and after all of them. */
interface UsageWriter {
  readonly begin: string;
  row(record: UsageRecord): string;
  end(): string;
}

/** The columns that fit a terminal; JSON and CSV have all. */
const TABLE: readonly (readonly [name: string, width: number, value: (record: UsageRecord) => string])[] = [
  ['CREATED', 20, ({ createdMs }) => new Date(createdMs).toISOString().replace(/\.\d+Z$/, 'Z')],
  ['KEY', 36, ({ keyUid }) => keyUid],
  ['ACCOUNT', 24, ({ account }) => account],
  ['MODEL', 24, ({ model }) => model],
  ['STATUS', 12, ({ status }) => status],
  ['IN', 9, ({ tokens: { input, cached, cacheWrite5m, cacheWrite1h } }) =>
    String(input + cached + cacheWrite5m + cacheWrite1h)],
  ['OUT', 8, ({ tokens }) => String(tokens.output)],
  ['COST USD', 14, ({ costNanoUsd }) => usd(costNanoUsd)],
  ['ID', 0, ({ callId }) => callId],
];

export function usageWriter(format: UsageFormat): UsageWriter {
  return { table: tableWriter, json: jsonWriter, csv: csvWriter }[format]();
}

function tableWriter(): UsageWriter {
  let [calls, cost] = [0, 0n];
  const line = (cells: readonly string[]): string =>
    `${cells.map((cell, index) => cell.padEnd(TABLE[index]?.[1] ?? 0)).join('  ').trimEnd()}\n`;
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
      const columns = Object.fromEntries(USAGE_COLUMNS.map(([name, value]) => [name, value(record)]));
      const text = JSON.stringify({ ...columns, lines: viewLines(record.lines) });
      const separator = first ? '\n' : ',\n';
      first = false;
      return `${separator}  ${text}`;
    },
    end: () => '\n]\n',
  };
}

function csvWriter(): UsageWriter {
  return { begin: usageCsvHead(), row: usageCsvRow, end: () => '' };
}

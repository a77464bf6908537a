/** Formats usage records as a table, JSON (one list) or CSV. Amounts are decimal USD. */
import { viewLines } from '#price/bill.ts';
import { keyIdOf } from '#usage/filter.ts';
import { marginNanoUsd, usageColumns, usageCsv, usd } from '#usage/csv.ts';
import type { UsageRecord } from '#usage/record.ts';

export type UsageFormat = 'table' | 'json' | 'csv';

/** Writes each record, and the text before and after all of them. */
export interface UsageWriter {
  readonly begin: string;
  row(record: UsageRecord): string;
  end(): string;
}

/** The columns that fit a terminal; JSON and CSV have all. */
type TableColumn = readonly [name: string, width: number, value: (record: UsageRecord) => string];

const TABLE: readonly TableColumn[] = [
  ['CREATED', 20, ({ createdMs }) => new Date(createdMs).toISOString().replace(/\.\d+Z$/, 'Z')],
  ['KEY', 36, (record) => keyIdOf(record) ?? record.keyUid],
  ['ACCOUNT', 24, ({ account }) => account],
  ['MODEL', 24, ({ model }) => model],
  ['STATUS', 12, ({ status }) => status],
  [
    'IN',
    9,
    ({ tokens: { input, cached, cacheWrite5m, cacheWrite1h } }) => String(input + cached + cacheWrite5m + cacheWrite1h),
  ],
  ['OUT', 8, ({ tokens }) => String(tokens.output)],
  ['COST USD', 14, ({ costNanoUsd }) => usd(costNanoUsd)],
];
const MARGINS: readonly TableColumn[] = [
  ['UPSTREAM USD', 14, ({ upstreamCostNanoUsd }) => usdOrUnknown(upstreamCostNanoUsd)],
  ['MARGIN USD', 14, (record) => usdOrUnknown(marginNanoUsd(record))],
];
const ID: TableColumn = ['ID', 0, ({ callId }) => callId];

/** `margins`: also what each call cost the platform, where its channel states that, and the margin. */
export function usageWriter(format: UsageFormat, { margins } = { margins: false }): UsageWriter {
  return { table: tableWriter, json: jsonWriter, csv: csvWriter }[format](margins);
}

function tableWriter(margins: boolean): UsageWriter {
  const sums = newSums();
  const columns = margins ? [...TABLE, ...MARGINS, ID] : [...TABLE, ID];
  const line = (cells: readonly string[]): string =>
    `${cells
      .map((cell, index) => cell.padEnd(columns[index]?.[1] ?? 0))
      .join('  ')
      .trimEnd()}\n`;
  return {
    begin: line(columns.map(([name]) => name)),
    row: (record) => {
      sums.add(record);
      return line(columns.map(([, , value]) => value(record)));
    },
    end: () => `${sums.text(margins)}\n`,
  };
}

interface Sums {
  readonly add: (record: UsageRecord) => void;
  readonly text: (margins: boolean) => string;
}

function newSums(): Sums {
  let [calls, billed, upstream, margin, unknown] = [0, 0n, 0n, 0n, 0];
  return {
    add(record) {
      calls++;
      billed += record.costNanoUsd;
      upstream += record.upstreamCostNanoUsd ?? 0n;
      margin += marginNanoUsd(record) ?? 0n;
      if (record.upstreamCostNanoUsd === undefined) unknown++;
    },
    text(margins) {
      const all = `${count(calls)}, ${usd(billed)} USD`;
      if (!margins) return all;
      const known = `upstream ${usd(upstream)} USD, margin ${usd(margin)} USD`;
      return unknown === 0 ? `${all}, ${known}` : `${all}, ${known} of ${count(calls - unknown)} whose cost is known`;
    },
  };
}

function count(calls: number): string {
  return `${calls} ${calls === 1 ? 'call' : 'calls'}`;
}

function usdOrUnknown(nanoUsd: bigint | undefined): string {
  return nanoUsd === undefined ? 'unknown' : usd(nanoUsd);
}

function jsonWriter(margins: boolean): UsageWriter {
  let first = true;
  return {
    begin: '[',
    row: (record) => {
      const columns = Object.fromEntries(usageColumns({ margins }).map(([name, value]) => [name, value(record)]));
      const text = JSON.stringify({ ...columns, lines: viewLines(record.lines) });
      const separator = first ? '\n' : ',\n';
      first = false;
      return `${separator}  ${text}`;
    },
    end: () => '\n]\n',
  };
}

function csvWriter(margins: boolean): UsageWriter {
  const { head, row } = usageCsv({ margins });
  return { begin: head, row, end: () => '' };
}

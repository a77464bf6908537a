/** Sums usage records by the names that are charged: key, account, namespace, group, model or a label. */
import { csvLine, usd } from '#usage/csv.ts';
import { keyIdOf, namespaceOf } from '#usage/filter.ts';
import type { UsageRecord } from '#usage/record.ts';
import { textTable } from '../text-table.ts';
import type { UsageFormat, UsageWriter } from './format.ts';

interface Sum {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  costNanoUsd: bigint;
}

const NAMES: Readonly<Record<string, (record: UsageRecord) => string>> = {
  key: (record) => keyIdOf(record) ?? record.keyUid,
  account: ({ account }) => account,
  namespace: namespaceOf,
  group: ({ group }) => group,
  model: ({ model }) => model,
};
const LABEL = 'label:';

/** The words that `--by` takes, besides `label:NAME`. */
export const SUMMED_BY: readonly string[] = Object.keys(NAMES);

/** Whether records can be summed by this: one of SUMMED_BY, or `label:NAME`. */
export function isSummedBy(text: string): boolean {
  return Object.hasOwn(NAMES, text) || (text.startsWith(LABEL) && text.length > LABEL.length);
}

/** Writes one line for each name, the highest cost first. Records without the label are summed as "". */
export function sumWriter(by: string, format: UsageFormat): UsageWriter {
  const sums = new Map<string, Sum>();
  const nameOf = NAMES[by] ?? ((record) => labelOf(record, by.slice(LABEL.length)));
  return {
    begin: '',
    row(record) {
      add(sums, nameOf(record), record);
      return '';
    },
    end() {
      const sorted = [...sums].sort(([, a], [, b]) => Number(b.costNanoUsd - a.costNanoUsd));
      return FORMATS[format](by, sorted);
    },
  };
}

function labelOf({ labels = '' }: UsageRecord, name: string): string {
  const label = labels.split(',').find((each) => each.startsWith(`${name}=`));
  return label?.slice(name.length + 1) ?? '';
}

function add(sums: Map<string, Sum>, name: string, { tokens, costNanoUsd }: UsageRecord): void {
  const sum = sums.get(name) ?? { calls: 0, inputTokens: 0, outputTokens: 0, costNanoUsd: 0n };
  sum.calls++;
  sum.inputTokens += tokens.input + tokens.cached + tokens.cacheWrite5m + tokens.cacheWrite1h;
  sum.outputTokens += tokens.output;
  sum.costNanoUsd += costNanoUsd;
  sums.set(name, sum);
}

type Formatter = (by: string, sums: readonly (readonly [name: string, sum: Sum])[]) => string;

const FORMATS: Readonly<Record<UsageFormat, Formatter>> = {
  table: (by, sums) =>
    `${textTable([
      [by.toUpperCase(), 'CALLS', 'IN', 'OUT', 'COST USD'],
      ...sums.map(([name, sum]) => [name === '' ? '(none)' : name, ...cellsOf(sum).map(String)]),
    ]).join('\n')}\n`,
  json: (by, sums) =>
    `${JSON.stringify(
      sums.map(([name, sum]) => ({ [by]: name, ...columnsOf(sum) })),
      undefined,
      2,
    )}\n`,
  csv: (by, sums) =>
    [[by, 'calls', 'input_tokens', 'output_tokens', 'cost_usd'], ...sums.map(([name, sum]) => [name, ...cellsOf(sum)])]
      .map(csvLine)
      .join(''),
};

function columnsOf({ calls, inputTokens, outputTokens, costNanoUsd }: Sum): Record<string, string | number> {
  return { calls, input_tokens: inputTokens, output_tokens: outputTokens, cost_usd: usd(costNanoUsd) };
}

function cellsOf(sum: Sum): (string | number)[] {
  return Object.values(columnsOf(sum));
}

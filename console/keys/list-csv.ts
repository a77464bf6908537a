/** [P] Keys as CSV, with the status that the list shows. Money is a decimal of USD. */
import { csvLine } from '#usage/csv.ts';
import { formatDecimal } from '#snapshot/decimal.ts';
import type { KeyRow } from './query.ts';

const CENTS = 2;

const COLUMNS: readonly (readonly [name: string, value: (row: KeyRow) => string])[] = [
  ['namespace', ({ facts }) => facts.apiKey.metadata.namespace],
  ['name', ({ facts }) => facts.apiKey.metadata.name],
  ['key_prefix', ({ facts }) => facts.apiKey.status?.keyPrefix ?? ''],
  ['status', ({ finding }) => finding.label],
  ['reason', ({ finding }) => finding.message],
  ['group', ({ group }) => group],
  ['account', ({ facts }) => facts.apiKey.spec.accountRef.name],
  ['spent_usd', ({ facts }) => formatDecimal(facts.spentNanoUsd, CENTS)],
  ['limit_usd', ({ facts }) => (facts.limitNanoUsd === undefined ? '' : formatDecimal(facts.limitNanoUsd, CENTS))],
  [
    'remaining_usd',
    ({ facts: { remainingNanoUsd } }) =>
      remainingNanoUsd === undefined ? 'Unlimited' : formatDecimal(remainingNanoUsd, CENTS),
  ],
  ['period', ({ facts }) => facts.apiKey.spec.quota.period],
  ['last_used', ({ facts }) => isoOf(facts.lastUsedMs)],
  ['expires', ({ facts }) => isoOf(facts.expiresMs)],
];

/** With a head. */
export function keysCsv(rows: readonly KeyRow[]): string {
  return (
    csvLine(COLUMNS.map(([name]) => name)) + rows.map((row) => csvLine(COLUMNS.map(([, value]) => value(row)))).join('')
  );
}

function isoOf(ms: number | undefined): string {
  return ms === undefined ? '' : new Date(ms).toISOString();
}

/** Formats a catalog diff as a table, as JSON, or as Markdown for a comment on a pull request. */
import { formatDecimal } from '#snapshot/decimal.ts';
import { DIMENSIONS } from '#usage/catalog-diff.ts';
import type { CatalogDiff, Change } from '#usage/catalog-diff.ts';
import { textTable } from '../text-table.ts';

export type DiffFormat = 'table' | 'json' | 'markdown';

const MOST_ROWS = 20;
const TITLES = { model: 'Model', group: 'Group', account: 'Account', key: 'Key' } as const;

/** `days` is how far back the calls go. */
export function formatDiff(diff: CatalogDiff, format: DiffFormat, days: number): string {
  if (format === 'json') return `${JSON.stringify(jsonOf(diff, days), undefined, 2)}\n`;
  const sections = sectionsOf(diff);
  const head = headline(diff, days);
  const blocks = sections.map(({ title, head: columns, rows }) =>
    format === 'markdown'
      ? `\n### ${title}\n\n${markdownTable(columns, rows)}`
      : `\n${title}\n${plainTable(columns, rows)}`,
  );
  return `${format === 'markdown' ? `**${head}**` : head}\n${blocks.join('')}`;
}

function headline({ total }: CatalogDiff, days: number): string {
  const { calls, oldNanoUsd, newNanoUsd } = total;
  const [counted, time] = [calls === 1 ? '1 call' : `${calls} calls`, days === 1 ? 'day' : `${days} days`];
  return (
    `${counted} of the last ${time}: ${usd(oldNanoUsd)} at the old prices, ${usd(newNanoUsd)} at the new ` +
    `prices (${signed(total)})`
  );
}

interface Section {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function sectionsOf({ by, calls, unpriced }: CatalogDiff): Section[] {
  const changes = DIMENSIONS.map((dimension): Section => ({
    title: `By ${dimension}`,
    head: [TITLES[dimension], 'Calls', 'Old USD', 'New USD', 'Change'],
    rows: by[dimension]
      .filter(([, { oldNanoUsd, newNanoUsd }]) => oldNanoUsd !== newNanoUsd)
      .slice(0, MOST_ROWS)
      .map(([name, change]) => [name, String(change.calls), ...moneyOf(change)]),
  }));
  return [
    ...changes,
    {
      title: 'Calls that change most',
      head: ['Call', 'Model', 'Key', 'Old USD', 'New USD', 'Change'],
      rows: calls.map((call) => [call.callId, call.model, call.keyUid, ...moneyOf(call)]),
    },
    {
      title: 'Without a price in the new catalogs',
      head: ['What', 'Calls'],
      rows: unpriced.map(([what, count]) => [what, String(count)]),
    },
  ].filter(({ rows }) => rows.length > 0);
}

function moneyOf(change: Change): string[] {
  return [usd(change.oldNanoUsd), usd(change.newNanoUsd), signed(change)];
}

function usd(nanoUsd: bigint): string {
  return formatDecimal(nanoUsd, 2);
}

/** "+1.50 (+50.0 %)" */
function signed({ oldNanoUsd, newNanoUsd }: Change): string {
  const change = newNanoUsd - oldNanoUsd;
  const sign = change > 0n ? '+' : '';
  if (oldNanoUsd === 0n) return `${sign}${usd(change)}`;
  const tenths = (change * 1000n) / oldNanoUsd;
  const magnitude = tenths < 0n ? -tenths : tenths;
  return `${sign}${usd(change)} (${change < 0n ? '-' : sign}${magnitude / 10n}.${magnitude % 10n} %)`;
}

function markdownTable(head: readonly string[], rows: Section['rows']): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll(/[|\r\n]/g, ' ')).join(' | ')} |\n`;
  return line(head) + line(head.map(() => '---')) + rows.map(line).join('');
}

function plainTable(head: readonly string[], rows: Section['rows']): string {
  return textTable([head, ...rows])
    .map((line) => `  ${line}\n`)
    .join('');
}

function jsonOf({ total, by, calls, unpriced }: CatalogDiff, days: number): unknown {
  const change = ({ calls: count, oldNanoUsd, newNanoUsd }: Change): Record<string, unknown> => ({
    calls: count,
    old_usd: usd(oldNanoUsd),
    new_usd: usd(newNanoUsd),
    change_usd: usd(newNanoUsd - oldNanoUsd),
  });
  return {
    days,
    total: change(total),
    ...Object.fromEntries(
      DIMENSIONS.map((dimension) => [
        `by_${dimension}`,
        by[dimension].map(([name, each]) => ({ name, ...change(each) })),
      ]),
    ),
    calls: calls.map((call) => ({ id: call.callId, model: call.model, key: call.keyUid, ...change(call) })),
    unpriced: unpriced.map(([what, count]) => ({ what, calls: count })),
  };
}

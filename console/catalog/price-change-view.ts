/** [P] What an edit of a PriceCatalog changes in money: the total, the sums that change, and the ten calls. */
import { formatCount, pluralize, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { DIMENSIONS } from '#usage/catalog-diff.ts';
import type { CatalogDiff, Change, Dimension } from '#usage/catalog-diff.ts';
import { labelOf } from '../queries/names.ts';
import type { Names } from '../queries/names.ts';
import { callPath } from '../paths.ts';
import type { PriceChange } from './compute-change.ts';
import { refOf } from '../components/calls-table.ts';
import { notice } from '../components/notice.ts';
import { section } from '../components/page.ts';
import type { Column } from '../components/table.ts';
import { table } from '../components/table.ts';
import { figures } from '../components/facts.ts';

const MOST_ROWS = 20;
/** Smaller totals need more places than those of cents to add up. */
const CENTS_FROM = 10n ** 9n;
const TITLES: Readonly<Record<Dimension, string>> = { model: 'Model', group: 'Group', account: 'Account', key: 'Key' };

/** `days` is how far back the calls go. */
export function renderPriceChange({ diff, remarks }: PriceChange, names: Names, days: number): Html {
  const { total, unpriced } = diff;
  const amounts = [total.oldNanoUsd, total.newNanoUsd, total.newNanoUsd - total.oldNanoUsd];
  const places = amounts.some((amount) => amount !== 0n && amount < CENTS_FROM && amount > -CENTS_FROM) ? 6 : 2;
  return html`${section(
    { id: 'change', title: 'What changes' },
    html`${names.scope.truncated ? notice('You may see more accounts or keys than this page adds up.') : NOTHING}
    ${remarks.map((remark) => notice(remark, { tone: 'warn' }))}
    ${figures([
      { label: `Calls, last ${pluralize(days, 'day')}`, value: formatCount(total.calls) },
      { label: "By today's prices", value: renderUsd(total.oldNanoUsd, places) },
      { label: 'By the edited prices', value: renderUsd(total.newNanoUsd, places) },
      { label: 'Change', value: html`${renderSigned(total, places)}${renderPercent(total)}` },
    ])}`,
  )}
  ${unpriced.length === 0 ? NOTHING : renderUnpriced(unpriced)}
  ${DIMENSIONS.map((dimension) => renderDimension(diff, dimension, names))} ${renderCalls(diff, names)}`;
}

function renderUnpriced(unpriced: CatalogDiff['unpriced']): Html {
  return section(
    { id: 'unpriced', title: 'Without a price' },
    html`${notice('The edited catalog has no price for what these calls used. New calls like them are refused.', {
      tone: 'warn',
    })}
    ${table<CatalogDiff['unpriced'][number]>(
      [
        { title: 'What', cell: ([what]) => what },
        { title: 'Calls', num: true, cell: ([, calls]) => formatCount(calls) },
      ],
      unpriced.slice(0, MOST_ROWS),
      { labelledBy: 'unpriced' },
    )}`,
  );
}

/** Empty if no name's costs change. */
function renderDimension({ by }: CatalogDiff, dimension: Dimension, names: Names): Html {
  const changed = by[dimension].filter(([, { oldNanoUsd, newNanoUsd }]) => oldNanoUsd !== newNanoUsd);
  if (changed.length === 0) return NOTHING;
  return section(
    { id: `by-${dimension}`, title: `By ${dimension}` },
    html`${table<(typeof changed)[number]>(
      [
        { title: TITLES[dimension], cell: ([name]) => html`<bdi>${labelOf(name, dimension, names)}</bdi>` },
        { title: 'Calls', num: true, cell: ([, { calls }]) => formatCount(calls) },
        ...changeColumns<(typeof changed)[number]>(([, change]) => change),
      ],
      changed.slice(0, MOST_ROWS),
      { label: `Changes by ${TITLES[dimension]}`, cards: true },
    )}
    ${
      changed.length > MOST_ROWS
        ? html`<p class="soft">The ${MOST_ROWS} that change most, of ${formatCount(changed.length)}.</p>`
        : NOTHING
    }`,
  );
}

function renderCalls({ total, calls }: CatalogDiff, names: Names): Html {
  if (calls.length === 0)
    return total.calls === 0
      ? html`<p class="none">No calls in this time.</p>`
      : html`<p class="none">No call would have cost more or less.</p>`;
  return section(
    { id: 'calls', title: 'Calls that change most' },
    table<CatalogDiff['calls'][number]>(
      [
        {
          title: 'Call',
          cell: (call) => html`<a href="${callPath(refOf(call), call)}"><code>${call.callId}</code></a>`,
        },
        { title: 'Model', cell: ({ model }) => html`<bdi>${model}</bdi>` },
        { title: 'Key', cell: ({ keyUid }) => html`<bdi>${labelOf(keyUid, 'key', names)}</bdi>` },
        ...changeColumns<CatalogDiff['calls'][number]>((call) => call),
      ],
      calls,
      { label: 'Changes by Call', cards: true },
    ),
  );
}

/** The three columns of the money. */
function changeColumns<Row>(changeOf: (row: Row) => Change): readonly Column<Row>[] {
  return [
    { title: 'Today', num: true, cell: (row) => renderUsd(changeOf(row).oldNanoUsd, 6) },
    { title: 'Edited', num: true, cell: (row) => renderUsd(changeOf(row).newNanoUsd, 6) },
    {
      title: 'Change',
      num: true,
      cell: (row) => html`${renderSigned(changeOf(row), 6)}${renderPercent(changeOf(row))}`,
    },
  ];
}

function renderSigned({ oldNanoUsd, newNanoUsd }: Change, places: number): Html {
  const change = newNanoUsd - oldNanoUsd;
  return html`${change > 0n ? '+' : ''}${renderUsd(change, places)}`;
}

function renderPercent({ oldNanoUsd, newNanoUsd }: Change): Html {
  if (oldNanoUsd === 0n || newNanoUsd === oldNanoUsd) return NOTHING;
  const percent = Number(((newNanoUsd - oldNanoUsd) * 1000n) / oldNanoUsd) / 10;
  return html` <small>${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(1)} %</small>`;
}

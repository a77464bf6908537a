/** [P] Models: what each takes and makes, its limits, its price in a group, and the groups that offer it. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { formatDecimal } from '#snapshot/decimal.ts';
import { pluralize } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { baseDollars, offerDollars } from '#web/pricing/dollars.ts';
import { formatTokens, renderModalities, USE_NAMES, USES, usesOf } from '#web/pricing/facts.ts';
import type { Use } from '#web/pricing/facts.ts';
import type { PriceList, PricingGroup, PricingRow } from '#web/pricing/price-list.ts';
import { priceText, triedGroups } from './price-text.ts';
import { modelPath, withParameters } from '../paths.ts';
import { queryText } from '../request-schema.ts';
import { pageHead } from '../components/page.ts';
import { filters, searchFilter, selectFilter } from '../components/filters.ts';
import type { Column } from '../components/table.ts';
import { table } from '../components/table.ts';
import { segments } from '../components/tabs.ts';

export interface ModelsQuery {
  readonly text: string;
  readonly use: Use | undefined;
  /** Whose prices are shown; undefined: base prices. */
  readonly group: string | undefined;
  readonly show: 'dollars' | 'ratios';
}

export const MODELS_PATH = '/models';

/** The query of the list of models. */
export const MODELS_QUERY = Type.Object({ q: queryText(), use: queryText(), group: queryText(), show: queryText() });

/** Unknown values are ignored. */
export function parseModelsQuery(
  { q = '', use, group, show }: Static<typeof MODELS_QUERY>,
  { pricing: { groups } }: PriceList,
): ModelsQuery {
  return {
    text: q.trim(),
    use: USES.find((each) => each === use),
    group: groups.find(({ name }) => name === group)?.name,
    show: show === 'ratios' ? 'ratios' : 'dollars',
  };
}

/** `list` has the groups that the person may know, and no other. */
export function renderModels(list: PriceList, query: ModelsQuery): Html {
  const rows = list.pricing.rows
    .filter((row) => matches(row, query, list))
    .toSorted((a, b) => (a.modelName < b.modelName ? -1 : 1));
  return html`${pageHead({
      title: 'Models',
      lede: 'What each model takes and makes, what it costs, and which groups offer it.',
    })}
    ${renderFilters(list, query)}
    <div class="bar-line">
      <p class="count" role="status">${pluralize(rows.length, 'model')}</p>
      ${renderSwitch(query)}
    </div>
    ${
      rows.length === 0
        ? html`<p class="none">No model matches. <a href="${MODELS_PATH}">Show all models</a></p>`
        : renderTable(rows, list, query)
    }`;
}

function matches(row: PricingRow, { text, use, group }: ModelsQuery, { groups }: PriceList): boolean {
  const words = `${row.modelName} ${row.vendor}`.toLowerCase();
  return (
    text
      .toLowerCase()
      .split(/\s+/)
      .every((term) => words.includes(term)) &&
    (use === undefined || usesOf(row).includes(use)) &&
    (group === undefined || groups.get(group)?.offers.has(row.modelName) === true)
  );
}

function renderFilters({ pricing: { groups } }: PriceList, { text, use, group, show }: ModelsQuery): Html {
  return filters({ action: MODELS_PATH, label: 'Models', kept: { show: show === 'ratios' ? show : '' } }, [
    searchFilter(text, 'Model or vendor'),
    selectFilter({
      label: 'Use',
      name: 'use',
      all: 'Any use',
      options: USES.map((each) => [each, USE_NAMES[each]]),
      chosen: use ?? '',
    }),
    selectFilter({
      label: 'Group and its prices',
      name: 'group',
      all: 'All groups, base prices',
      options: groups.map(({ name, displayName }) => [name, displayName]),
      chosen: group ?? '',
    }),
  ]);
}

/** Dollars first. */
function renderSwitch({ text, use, group, show }: ModelsQuery): Html {
  const kept = { q: text, use: use ?? '', group: group ?? '' };
  return segments(
    'Prices',
    (['dollars', 'ratios'] as const).map((each) => ({
      label: each === 'dollars' ? 'Dollars' : 'Ratios',
      href: withParameters(MODELS_PATH, { ...kept, show: each === 'dollars' ? '' : each }),
      current: each === show,
    })),
  );
}

function renderTable(rows: readonly PricingRow[], list: PriceList, query: ModelsQuery): Html {
  const group = list.pricing.groups.find(({ name }) => name === query.group);
  return table<PricingRow>(
    [
      {
        title: 'Model',
        cell: ({ modelName, vendor }) =>
          html`<a href="${modelPath(modelName)}"><bdi>${modelName}</bdi></a
            ><small><bdi>${vendor || '—'}</bdi></small>`,
      },
      { title: 'Type', cell: typeOf },
      {
        title: 'Inputs',
        cell: ({ facts }) => (facts ? html`<span class="io">${renderModalities(facts.inputs)}</span>` : '—'),
      },
      { title: 'Context', num: true, cell: ({ facts }) => tokensOf(facts?.contextTokens) },
      { title: 'Output limit', num: true, cell: ({ facts }) => tokensOf(facts?.maxOutputTokens) },
      ...(query.show === 'ratios' ? RATIO_COLUMNS : [priceColumn(list, group)]),
      group?.members
        ? { title: 'Tries, in order', style: 'wide wrap', cell: (row) => orderOf(row, list, group) }
        : { title: 'Groups', style: 'wide wrap', cell: renderGroupNames },
    ],
    rows,
    { label: 'Models', caption: captionOf(group, query), showCaption: true, cards: true, style: 'models' },
  );
}

/** Explains the figures. */
function captionOf(group: PricingGroup | undefined, { show }: ModelsQuery): Html {
  if (show === 'ratios')
    return html`Ratios of the
    catalog${
      group && !group.members
        ? html`; <bdi>${group.displayName}</bdi> multiplies prices by ${formatDecimal(group.priceRatioE9)}`
        : NOTHING
    }`;
  return group
    ? html`In <bdi>${group.displayName}</bdi>; tokens by the million`
    : html`Base prices (group ratio 1); tokens by the million`;
}

function renderGroupNames({ enabledGroups }: PricingRow): Html | string {
  return enabledGroups.length === 0 ? '—' : html`<bdi>${enabledGroups.join(', ')}</bdi>`;
}

function typeOf(row: PricingRow): string {
  if (!row.facts) return 'Not served yet';
  return usesOf(row)
    .filter((use) => use !== 'vision')
    .map((use) => USE_NAMES[use])
    .join(', ');
}

function tokensOf(tokens: number | null | undefined): string {
  return tokens === null || tokens === undefined ? '—' : formatTokens(tokens);
}

function priceColumn({ groups }: PriceList, group: PricingGroup | undefined): Column<PricingRow> {
  return {
    title: 'Price',
    style: 'wide',
    cell(row) {
      const offer = group && groups.get(group.name)?.offers.get(row.modelName);
      return priceText(offer ? offerDollars(offer) : baseDollars(row), row);
    },
  };
}

const RATIO_COLUMNS: readonly Column<PricingRow>[] = [
  { title: 'Model ratio', num: true, cell: (row) => ratioText(row, true, row.modelRatioE9) },
  { title: 'Completion ratio', num: true, cell: (row) => ratioText(row, row.stated.output, row.completionRatioE9) },
  { title: 'Cache ratio', num: true, cell: (row) => ratioText(row, row.stated.cache, row.cacheRatioE9) },
];

function ratioText({ quotaType, isInDollars }: PricingRow, stated: boolean, ratioE9: bigint): string {
  // a price per request, or one in dollars, has no ratios that would be exact
  return quotaType === 'Token' && !isInDollars && stated ? formatDecimal(ratioE9) : '—';
}

/** "Standard, then VIP" */
function orderOf({ modelName }: PricingRow, { groups }: PriceList, group: PricingGroup): string {
  const offer = groups.get(group.name)?.offers.get(modelName);
  const names = new Map(group.members?.map(({ name, displayName }) => [name, displayName]));
  return offer
    ? triedGroups(offer)
        .map((name) => names.get(name) ?? name)
        .join(', then ')
    : '—';
}

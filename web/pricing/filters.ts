/**
 * [P] The form above the table. It is an ordinary GET form, so every view works without scripts and has an address.
 */
import { formatDecimal } from '../decimal.ts';
import { flag, html, NOTHING } from '../html.ts';
import type { Html } from '../html.ts';
import { CONTEXTS, formatTokens, USE_NAMES, USES } from './facts.ts';
import type { OfferingGroup, PriceList, PricingGroup } from './price-list.ts';
import { COLUMNS, formatSort } from './query.ts';
import type { Column, PricingQuery } from './query.ts';

/** Short enough for half a phone's width. */
const SORT_NAMES: Readonly<Record<Column, string>> = {
  model: 'Model',
  vendor: 'Vendor',
  type: 'Quota type',
  model_ratio: 'Model ratio',
  completion_ratio: 'Completion',
  cache_ratio: 'Cache ratio',
  groups: 'Groups',
};

interface FilterOptions {
  readonly vendors: readonly string[];
  /** Parameters that the form keeps. */
  readonly kept: Readonly<Record<string, string>>;
}

/** The controls, set to the query. */
export function renderFilters(state: PriceList, query: PricingQuery, { vendors, kept }: FilterOptions): Html {
  return html`<form id="filters" class="filters" method="get" role="search" aria-label="Models" autocomplete="off">
    ${Object.entries(kept).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    <label class="search">
      <span>Search</span>
      <input
        type="search"
        name="q"
        value="${query.text}"
        maxlength="200"
        placeholder="Model or vendor"
        spellcheck="false"
        autocapitalize="none"
      />
    </label>
    <label>
      <span>Vendor</span>
      <select name="vendor">
        <option value="">All vendors</option>
        ${vendors.map(
          (vendor) =>
            html`<option value="${vendor}" ${flag('selected', vendor === query.vendor)}>${vendor || '—'}</option>`,
        )}
      </select>
    </label>
    <label>
      <span>Use</span>
      <select name="use">
        <option value="">Any use</option>
        ${USES.map(
          (use) => html`<option value="${use}" ${flag('selected', use === query.use)}>${USE_NAMES[use]}</option>`,
        )}
      </select>
    </label>
    <label>
      <span>Context</span>
      <select name="context">
        <option value="">Any context</option>
        ${CONTEXTS.map(
          (tokens) =>
            html`<option value="${tokens}" ${flag('selected', tokens === query.context)}>
              ${formatTokens(tokens)} or more
            </option>`,
        )}
      </select>
    </label>
    <label>
      <span>Quota type</span>
      <select name="type">
        <option value="">All types</option>
        <option value="token" ${flag('selected', query.quotaType === 'Token')}>Token-based</option>
        <option value="request" ${flag('selected', query.quotaType === 'Request')}>Per-request</option>
      </select>
    </label>
    <label>
      <span>Group and its prices</span>
      <select name="group">
        <option value="">All groups</option>
        ${state.pricing.groups.map(
          (group) =>
            html`<option value="${group.name}" ${flag('selected', group.name === query.group)}>
              ${optionText(group, state)}
            </option>`,
        )}
      </select>
    </label>
    <label class="sort">
      <span>Sort by</span>
      <select name="sort">
        ${renderSortOptions(query)}
      </select>
    </label>
    <button type="submit" class="button primary apply">Apply</button>
  </form>`;
}

/** Explains the dollar amounts of this view. */
export function renderBasis(state: PriceList, query: PricingQuery): Html {
  const group = state.pricing.groups.find(({ name }) => name === query.group);
  if (!group) return html`USD per million tokens at base prices (group ratio 1)`;
  const label = html`<b><bdi>${group.displayName}</bdi></b>`;
  const ratio = formatDecimal(group.priceRatioE9);
  if (!isAutomatic(state.groups.get(group.name))) return html`USD per million tokens in ${label}, group ratio ${ratio}`;
  return html`USD per million tokens in ${label}, at the ratio of the member that serves the
  call${ratio === '1' ? '' : ` × ${ratio}`}`;
}

/** A group with its price ratio, and its name if another group has the same display name. */
export function optionText(group: PricingGroup, { pricing, groups }: PriceList): string {
  const ambiguous = pricing.groups.some(
    ({ name, displayName }) => displayName === group.displayName && name !== group.name,
  );
  const label = ambiguous ? `${group.displayName} (${group.name})` : group.displayName;
  return `${label} · ${groupRatioText(group, { groups })}`;
}

/** "× 0.8", or "automatic". */
export function groupRatioText(group: PricingGroup, { groups }: Pick<PriceList, 'groups'>): string {
  return isAutomatic(groups.get(group.name)) ? 'automatic' : `× ${formatDecimal(group.priceRatioE9)}`;
}

/** An Automatic group's calls are served by other groups, its members. */
function isAutomatic(group: OfferingGroup | undefined): boolean {
  if (!group) return false;
  return group.offers
    .values()
    .some(({ tiers }) => tiers.some((tier) => tier.some((candidate) => candidate.group !== group.name)));
}

/** Shown on narrow screens, where the table has no head. */
function renderSortOptions(query: PricingQuery): Html {
  const chosen = formatSort(query.sort);
  return html`${COLUMNS.flatMap((column) =>
    [false, true].map((descending) => {
      const value = formatSort({ column, descending });
      return html`<option value="${value}" ${value === chosen ? flag('selected', true) : NOTHING}>
        ${SORT_NAMES[column]} ${descending ? '↓' : '↑'}
      </option>`;
    }),
  )}`;
}

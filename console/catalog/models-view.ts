/** [P] Models: what each takes and makes, its limits, its price in a group, and the groups that offer it. */
import { formatDecimal } from '#snapshot/decimal.ts';
import { pluralize } from '#web/format.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { baseDollars, offerDollars } from '#web/pricing/dollars.ts';
import { formatTokens, renderModalities, USE_NAMES, USES, usesOf } from '#web/pricing/facts.ts';
import type { Use } from '#web/pricing/facts.ts';
import { modelHref } from '#web/pricing/model-page.ts';
import type { PriceList, PricingGroup, PricingRow } from '#web/pricing/price-list.ts';
import { priceText, triedGroups } from './price-text.ts';
import { withParameters } from '../paths.ts';

export interface ModelsQuery {
  readonly text: string;
  readonly use: Use | undefined;
  /** Whose prices are shown; undefined: base prices. */
  readonly group: string | undefined;
  readonly show: 'dollars' | 'ratios';
}

export const MODELS_PATH = '/models';
const MODEL_ROOT = '/prices/models/';

/** Parses the parameters; unknown values are ignored. */
export function parseModelsQuery(parameters: URLSearchParams, { pricing: { groups } }: PriceList): ModelsQuery {
  return {
    text: (parameters.get('q') ?? '').trim().slice(0, 200),
    use: USES.find((use) => use === parameters.get('use')),
    group: groups.find(({ name }) => name === parameters.get('group'))?.name,
    show: parameters.get('show') === 'ratios' ? 'ratios' : 'dollars',
  };
}

/** `list` has the groups that the person may know, and no other. */
export function renderModels(list: PriceList, query: ModelsQuery): Html {
  const rows = list.pricing.rows
    .filter((row) => matches(row, query, list))
    .toSorted((a, b) => (a.modelName < b.modelName ? -1 : 1));
  return html`<div class="page-head">
      <div>
        <h1>Models</h1>
        <p class="lede">What each model takes and makes, what it costs, and which groups offer it.</p>
      </div>
    </div>
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
  return html`<form class="filters" method="get" action="${MODELS_PATH}" role="search" aria-label="Models">
    <label class="search">
      <span>Search</span>
      <input
        type="search"
        name="q"
        value="${text}"
        maxlength="200"
        placeholder="Model or vendor"
        spellcheck="false"
        autocapitalize="none"
        autocomplete="off"
      />
    </label>
    <label>
      <span>Use</span>
      <select name="use">
        <option value="">Any use</option>
        ${USES.map(
          (each) => html`<option value="${each}" ${flag('selected', each === use)}>${USE_NAMES[each]}</option>`,
        )}
      </select>
    </label>
    <label>
      <span>Group and its prices</span>
      <select name="group">
        <option value="">All groups, base prices</option>
        ${groups.map(
          ({ name, displayName }) =>
            html`<option value="${name}" ${flag('selected', name === group)}>${displayName}</option>`,
        )}
      </select>
    </label>
    ${show === 'ratios' ? html`<input type="hidden" name="show" value="ratios" />` : NOTHING}
    <div class="actions">
      <button type="submit" class="button">Apply</button>
    </div>
  </form>`;
}

/** Dollars first. */
function renderSwitch({ text, use, group, show }: ModelsQuery): Html {
  const kept = { q: text, use: use ?? '', group: group ?? '' };
  return html`<ul class="segments" aria-label="Prices">
    ${(['dollars', 'ratios'] as const).map(
      (each) =>
        html`<li>
          <a
            href="${withParameters(MODELS_PATH, { ...kept, show: each === 'dollars' ? '' : each })}"
            ${each === show ? html`aria-current="true"` : NOTHING}
            >${each === 'dollars' ? 'Dollars' : 'Ratios'}</a
          >
        </li>`,
    )}
  </ul>`;
}

function renderTable(rows: readonly PricingRow[], list: PriceList, query: ModelsQuery): Html {
  const group = list.pricing.groups.find(({ name }) => name === query.group);
  const prices =
    query.show === 'ratios'
      ? html`<th scope="col" class="num">Model ratio</th>
          <th scope="col" class="num">Completion ratio</th>
          <th scope="col" class="num">Cache ratio</th>`
      : html`<th scope="col">Price</th>`;
  return html`<div class="table-box" tabindex="0" role="region" aria-label="Models">
    <table class="table cards models">
      <caption>
        ${captionOf(group, query)}
      </caption>
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col">Type</th>
          <th scope="col">Inputs</th>
          <th scope="col" class="num">Context</th>
          <th scope="col" class="num">Output limit</th>
          ${prices}
          <th scope="col">${group?.members ? 'Tries, in order' : 'Groups'}</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => renderRow(row, list, { group, query }))}
      </tbody>
    </table>
  </div>`;
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

interface RowContext {
  readonly group: PricingGroup | undefined;
  readonly query: ModelsQuery;
}

function renderRow(row: PricingRow, list: PriceList, { group, query }: RowContext): Html {
  const { modelName, vendor, facts } = row;
  return html`<tr>
    <th scope="row" class="main">
      <a href="${modelHref(MODEL_ROOT, modelName)}"><bdi>${modelName}</bdi></a
      ><small><bdi>${vendor || '—'}</bdi></small>
    </th>
    <td data-label="Type">${typeOf(row)}</td>
    <td data-label="Inputs">${facts ? html`<span class="io">${renderModalities(facts.inputs)}</span>` : '—'}</td>
    <td class="num" data-label="Context">${tokensOf(facts?.contextTokens)}</td>
    <td class="num" data-label="Output limit">${tokensOf(facts?.maxOutputTokens)}</td>
    ${query.show === 'ratios' ? renderRatios(row) : renderPrice(row, list, group)}${renderGroupsCell(row, list, group)}
  </tr>`;
}

function renderGroupsCell(row: PricingRow, list: PriceList, group: PricingGroup | undefined): Html {
  if (group?.members) return html`<td class="wide wrap" data-label="Tries, in order">${orderOf(row, list, group)}</td>`;
  return html`<td class="wide wrap" data-label="Groups">
    ${row.enabledGroups.length === 0 ? '—' : html`<bdi>${row.enabledGroups.join(', ')}</bdi>`}
  </td>`;
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

function renderPrice(row: PricingRow, { groups }: PriceList, group: PricingGroup | undefined): Html {
  const offer = group && groups.get(group.name)?.offers.get(row.modelName);
  const price = priceText(offer ? offerDollars(offer) : baseDollars(row), row);
  return html`<td class="wide" data-label="Price">${price}</td>`;
}

function renderRatios(row: PricingRow): Html {
  const { quotaType, modelRatioE9, completionRatioE9, cacheRatioE9, stated, isInDollars } = row;
  // a price per request, or one in dollars, has no ratios that would be exact
  const known = quotaType === 'Token' && !isInDollars;
  const cells = [
    ['Model ratio', known, modelRatioE9],
    ['Completion ratio', known && stated.output, completionRatioE9],
    ['Cache ratio', known && stated.cache, cacheRatioE9],
  ] as const;
  return html`${cells.map(
    ([label, has, ratioE9]) => html`<td class="num" data-label="${label}">${has ? formatDecimal(ratioE9) : '—'}</td>`,
  )}`;
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

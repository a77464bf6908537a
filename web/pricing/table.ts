/**
 * [P] The price table: its head, whose buttons sort with and without scripts, and its rows.
 */
import { formatDecimal } from '../decimal.ts';
import { baseDollars, formatRange, offerDollars, generationUnit } from './dollars.ts';
import type { RowDollars } from './dollars.ts';
import { contextOf, renderFactsLine, usesOf } from './facts.ts';
import { flag, html, NOTHING } from '../html.ts';
import type { Html } from '../html.ts';
import { formatE10, QUOTA_TYPE_NAMES } from './json.ts';
import { modelHref } from './model-page.ts';
import type { OfferingGroup, PriceList, PricingRow } from './price-list.ts';
import { COLUMNS, formatSort } from './query.ts';
import type { Column, PricingQuery, Sort } from './query.ts';
import type { ArrangedRow, RankedRow } from './rows.ts';

export const COLUMN_TITLES: Readonly<Record<Column, string>> = {
  model: 'Model Name',
  vendor: 'Vendor / Owner',
  type: 'Quota Type',
  model_ratio: 'Model Ratio',
  completion_ratio: 'Completion Ratio',
  cache_ratio: 'Cache Ratio',
  groups: 'Enabled Groups',
};

type TokenDollars = Extract<RowDollars, { quotaType: 'Token' }>;

/** More groups than this fold away. */
const GROUPS_SHOWN = 4;
const NOT_STATED = html`<span class="na" title="The catalog gives none">—</span>`;
const NOT_APPLICABLE = html`<span class="na" title="Does not apply">—</span>`;
const IN_DOLLARS = html`<span class="na" title="The catalog states dollars, and no ratio">—</span>`;

/** What all rows of one view share. */
interface TableView {
  readonly state: PriceList;
  readonly vendors: ReadonlyMap<string, number>;
  readonly group: OfferingGroup | undefined;
  readonly chosenDisplayName: string | undefined;
  readonly modelRoot: string;
}

interface TableOptions {
  /** Every vendor, in the order of the filter's options. */
  readonly vendors: readonly string[];
  /** The prefix of the addresses of models' own pages. */
  readonly modelRoot: string;
}

/** The whole table. */
export function renderTable(
  state: PriceList,
  query: PricingQuery,
  rows: readonly ArrangedRow[],
  { vendors, modelRoot }: TableOptions,
): Html {
  const group = query.group === undefined ? undefined : state.groups.get(query.group);
  const view: TableView = {
    state,
    vendors: new Map(vendors.map((vendor, index) => [vendor, index])),
    group,
    chosenDisplayName: group?.displayName,
    modelRoot,
  };
  // The roles repeat what the elements mean: the style lays rows out as grids, and some browsers forget the meaning
  // then.
  return html`<table class="price-table" role="table" aria-label="Model prices" id="table">
    <thead role="rowgroup">
      <tr role="row">
        ${COLUMNS.map((column) => renderHeading(column, query.sort))}
      </tr>
    </thead>
    <tbody role="rowgroup" ${query.sort.column === 'vendor' ? html`class="by-vendor"` : NOTHING}>
      ${rows.map((row) => renderRow(row, view))}
    </tbody>
  </table>`;
}

/** A column's heading; its button asks for this column, or for the other direction where it is the one in force. */
function renderHeading(column: Column, sort: Sort): Html {
  const current = sort.column === column;
  const order = sort.descending ? 'descending' : 'ascending';
  const next = formatSort({ column, descending: current && !sort.descending });
  return html`<th role="columnheader" scope="col" ${current ? html`aria-sort="${order}"` : NOTHING}>
    <button type="submit" form="filters" name="sort" value="${next}" data-column="${column}">
      ${COLUMN_TITLES[column]}
    </button>
  </th>`;
}

function renderRow({ ranked, visible, leads }: ArrangedRow, view: TableView): Html {
  const { attributes, cells } = contentOf(ranked, view);
  return html`<tr role="row" ${leads ? html`class="lead"` : NOTHING} ${flag('hidden', !visible)} ${attributes}>
    ${cells}
  </tr>`;
}

/** The parts of a row that are the same in every view: nearly all, so that a search costs little. */
interface RowContent {
  readonly groups: PriceList['groups'];
  readonly group: OfferingGroup | undefined;
  readonly modelRoot: string;
  readonly attributes: Html;
  readonly cells: Html;
}

/** The last one of each row. */
const contents = new WeakMap<RankedRow, RowContent>();

function contentOf(ranked: RankedRow, view: TableView): RowContent {
  const {
    state: { groups },
    group,
    modelRoot,
  } = view;
  const known = contents.get(ranked);
  if (known?.groups === groups && known.group === group && known.modelRoot === modelRoot) return known;
  const attributes = renderAttributes(ranked, view);
  const content = { groups, group, modelRoot, attributes, cells: renderCells(ranked.row, view) };
  contents.set(ranked, content);
  return content;
}

/** What the page's script filters and sorts by. */
function renderAttributes({ row, ranks }: RankedRow, view: TableView): Html {
  const groups = view.state.pricing.groups.flatMap(({ name }, index) =>
    view.state.groups.get(name)?.offers.has(row.modelName) ? [index] : [],
  );
  return html`data-v="${view.vendors.get(row.vendor) ?? -1}" data-t="${row.quotaType === 'Token' ? 'token' : 'request'}"
  data-u="${usesOf(row).join(' ')}" data-c="${contextOf(row)}" data-g="${groups.join(' ')}"
  data-r="${COLUMNS.map((column) => ranks[column]).join(' ')}"`;
}

function renderCells(row: PricingRow, view: TableView): Html {
  return html`<th role="rowheader" scope="row">
      <a class="model-name" href="${modelHref(view.modelRoot, row.modelName)}"><bdi>${row.modelName}</bdi></a
      >${renderFactsLine(row.facts)}
    </th>
    <td role="cell"><bdi>${row.vendor || '—'}</bdi></td>
    <td role="cell">${QUOTA_TYPE_NAMES[row.quotaType]}</td>
    ${renderRatios(row, dollarsOf(row, view.group))}
    <td role="cell">${renderGroups(row.enabledGroups, view.chosenDisplayName)}</td>`;
}

/** The row's dollars at the chosen group's prices where it offers the model, else at base prices. */
function dollarsOf(row: PricingRow, group: OfferingGroup | undefined): RowDollars {
  const offer = group?.offers.get(row.modelName);
  return (offer && offerDollars(offer)) ?? baseDollars(row);
}

function renderRatios(row: PricingRow, dollars: RowDollars): Html {
  if (dollars.quotaType === 'Request') {
    return html`<td role="cell">
        ${NOT_APPLICABLE}<small>${formatRange(dollars.request)} per ${generationUnit(row)}</small>
      </td>
      <td role="cell">${NOT_APPLICABLE}</td>
      <td role="cell">${NOT_APPLICABLE}</td>`;
  }
  return html`<td role="cell">${ratioOf(row, 'modelRatioE9')}<small>${formatRange(dollars.input)} input</small></td>
    <td role="cell">
      ${
        row.stated.output
          ? html`${ratioOf(row, 'completionRatioE9')}<small>${formatRange(dollars.output)} output</small>`
          : NOT_APPLICABLE
      }
    </td>
    <td role="cell">${renderCache(row, dollars)}</td>`;
}

type RatioName = 'modelRatioE9' | 'completionRatioE9' | 'cacheRatioE9' | 'cacheWriteRatioE9';

/** A price in dollars has no ratios, which would not compare with those of other catalogs. */
function ratioOf(row: PricingRow, name: RatioName): Html {
  return row.isInDollars ? IN_DOLLARS : html`${formatDecimal(row[name])}`;
}

/** Prices that the catalog does not state are not shown. */
function renderCache(row: PricingRow, dollars: TokenDollars): Html {
  const { stated } = row;
  const ratio = stated.cache ? ratioOf(row, 'cacheRatioE9') : NOT_STATED;
  const cached = html`${stated.cache ? formatRange(dollars.cached) : '—'} cached`;
  if (!stated.cacheWrite1h) return html`${ratio}${stated.cache ? html`<small>${cached}</small>` : NOTHING}`;
  return html`${ratio}
    <details>
      <summary>${cached}<span class="vh">; show cache writes</span></summary>
      <dl>
        <div>
          <dt>5 min write <b>${stated.cacheWrite5m ? ratioOf(row, 'cacheWriteRatioE9') : '—'}</b></dt>
          <dd>${stated.cacheWrite5m ? formatRange(dollars.cacheWrite5m) : '—'}</dd>
        </div>
        <div>
          <dt>1 h write <b>${row.isInDollars ? IN_DOLLARS : formatE10(row.cacheWrite1hRatioE10)}</b></dt>
          <dd>${formatRange(dollars.cacheWrite1h)}</dd>
        </div>
      </dl>
    </details>`;
}

function renderGroups(displayNames: readonly string[], chosen: string | undefined): Html {
  if (displayNames.length === 0) return html`<span class="na">None yet</span>`;
  const badges = displayNames.map((name) => renderBadge(name, name === chosen));
  if (badges.length <= GROUPS_SHOWN + 1)
    return html`<ul class="groups">
      ${badges}
    </ul>`;
  return html`<ul class="groups">
      ${badges.slice(0, GROUPS_SHOWN)}
    </ul>
    <details>
      <summary>${badges.length - GROUPS_SHOWN} more<span class="vh"> groups</span></summary>
      <ul class="groups">
        ${badges.slice(GROUPS_SHOWN)}
      </ul>
    </details>`;
}

function renderBadge(name: string, chosen: boolean): Html {
  return html`<li ${chosen ? html`class="on"` : NOTHING} title="${name}"><bdi>${name}</bdi></li>`;
}

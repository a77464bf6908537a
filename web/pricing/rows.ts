/**
 * [P] Sorts and filters rows. Each row gets its exact rank in every column once per price list; the page carries the
 * ranks, so that the browser sorts by whole numbers.
 */
import { compareNames } from '../compare-text.ts';
import { contextOf, usesOf } from './facts.ts';
import { COLUMNS } from './query.ts';
import type { Column, PricingQuery } from './query.ts';
import type { OfferingGroup, PricingRow } from './price-list.ts';

export interface RankedRow {
  readonly row: PricingRow;
  /** The rank in each column: equal values share one; -1, always sorted last, where the column does not apply. */
  readonly ranks: Readonly<Record<Column, number>>;
}

/** A row as one view shows it. */
export interface ArrangedRow {
  readonly ranked: RankedRow;
  readonly visible: boolean;
  /** The first visible row of its vendor, where the list is ordered by vendor. */
  readonly leads: boolean;
}

type Compare = (a: PricingRow, b: PricingRow) => number;

interface ColumnOrder {
  readonly compare: Compare;
  readonly applies: (row: PricingRow) => boolean;
}

const always = (): boolean => true;
const isToken = ({ quotaType }: PricingRow): boolean => quotaType === 'Token';
const hasRatios = (row: PricingRow): boolean => isToken(row) && !row.isInDollars;
const hasOutput = (row: PricingRow): boolean => hasRatios(row) && row.stated.output;
const hasCache = (row: PricingRow): boolean => hasRatios(row) && row.stated.cache;

const ORDERS: Readonly<Record<Column, ColumnOrder>> = {
  model: { compare: (a, b) => compareNames(a.modelName, b.modelName), applies: always },
  vendor: { compare: (a, b) => compareNames(a.vendor, b.vendor), applies: always },
  type: { compare: (a, b) => Number(!isToken(a)) - Number(!isToken(b)), applies: always },
  model_ratio: { compare: (a, b) => compareBigints(a.modelRatioE9, b.modelRatioE9), applies: hasRatios },
  completion_ratio: { compare: (a, b) => compareBigints(a.completionRatioE9, b.completionRatioE9), applies: hasOutput },
  cache_ratio: { compare: (a, b) => compareBigints(a.cacheRatioE9, b.cacheRatioE9), applies: hasCache },
  groups: { compare: (a, b) => a.enabledGroups.length - b.enabledGroups.length, applies: always },
};

/** The rows with their ranks. */
export function rankRows(rows: readonly PricingRow[]): RankedRow[] {
  const byColumn = COLUMNS.map((column) => [column, rankColumn(rows, ORDERS[column])] as const);
  return rows.map((row) => {
    const ranks = Object.fromEntries(byColumn.map(([column, rankOf]) => [column, rankOf.get(row) ?? -1]));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one entry for each column, from COLUMNS itself
    return { row, ranks: ranks as Record<Column, number> };
  });
}

/** Sorts the rows and hides those that the query leaves out. `group`: the group that the query names. */
export function arrangeRows(
  ranked: readonly RankedRow[],
  query: PricingQuery,
  group: OfferingGroup | undefined,
): ArrangedRow[] {
  const matches = rowFilter(query, group);
  let vendor: string | undefined;
  return [...ranked].sort(compareBy(query)).map((entry) => {
    const visible = matches(entry.row);
    const leads = visible && query.sort.column === 'vendor' && entry.row.vendor !== vendor;
    if (visible) vendor = entry.row.vendor;
    return { ranked: entry, visible, leads };
  });
}

function rowFilter(
  { text, vendor, quotaType, use, context = 0 }: PricingQuery,
  group: OfferingGroup | undefined,
): (row: PricingRow) => boolean {
  const words = text.toLowerCase().split(/\s+/);
  return (row) => {
    if (vendor !== undefined && row.vendor !== vendor) return false;
    if (quotaType && row.quotaType !== quotaType) return false;
    if (use && !usesOf(row).includes(use)) return false;
    if (contextOf(row) < context) return false;
    if (group && !group.offers.has(row.modelName)) return false;
    const searched = `${row.modelName} ${row.vendor}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  };
}

function compareBy({ sort: { column, descending } }: PricingQuery): (a: RankedRow, b: RankedRow) => number {
  const direction = descending ? -1 : 1;
  return (a, b) => {
    const left = a.ranks[column];
    const right = b.ranks[column];
    if (left === right) return a.ranks.model - b.ranks.model;
    if (left < 0 || right < 0) return left < 0 ? 1 : -1;
    return (left - right) * direction;
  };
}

function rankColumn(rows: readonly PricingRow[], { compare, applies }: ColumnOrder): Map<PricingRow, number> {
  const ranks = new Map<PricingRow, number>();
  let rank = -1;
  let previous: PricingRow | undefined;
  for (const row of rows.filter(applies).sort(compare)) {
    if (!previous || compare(previous, row) !== 0) rank += 1;
    ranks.set(row, rank);
    previous = row;
  }
  return ranks;
}

function compareBigints(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}

/**
 * [P] The price page's query string. Every control is one parameter, so that a view can be bookmarked and works without
 * scripts: q, vendor, type, use, context, group, sort (`-` in front: descending); the calculator's are in
 * calculation.ts.
 */
import { parseCalculation } from './calculation.ts';
import type { Calculation } from './calculation.ts';
import { CONTEXTS, USES } from './facts.ts';
import type { Use } from './facts.ts';
import type { PriceList } from './price-list.ts';

/** The table's columns, in their order, by the names that `sort` takes. */
export const COLUMNS = ['model', 'vendor', 'type', 'model_ratio', 'completion_ratio', 'cache_ratio', 'groups'] as const;

export type Column = (typeof COLUMNS)[number];

export interface Sort {
  readonly column: Column;
  readonly descending: boolean;
}

export interface PricingQuery {
  /** Words that model name and vendor must hold. */
  readonly text: string;
  readonly vendor: string | undefined;
  readonly quotaType: 'Token' | 'Request' | undefined;
  readonly use: Use | undefined;
  /** The least context, in tokens. */
  readonly context: number | undefined;
  /** A Group's name: only its models, at its prices. */
  readonly group: string | undefined;
  readonly sort: Sort;
  /** undefined: the calculator shows its example. */
  readonly calculation: Calculation | undefined;
}

const DEFAULT_SORT: Sort = { column: 'vendor', descending: false };
const LONGEST_TEXT = 200;

export const DEFAULT_QUERY: PricingQuery = {
  text: '',
  vendor: undefined,
  quotaType: undefined,
  use: undefined,
  context: undefined,
  group: undefined,
  sort: DEFAULT_SORT,
  calculation: undefined,
};

/** The query with unknown vendors and groups removed; the page shows them as not chosen. */
export function parsePricingQuery(parameters: URLSearchParams, pricing: PriceList['pricing']): PricingQuery {
  // The last one counts: a header's button adds its order behind the form's.
  const last = (name: string): string => parameters.getAll(name).at(-1) ?? '';
  const vendor = last('vendor');
  const group = last('group');
  return {
    text: last('q').trim().slice(0, LONGEST_TEXT),
    vendor: pricing.rows.some((row) => row.vendor === vendor) ? vendor : undefined,
    quotaType: parseQuotaType(last('type')),
    use: USES.find((use) => use === last('use')),
    context: CONTEXTS.find((tokens) => String(tokens) === last('context')),
    group: pricing.groups.some(({ name }) => name === group) ? group : undefined,
    sort: parseSort(last('sort')),
    calculation: parseCalculation(parameters),
  };
}

/** A sort as the query string has it. */
export function formatSort({ column, descending }: Sort): string {
  return `${descending ? '-' : ''}${column}`;
}

/** The same for equal queries. */
export function queryKey({ sort, ...query }: PricingQuery): string {
  const { text, vendor, quotaType, use, context, group, calculation } = query;
  return JSON.stringify(
    [text, vendor, quotaType, use, context, group, formatSort(sort), calculation].map((value) => value ?? null),
  );
}

function parseQuotaType(text: string): 'Token' | 'Request' | undefined {
  if (text === 'token') return 'Token';
  return text === 'request' ? 'Request' : undefined;
}

function parseSort(text: string): Sort {
  const descending = text.startsWith('-');
  const column = COLUMNS.find((name) => name === text.slice(descending ? 1 : 0));
  return column ? { column, descending } : DEFAULT_SORT;
}

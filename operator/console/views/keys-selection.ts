/** [P] Of all keys that a person may see, the page that was asked for. Ten thousand of them take a few milliseconds. */
import type { ApiKey } from '#crds/types.gen.ts';
import { factsOf } from './key-facts.ts';
import type { KeyFacts } from './key-facts.ts';
import type { KeyColumn, KeysQuery } from './keys-query.ts';

export const PAGE_SIZE = 100;

export interface KeysSelection {
  readonly rows: readonly KeyFacts[];
  /** As asked, or the last one that there is. */
  readonly page: number;
  /** At least 1. */
  readonly pages: number;
  readonly matches: number;
  readonly total: number;
  /** All that there are, whatever is asked for, in order. */
  readonly namespaces: readonly string[];
  readonly groups: readonly string[];
}

/** What a column sorts by; undefined goes last in either direction. */
type SortValue = string | number | bigint | undefined;

const SORT_VALUES: Readonly<Record<KeyColumn, (facts: KeyFacts) => SortValue>> = {
  name: ({ order }) => order,
  key: ({ apiKey }) => apiKey.status?.keyPrefix,
  group: ({ apiKey }) => apiKey.spec.groupRef.name,
  enabled: ({ apiKey }) => apiKey.spec.enabled ? 0 : 1,
  spent: ({ spentNanoUsd }) => spentNanoUsd,
  remaining: ({ remainingNanoUsd }) => remainingNanoUsd,
  used: ({ lastUsedMs }) => lastUsedMs,
  expires: ({ expiresMs }) => expiresMs,
  // what needs attention first
  ready: ({ readiness: { state, reason } }) => `${{ NotReady: 0, Unknown: 1, Ready: 2 }[state]} ${reason}`,
};

/** Filters, sorts and cuts out the page. */
export function selectKeys(apiKeys: readonly ApiKey[], query: KeysQuery): KeysSelection {
  const all = apiKeys.map(factsOf);
  const found = all.filter(matching(query));
  const pages = Math.max(1, Math.ceil(found.length / PAGE_SIZE));
  const page = Math.min(query.page, pages);
  return {
    rows: sorted(found, query.sort).slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE),
    page,
    pages,
    matches: found.length,
    total: all.length,
    namespaces: distinct(all, ({ apiKey }) => apiKey.metadata.namespace),
    groups: distinct(all, ({ apiKey }) => apiKey.spec.groupRef.name),
  };
}

function matching({ text, namespace, group, ready, enabled }: KeysQuery): (facts: KeyFacts) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
  return ({ apiKey: { metadata, spec }, text: own, readiness }) => (namespace === '' || metadata.namespace === namespace)
    && (group === '' || spec.groupRef.name === group)
    && (ready === undefined || (readiness.state === 'Ready') === (ready === 'yes'))
    && (enabled === undefined || spec.enabled === (enabled === 'yes'))
    && words.every((word) => own.includes(word));
}

function sorted(facts: readonly KeyFacts[], { column, descending }: KeysQuery['sort']): KeyFacts[] {
  const valueOf = SORT_VALUES[column];
  const direction = descending ? -1 : 1;
  return facts.map((each) => ({ each, value: valueOf(each) }))
    .sort((a, b) => compare(a.value, b.value, direction) || compare(a.each.order, b.each.order, 1))
    .map(({ each }) => each);
}

function compare(a: SortValue, b: SortValue, direction: number): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  return a < b ? -direction : direction;
}

function distinct(facts: readonly KeyFacts[], nameOf: (facts: KeyFacts) => string): string[] {
  return [...new Set(facts.map(nameOf))].sort();
}

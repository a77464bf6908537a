/** [P] The labels of the names of a split, and the filters that show their calls. */
import { compareNames } from '#web/compare-text.ts';
import type { ConsoleDeps } from '../route.ts';
import type { Split, UsagePageFilter } from './usage-query.ts';
import type { UsageScope } from './usage-scope.ts';

/** A group's name as users know it. */
export function groupNames({
  resources,
  gatewayNamespace,
}: Pick<ConsoleDeps, 'resources' | 'gatewayNamespace'>): ReadonlyMap<string, string> {
  return new Map(
    resources()
      .groups.filter(({ metadata }) => metadata.namespace === gatewayNamespace)
      .map(({ metadata, spec }) => [metadata.name, spec.displayName ?? metadata.name]),
  );
}

export interface Names {
  readonly scope: UsageScope;
  readonly groups: ReadonlyMap<string, string>;
}

export function labelOf(name: string, by: Split, { scope, groups }: Names): string {
  switch (by) {
    case 'model':
    case 'account':
      return name;
    case 'group':
      return groups.get(name) ?? name;
    case 'key':
      return scope.keys.get(name)?.id ?? recordedId(scope, name) ?? shortUid(name);
  }
}

/** "namespace/name" of a deleted key: its namespace is its account's. */
function recordedId({ recorded }: UsageScope, uid: string): string | undefined {
  const known = recorded.get(uid);
  return known && `${known.account.slice(0, known.account.indexOf('/'))}/${known.name}`;
}

/** The filter that lets only calls of this name through. */
export function filterOf(name: string, by: Split, { scope }: Pick<Names, 'scope'>): Partial<UsagePageFilter> {
  switch (by) {
    case 'model':
      return { model: name };
    case 'account':
      return { account: name };
    case 'group':
      return { group: name };
    case 'key': {
      const key = scope.keys.get(name);
      return key ? { key: key.id } : { uid: name };
    }
  }
}

/** Models are public. */
export function modelNames(
  routes: readonly { readonly spec: { readonly models: readonly { readonly name: string }[] } }[],
): string[] {
  return [...new Set(routes.flatMap(({ spec }) => spec.models.map(({ name }) => name)))].sort(compareNames);
}

export const SHOWN_OF_UID = 8;

/**
 * The label of a key whose object is gone. In files mode the uid is "namespace/name"; of a UUID the beginning is
 * enough.
 */
export function shortUid(uid: string): string {
  return uid.includes('/') ? uid.slice(uid.indexOf('/') + 1) : `${uid.slice(0, SHOWN_OF_UID)}…`;
}

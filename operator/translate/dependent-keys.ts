/**
 * [P] Counts the accepted ApiKeys that would lose a model if a ModelRoute or a PriceCatalog were deleted. A model that
 * another route of the group serves, or another catalog prices, is not lost.
 */
import type { ModelRoute } from '#snapshot/snapshot.gen.ts';
import type { TranslatedGroup } from './group.ts';
import { memoize } from './memoize.ts';

/** Keys by the name of their group. */
type KeyCounts = ReadonlyMap<string, number>;
/** Keys by the name of a ModelRoute or PriceCatalog; an absent one has none. */
export type DependentKeys = ReadonlyMap<string, number>;

const needed = memoize<TranslatedGroup, ReadonlySet<string>>();

/** Keys by ModelRoute. */
export function keysByRoute(
  groups: readonly TranslatedGroup[],
  routes: readonly ModelRoute[],
  keyCounts: KeyCounts,
): DependentKeys {
  const modelsOf = new Map(routes.map(({ name, models }) => [name, models.map((model) => model.name)]));
  const byName = new Map(groups.map((group) => [group.findings.name, group]));
  return sumOf(groups, keyCounts, (group) => {
    const members = membersOf(group, byName);
    return needed(group, [routes.length, ...routes, ...members], () => neededRoutes(members, modelsOf));
  });
}

/** Keys by PriceCatalog. `claims`: the models that each catalog could price. */
export function keysByCatalog(
  groups: readonly TranslatedGroup[],
  claims: ReadonlyMap<string, readonly string[]>,
  keyCounts: KeyCounts,
): DependentKeys {
  const only = onlyOwners([...claims].flatMap(([catalog, models]) => models.map((model) => [model, catalog] as const)));
  return sumOf(
    groups,
    keyCounts,
    ({ models }) => new Set([...only].flatMap(([model, catalog]) => (models.has(model) ? [catalog] : []))),
  );
}

function sumOf(
  groups: readonly TranslatedGroup[],
  keyCounts: KeyCounts,
  neededBy: (group: TranslatedGroup) => ReadonlySet<string>,
): DependentKeys {
  const sums = new Map<string, number>();
  for (const group of groups) {
    const keys = keyCounts.get(group.findings.name) ?? 0;
    if (keys > 0) for (const name of neededBy(group)) sums.set(name, (sums.get(name) ?? 0) + keys);
  }
  return sums;
}

/** The Direct groups that serve a group's calls. */
function membersOf(group: TranslatedGroup, byName: ReadonlyMap<string, TranslatedGroup>): readonly TranslatedGroup[] {
  const access = group.message?.access;
  return access?.$case === 'automatic' ? access.value.members.flatMap((name) => byName.get(name) ?? []) : [group];
}

/** The routes that alone serve a model of these groups. */
function neededRoutes(
  groups: readonly TranslatedGroup[],
  modelsOf: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const entries = groups.flatMap(({ message }) =>
    message?.access?.$case === 'direct' ? message.access.value.routes : [],
  );
  const served = entries.flatMap(({ route, models }) =>
    (modelsOf.get(route) ?? [])
      .filter((model) => !models || models.names.includes(model))
      .map((model) => [model, route] as const),
  );
  return new Set(onlyOwners(served).values());
}

/** What has one owner, with its owner. */
function onlyOwners(owned: readonly (readonly [string, string])[]): ReadonlyMap<string, string> {
  const owners = new Map<string, string | undefined>();
  for (const [item, owner] of owned)
    owners.set(item, owners.has(item) && owners.get(item) !== owner ? undefined : owner);
  return new Map([...owners].flatMap(([item, owner]) => (owner === undefined ? [] : [[item, owner] as const])));
}

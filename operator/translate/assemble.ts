/**
 * [P] Last step of translate: one sorted, frozen snapshot, the counts that need several kinds, and the time of the next
 * change.
 */
import type { ModelRoute, PriceCatalog, Snapshot } from '#snapshot/snapshot.gen.ts';
import { compareNamed } from '#snapshot/sorted.ts';
import type { Named } from '#snapshot/sorted.ts';
import { compareFindings } from '../status/findings.ts';
import type { Findings } from '../status/findings.ts';
import { freezeDeep } from '#objects/resources.ts';
import { keysByCatalog, keysByRoute } from './dependent-keys.ts';
import type { DependentKeys } from './dependent-keys.ts';
import type { TranslatedGroup } from './group.ts';
import { memoize } from './memoize.ts';
import type { TranslatedTenant } from './tenant.ts';
import type { Translated } from './translated.ts';

interface TranslatedParts {
  readonly catalogs: readonly Translated<PriceCatalog>[];
  /** When a price next takes effect or expires; Infinity: never. */
  readonly nextPriceChangeMs: number;
  readonly routes: readonly Translated<ModelRoute>[];
  readonly groups: readonly TranslatedGroup[];
  readonly tenants: readonly TranslatedTenant[];
  readonly priced: ReadonlyMap<string, unknown>;
  /** The models that each PriceCatalog could price, whichever does. */
  readonly claims: ReadonlyMap<string, readonly string[]>;
  /** Findings about objects that are not part of the snapshot. */
  readonly leftOut: readonly Findings[];
}

/** The result of translate. */
export interface Translation {
  readonly snapshot: Snapshot;
  /** Findings about every object of this gateway, sorted. */
  readonly statuses: readonly Findings[];
  /** The next moment at which the same resources translate to something else; absent: never. */
  readonly nextChangeMs?: number;
}

/** Puts the parts together; tenants are sorted by namespace. */
export function assemble(parts: TranslatedParts): Translation {
  const { tenants, leftOut } = parts;
  const keyCounts = countKeys(tenants);
  const groups = countedGroups(parts, keyCounts);
  const serving = parts.routes.flatMap(({ message }) => message ?? []);
  const routes = withKeys(parts.routes, keysByRoute(parts.groups, serving, keyCounts));
  const catalogs = withKeys(parts.catalogs, keysByCatalog(parts.groups, parts.claims, keyCounts));
  const snapshot = Object.freeze({
    keys: Object.freeze(tenants.flatMap(({ keys }) => keys)),
    accounts: Object.freeze(tenants.flatMap(({ accounts }) => accounts)),
    groups: messagesOf(groups),
    routes: messagesOf(routes),
    catalogs: messagesOf(catalogs),
  });
  const platform = freezeDeep([...groups, ...routes, ...catalogs].map(({ findings }) => findings).concat(leftOut));
  // already in order: Account and ApiKey come first in the alphabet
  const findings = [
    ...tenants.flatMap(({ accountFindings }) => accountFindings),
    ...tenants.flatMap(({ keyFindings }) => keyFindings),
    ...platform.toSorted(compareFindings),
  ];
  const statuses = leftOut.length === 0 ? findings : findings.sort(compareFindings);
  const nextChangeMs = tenants.reduce((next, { untilMs }) => Math.min(next, untilMs), parts.nextPriceChangeMs);
  return Object.freeze({
    snapshot,
    statuses: Object.freeze(statuses),
    ...(nextChangeMs < Infinity && { nextChangeMs }),
  });
}

function messagesOf<Message extends Named>(translated: readonly Translated<Message>[]): readonly Message[] {
  return freezeDeep(translated.flatMap(({ message }) => message ?? []).sort(compareNamed));
}

const counted = memoize<TranslatedGroup, TranslatedGroup>();

/** The number of accepted keys by group. */
function countKeys(tenants: readonly TranslatedTenant[]): ReadonlyMap<string, number> {
  const keyCounts = new Map<string, number>();
  for (const { keysByGroup } of tenants)
    for (const [name, count] of keysByGroup) keyCounts.set(name, (keyCounts.get(name) ?? 0) + count);
  return keyCounts;
}

const dependedOn = memoize<Translated<unknown>, Translated<unknown>['findings']>();

/** Accepted objects with the number of keys that would lose a model without them. */
function withKeys<T extends Translated<unknown>>(translated: readonly T[], counts: DependentKeys): T[] {
  return translated.map((each) => {
    const { findings } = each;
    if (findings.refused) return each;
    const keys = counts.get(findings.name) ?? 0;
    return {
      ...each,
      findings: dependedOn(each, [keys], () => ({ ...findings, fields: { ...findings.fields, keys } })),
    };
  });
}

/** Groups with the number of priced models and of accepted keys. */
function countedGroups({ groups, priced }: TranslatedParts, keyCounts: ReadonlyMap<string, number>): TranslatedGroup[] {
  return groups.map((group) => {
    const models = [...group.models].filter((name) => priced.has(name)).length;
    const { findings } = group;
    const keys = keyCounts.get(findings.name) ?? 0;
    return counted(group, [models, keys], () => ({ ...group, findings: { ...findings, fields: { models, keys } } }));
  });
}

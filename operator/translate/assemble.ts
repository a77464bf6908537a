/**
 * [P] Last step of translate: one sorted, frozen snapshot, the counts that need several kinds, and the time of the next
 * expiry.
 */
import type { Account, Key, ModelRoute, PriceCatalog, Snapshot } from '#snapshot/snapshot.gen.ts';
import type { Findings } from '../status/findings.ts';
import { freezeDeep } from '../store/resources.ts';
import type { TranslatedKey } from './api-key.ts';
import type { TranslatedGroup } from './group.ts';
import type { Translated } from './translated.ts';
import { compareText } from './quote-names.ts';

interface TranslatedParts {
  readonly catalogs: readonly Translated<PriceCatalog>[];
  /** When a price begins or ceases to count; undefined: never. */
  readonly nextPriceChangeMs: number | undefined;
  readonly routes: readonly Translated<ModelRoute>[];
  readonly groups: readonly TranslatedGroup[];
  readonly accounts: readonly Translated<Account>[];
  readonly keys: readonly TranslatedKey[];
  readonly priced: ReadonlyMap<string, unknown>;
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

/** Puts the parts together; accounts and keys are sorted already. */
export function assemble(parts: TranslatedParts, nowMs: number): Translation {
  const { catalogs, routes, accounts, keys, leftOut } = parts;
  const groups = countedGroups(parts);
  const snapshot = freezeDeep<Snapshot>({
    keys: messagesOf(keys),
    accounts: messagesOf(accounts),
    groups: messagesOf(groups),
    routes: messagesOf(routes),
    catalogs: messagesOf(catalogs),
  });
  const statuses = freezeDeep([...accounts, ...keys, ...groups, ...routes, ...catalogs].map(({ findings }) => findings)
    .concat(leftOut));
  const nextChangeMs = nextMoment(snapshot.keys, nowMs, parts.nextPriceChangeMs);
  return Object.freeze({ snapshot, statuses:
    Object.freeze(statuses.toSorted(compareFindings)), ...nextChangeMs !== undefined && { nextChangeMs } });
}

function messagesOf<Message extends Named>(translated: readonly Translated<Message>[]): Message[] {
  return translated.flatMap(({ message }) => message ?? []).sort(compareNamed);
}

/** When the next key expires, the overlap of a replaced one ends, or a price changes; undefined: never. */
function nextMoment(
  keys: readonly Key[], nowMs: number, priceChangeMs = Number.POSITIVE_INFINITY,
): number | undefined {
  let next = priceChangeMs;
  for (const { expirationMs, hashes } of keys)
    for (const ms of [expirationMs, ...hashes.map(({ notAfterMs }) => notAfterMs)])
      if (ms !== undefined && Number(ms) > nowMs && Number(ms) < next) next = Number(ms);
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

/** Accepted keys by group. */
function countKeys(keys: readonly TranslatedKey[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { group, findings } of keys) if (!findings.refused) counts.set(group, (counts.get(group) ?? 0) + 1);
  return counts;
}

/** Groups with the number of priced models and of accepted keys. */
function countedGroups({ groups, priced, keys }: TranslatedParts): TranslatedGroup[] {
  const keysByGroup = countKeys(keys);
  return groups.map((group) => {
    const models = [...group.models].filter((name) => priced.has(name)).length;
    const fields = { models, keys: keysByGroup.get(group.findings.name) ?? 0 };
    return { ...group, findings: { ...group.findings, fields } };
  });
}

interface Named {
  readonly namespace: string;
  readonly name: string;
}

function compareNamed(a: Named, b: Named): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

function compareFindings(a: Findings, b: Findings): number {
  return compareText(a.kind, b.kind) || compareNamed(a, b);
}

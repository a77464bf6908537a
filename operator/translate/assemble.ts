/**
 * [P] Last step of translate: one snapshot, sorted and frozen, with the counts that need all kinds, and the next moment at
 * which time alone changes something.
 */
import type { Account, Key, ModelRoute, PriceCatalog, Snapshot } from '#snapshot/snapshot.gen.ts';
import type { Findings } from '../status/findings.ts';
import { freezeDeep } from '../store/resources.ts';
import type { TranslatedKey } from './api-key.ts';
import type { TranslatedGroup } from './group.ts';
import { publishedOnce } from './remember.ts';
import type { Translated } from './translated.ts';
import { compareText } from './words.ts';

export interface TranslatedParts {
  readonly catalogs: readonly Translated<PriceCatalog>[];
  readonly routes: readonly Translated<ModelRoute>[];
  readonly groups: readonly TranslatedGroup[];
  readonly accounts: readonly Translated<Account>[];
  readonly keys: readonly TranslatedKey[];
  readonly priced: ReadonlyMap<string, unknown>;
  readonly misplaced: readonly Findings[];
}

/** What translate gives back. */
export interface Translation {
  readonly snapshot: Snapshot;
  /** Of every object that is this gateway's, sorted. */
  readonly statuses: readonly Findings[];
  /** The next moment at which the same resources translate to something else; absent: never. */
  readonly nextChangeMs?: number;
}

/** Puts the parts together. */
export function assemble(parts: TranslatedParts, nowMs: number): Translation {
  const { catalogs, routes, accounts, keys, misplaced } = parts;
  const groups = countedGroups(parts);
  const snapshot: Snapshot = {
    keys: messagesOf(keys),
    accounts: messagesOf(accounts),
    groups: messagesOf(groups),
    routes: messagesOf(routes),
    catalogs: messagesOf(catalogs),
  };
  const statuses = [...keys, ...accounts, ...groups, ...routes, ...catalogs].map(({ findings, message }) => publishedOnce(findings, message !== undefined));
  const nextChangeMs = nextChange(snapshot.keys, nowMs);
  return freezeDeep({
    snapshot,
    statuses: [...statuses, ...misplaced].sort(compareFindings),
    ...(nextChangeMs === undefined ? {} : { nextChangeMs }),
  });
}

function messagesOf<Message extends Named>(translated: readonly Translated<Message>[]): Message[] {
  return translated.flatMap(({ message }) => message === undefined ? [] : [message]).sort(compareNamed);
}

/** Groups with the number of priced models and of accepted keys. */
function countedGroups({ groups, keys, priced }: TranslatedParts): TranslatedGroup[] {
  const keysByGroup = new Map<string, number>();
  for (const { group, findings } of keys)
    if (!findings.refused) keysByGroup.set(group, (keysByGroup.get(group) ?? 0) + 1);
  return groups.map((group) => {
    const models = [...group.models].filter((name) => priced.has(name)).length;
    const fields = { models, keys: keysByGroup.get(group.findings.name) ?? 0 };
    return { ...group, findings: { ...group.findings, fields } };
  });
}

/** The first expiration or end of an overlap that is still to come. */
function nextChange(keys: readonly Key[], nowMs: number): number | undefined {
  let next: bigint | undefined;
  for (const { expirationMs, hashes } of keys)
    for (const ms of [expirationMs, ...hashes.map(({ notAfterMs }) => notAfterMs)])
      if (ms !== undefined && ms > BigInt(nowMs) && (next === undefined || ms < next)) next = ms;
  return next === undefined ? undefined : Number(next);
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

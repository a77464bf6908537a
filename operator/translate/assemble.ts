/**
 * [P] Last step of translate: one snapshot, sorted and frozen, with the counts that need all kinds, and the next moment at
 * which time alone changes something.
 */
import type { Account, Key, ModelRoute, PriceCatalog, Snapshot } from '#snapshot/snapshot.gen.ts';
import type { Findings } from '../status/findings.ts';
import { listChanges } from '../store/list-changes.ts';
import { freezeDeep } from '../store/resources.ts';
import type { TranslatedKey } from './api-key.ts';
import type { TranslatedGroup } from './group.ts';
import type { TranslationMemory } from './memory.ts';
import type { Translated } from './translated.ts';
import { compareText } from './words.ts';

interface TranslatedParts {
  readonly catalogs: readonly Translated<PriceCatalog>[];
  readonly routes: readonly Translated<ModelRoute>[];
  readonly groups: readonly TranslatedGroup[];
  readonly accounts: readonly Translated<Account>[];
  readonly keys: readonly TranslatedKey[];
  readonly priced: ReadonlyMap<string, unknown>;
  /** Of objects that nothing was made of. */
  readonly leftOut: readonly Findings[];
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
export function assemble(parts: TranslatedParts, nowMs: number, memory: TranslationMemory['assembled']): Translation {
  const { catalogs, routes, accounts, keys, leftOut } = parts;
  const groups = countedGroups(parts, countKeys(keys, memory));
  const published = Object.freeze(memory.keys(memory.publishedKeyOrder(keys), [], messageOf));
  const snapshot: Snapshot = Object.freeze({
    keys: isList(published) ? published : [],
    accounts: messagesOf(accounts),
    groups: messagesOf(groups),
    routes: messagesOf(routes),
    catalogs: messagesOf(catalogs),
  });
  const nextChangeMs = memory.nextOfMessages(keys, nowMs);
  const platform = [...groups, ...routes, ...catalogs].map(findingsToSay).sort(compareFindings);
  const statuses = [
    ...memory.accountFindings(accounts, [], findingsToSay), ...memory.keyFindings(memory.keyOrder(keys), [], findingsToSay), // sorted, and the first kinds of all
    ...platform,
  ];
  if (leftOut.length > 0) statuses.push(...leftOut.map(freezeDeep));
  if (leftOut.length > 0) statuses.sort(compareFindings);
  return Object.freeze({ snapshot, statuses: Object.freeze(statuses), ...(nextChangeMs === undefined ? {} : { nextChangeMs }) });
}

function findingsToSay({ findings, message }: Translated<unknown>): Findings {
  const published = message !== undefined;
  return freezeDeep(findings.published === published ? findings : { ...findings, published });
}

function messageOf({ findings, message }: TranslatedKey): Key {
  if (!message) throw new Error(`${findings.namespace}/${findings.name} has no message`); // it was chosen because it has one
  return freezeDeep(message);
}

/** The generated types know no readonly lists; nobody changes one. */
function isList<T>(list: readonly T[]): list is T[] {
  return Array.isArray(list);
}

function messagesOf<Message extends Named>(translated: readonly Translated<Message>[]): Message[] {
  return freezeDeep(translated.flatMap(({ message }) => message === undefined ? [] : [message]).sort(compareNamed));
}

/** Accepted keys by group. */
function countKeys(keys: readonly TranslatedKey[], memory: TranslationMemory['assembled']): ReadonlyMap<string, number> {
  const { keysByGroup } = memory;
  const count = ({ group, findings }: TranslatedKey, by: number): void => {
    if (!findings.refused) keysByGroup.set(group, (keysByGroup.get(group) ?? 0) + by);
  };
  const { removed, added } = listChanges(memory.counted, keys);
  memory.counted = keys;
  for (const key of removed) count(key, -1);
  for (const key of added) count(key, 1);
  return keysByGroup;
}

/** Groups with the number of priced models and of accepted keys. */
function countedGroups({ groups, priced }: TranslatedParts, keysByGroup: ReadonlyMap<string, number>): TranslatedGroup[] {
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

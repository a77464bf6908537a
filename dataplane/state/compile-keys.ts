/**
 * [P] Keys by hash, and accounts. There may be a hundred thousand keys, so equal parts (model lists) are shared between them
 * and nothing is made per key that can be made per call.
 */
import { Period, WhenShort } from '../snapshot/snapshot.gen.ts';
import type { Account, Key, NameFilter } from '../snapshot/snapshot.gen.ts';
import type { QuotaPeriod } from '../ledger/ledger.ts';
import type { AccountState, Credential, KeyState } from './state.ts';

const PERIODS: Readonly<Record<Period, QuotaPeriod>> = {
  [Period.UNSPECIFIED]: 'Never',
  [Period.NEVER]: 'Never',
  [Period.DAILY]: 'Daily',
  [Period.MONTHLY]: 'Monthly',
};

/** Sets of names by their content, so that equal lists are one object. */
export type SharedFilters = ReadonlyMap<string, ReadonlySet<string>>;

export interface CompiledKeys {
  readonly credentials: ReadonlyMap<string, Credential>;
  readonly filters: SharedFilters;
}

/**
 * Credentials by key hash; of two keys with one hash the first counts. Keys that are as in `previous` stay the objects they
 * were: most of them do not change, and moving a hundred thousand new ones into old memory costs more than making them.
 */
export function compileCredentials(keys: readonly Key[], previous?: CompiledKeys): CompiledKeys {
  const credentials = new Map<string, Credential>();
  const filters = new Map<string, ReadonlySet<string>>();
  for (const key of keys) {
    const models = key.models && shareFilter(key.models, filters, previous?.filters);
    const before = stateBefore(key, previous?.credentials);
    const state = before && isStateOf(before, key, models) ? before : keyState(key, models);
    addCredentials(credentials, key, state, previous?.credentials);
  }
  return { credentials, filters };
}

function stateBefore({ hashes }: Key, previous: ReadonlyMap<string, Credential> | undefined): KeyState | undefined {
  const [first] = hashes;
  return first && previous?.get(first.sha256)?.key;
}

function addCredentials(to: Map<string, Credential>, { hashes }: Key, state: KeyState, previous: ReadonlyMap<string, Credential> | undefined): void {
  for (const { sha256, notAfterMs } of hashes)
    if (!to.has(sha256)) to.set(sha256, keepOrMake(previous?.get(sha256), state, optionalMs(notAfterMs)));
}

function keepOrMake(before: Credential | undefined, key: KeyState, notAfterMs: number | undefined): Credential {
  return before && before.key === key && before.notAfterMs === notAfterMs ? before : { key, notAfterMs };
}

/** Whether compileKey would make the same again; field by field, since making it to compare is what costs. */
function isStateOf(state: KeyState, key: Key, models: ReadonlySet<string> | undefined): boolean {
  return sameIdentity(state, key) && sameAccess(state, key) && sameLimits(state, key) && state.models === models;
}

function sameIdentity(state: KeyState, key: Key): boolean {
  return state.uid === key.uid && state.namespace === key.namespace && state.name === key.name
    && state.generation === key.generation && state.prefix === key.prefix;
}

function sameAccess(state: KeyState, key: Key): boolean {
  return state.enabled === key.enabled && state.refusal === key.refusal && state.expirationMs === optionalMs(key.expirationMs)
    && state.group === key.group && state.account === key.account;
}

function sameLimits(state: KeyState, key: Key): boolean {
  return state.limitNanoUsd === (key.limitNanoUsd ?? null) && state.period === PERIODS[key.period]
    && state.whenShort === whenShort(key) && state.slot?.limit === key.maxConcurrency;
}

/** A key by itself; its list of models is shared with those of `filters`, and kept there. */
export function compileKey(key: Key, filters: Map<string, ReadonlySet<string>>): KeyState {
  return keyState(key, key.models && shareFilter(key.models, filters, undefined));
}

/** What opens a key, by hash. */
export function credentialsOf({ hashes }: Key, key: KeyState): [sha256: string, credential: Credential][] {
  return hashes.map(({ sha256, notAfterMs }) => [sha256, { key, notAfterMs: optionalMs(notAfterMs) }]);
}

function keyState(key: Key, models: ReadonlySet<string> | undefined): KeyState {
  return {
    uid: key.uid,
    namespace: key.namespace,
    name: key.name,
    prefix: key.prefix,
    generation: key.generation,
    enabled: key.enabled,
    refusal: key.refusal,
    expirationMs: optionalMs(key.expirationMs),
    group: key.group,
    account: key.account,
    limitNanoUsd: key.limitNanoUsd ?? null,
    period: PERIODS[key.period],
    whenShort: whenShort(key),
    models,
    slot: key.maxConcurrency === undefined ? undefined : { scope: 'Key', id: `key/${key.uid}`, limit: key.maxConcurrency },
  };
}

function whenShort(key: Key): KeyState['whenShort'] {
  return key.whenShort === WhenShort.REFUSE ? 'Refuse' : 'Lower';
}

/** Many keys have the same list of models: one set serves them all, and the one of the state before serves on. */
function shareFilter({ names }: NameFilter, filters: Map<string, ReadonlySet<string>>, previous: SharedFilters | undefined): ReadonlySet<string> {
  const id = names.join('\n');
  let shared = filters.get(id);
  if (!shared) filters.set(id, shared = previous?.get(id) ?? new Set(names));
  return shared;
}

/** Accounts by "namespace/name". */
export function compileAccounts(accounts: readonly Account[]): Map<string, AccountState> {
  return new Map(accounts.map(({ namespace, name, generation, creditNanoUsd }) => {
    const id = `${namespace}/${name}`;
    return [id, { id, generation, creditNanoUsd }];
  }));
}

/** Times beyond what a Number counts exactly (the year 287396) are as good as never. */
function optionalMs(ms: bigint | undefined): number | undefined {
  return ms === undefined ? undefined : Number(ms);
}

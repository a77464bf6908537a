/**
 * [P] The state after an edit, from the state before it: one key's edit costs the same with ten keys and with a hundred
 * thousand. Groups, routes and prices depend on one another and are few: if one of them is edited, all of them are compiled.
 */
import { LayeredMap } from '../snapshot/layered-map.ts';
import type { Account, Key, Snapshot } from '../snapshot/snapshot.gen.ts';
import { compileAccounts, compileKey, credentialsOf } from './compile-keys.ts';
import { compileOffering } from './compile.ts';
import type { CompiledState } from './compile.ts';
import type { Credential } from './state.ts';

/** An object before and after; absent: it was not there, or is gone. */
export interface Edit<M> {
  readonly before: M | undefined;
  readonly after: M | undefined;
}

/** Everything that is different. What results must be a snapshot that snapshot/validate passes. */
export interface SnapshotEdit {
  readonly keys: readonly Edit<Key>[];
  readonly accounts: readonly Edit<Account>[];
  /** All groups, routes and catalogs, if one of them is different. */
  readonly offering: Pick<Snapshot, 'groups' | 'routes' | 'catalogs'> | undefined;
}

/** A configuration that snapshot/validate has passed. */
export interface ValidConfig {
  /** All of it; asked for when it is looked at, since making it costs more than an edit. */
  readonly snapshot: () => Snapshot;
  /** What is different from what is in force; absent: perhaps everything. */
  readonly edit?: SnapshotEdit;
}

/** The state that compile would make of the whole snapshot. */
export function compileEdit(previous: CompiledState, { keys, accounts, offering }: SnapshotEdit): CompiledState {
  const edited = keys.length === 0 ? previous : editKeys(previous, keys);
  return {
    ...edited,
    ...accounts.length === 0 ? {} : { accounts: editAccounts(previous, accounts) },
    ...offering === undefined ? {} : compileOffering(offering, previous),
  };
}

function editKeys(previous: CompiledState, edits: readonly Edit<Key>[]): CompiledState {
  const changes = new Map<string, Credential | undefined>();
  const filters = new Map(previous.filters);
  // all that is taken away goes first: a key string may move from one key to another
  for (const { before } of edits) for (const { sha256 } of before?.hashes ?? []) changes.set(sha256, undefined);
  for (const { after } of edits) {
    if (after === undefined) continue;
    const state = compileKey(after, filters);
    for (const [sha256, credential] of credentialsOf(after, state)) changes.set(sha256, credential);
  }
  return { ...previous, filters, credentials: LayeredMap.of(previous.credentials, changes) };
}

function editAccounts({ accounts }: CompiledState, edits: readonly Edit<Account>[]): CompiledState['accounts'] {
  const gone = edits.flatMap(({ before }) => before === undefined ? [] : [[`${before.namespace}/${before.name}`, undefined] as const]);
  return LayeredMap.of(accounts, new Map([...gone, ...compileAccounts(edits.flatMap(({ after }) => after ?? []))]));
}

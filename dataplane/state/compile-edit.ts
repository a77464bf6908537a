/**
 * [P] The state after an edit, made from the state before it. Keys and accounts are compiled one by one, as there may
 * be a hundred thousand of them. Groups, routes and prices depend on one another and are few: if one of them changes,
 * all of them are compiled.
 */
import type { Account, Key, Snapshot } from '../snapshot/snapshot.gen.ts';
import { compileAccount, compileKey } from './compile-keys.ts';
import { compileOffering } from './compile.ts';
import type { State } from './state.ts';

/** An object before and after; undefined: it was not there, or is gone. */
export interface Edit<M> {
  readonly before: M | undefined;
  readonly after: M | undefined;
}

/** Everything that changes. The result must be a snapshot that snapshot/validate accepts. */
export interface SnapshotEdit {
  readonly keys: readonly Edit<Key>[];
  readonly accounts: readonly Edit<Account>[];
  /** The whole offering, if a group, route or catalog changes. */
  readonly offering: Pick<Snapshot, 'groups' | 'routes' | 'catalogs'> | undefined;
}

/** A configuration that snapshot/validate has accepted. */
export interface ValidConfig {
  /** The whole configuration; made when it is called, because that costs more than an edit. */
  readonly snapshot: () => Snapshot;
  /** What differs from the configuration in force; absent: perhaps everything. */
  readonly edit?: SnapshotEdit;
}

/** The state that compile would make of the whole snapshot. */
export function compileEdit(previous: State, { keys, accounts, offering }: SnapshotEdit): State {
  return {
    ...previous,
    ...keys.length > 0 && { credentials: editCredentials(previous, keys) },
    ...accounts.length > 0 && { accounts: editAccounts(previous, accounts) },
    ...offering && compileOffering(offering, previous),
  };
}

function editCredentials({ credentials }: State, edits: readonly Edit<Key>[]): State['credentials'] {
  const edited = new Map(credentials);
  // removals first: a hash may move from one key to another
  for (const { before } of edits) for (const { sha256 } of before?.hashes ?? []) edited.delete(sha256);
  for (const { after } of edits) for (const entry of after ? compileKey(after) : []) edited.set(...entry);
  return edited;
}

function editAccounts({ accounts }: State, edits: readonly Edit<Account>[]): State['accounts'] {
  const edited = new Map(accounts);
  for (const { before } of edits) if (before) edited.delete(`${before.namespace}/${before.name}`);
  for (const { after } of edits) if (after) edited.set(...compileAccount(after));
  return edited;
}

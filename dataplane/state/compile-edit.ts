/**
 * [P] Compiles the state after an edit from the previous state. Keys and accounts are compiled one by one, because
 * there may be a hundred thousand of them. Groups, routes and prices depend on one another and are few, so that all of
 * them are compiled if one changes.
 */
import type { Account, Key, Snapshot } from '#snapshot/snapshot.gen.ts';
import { compileAccount, compileKey } from './compile-keys.ts';
import { compileOffering } from './compile.ts';
import type { State } from './state.ts';

/** An object before and after the edit; undefined if it did not or does not exist. */
export interface Edit<M> {
  readonly before: M | undefined;
  readonly after: M | undefined;
}

/** Everything that changes. The result must be a snapshot that snapshot/validate accepts. */
export interface SnapshotEdit {
  readonly keys: readonly Edit<Key>[];
  readonly accounts: readonly Edit<Account>[];
  /** All groups, routes and catalogs, if one of them changes. */
  readonly offering: Pick<Snapshot, 'groups' | 'routes' | 'catalogs'> | undefined;
}

/** A configuration that snapshot/validate has accepted. */
export interface ValidConfig {
  /** Returns the whole configuration, which costs more than an edit. */
  readonly snapshot: () => Snapshot;
  /** The difference to the configuration in force; absent if it is unknown. */
  readonly edit?: SnapshotEdit;
}

/** Returns the same state as compile would for the whole snapshot. */
export function compileEdit(previous: State, { keys, accounts, offering }: SnapshotEdit): State {
  return {
    ...previous,
    ...(keys.length > 0 && { credentials: editCredentials(previous, keys) }),
    ...(accounts.length > 0 && { accounts: editAccounts(previous, accounts) }),
    ...(offering && compileOffering(offering, previous)),
  };
}

function editCredentials({ credentials }: State, edits: readonly Edit<Key>[]): State['credentials'] {
  const edited = new Map(credentials);
  // removals first, because a hash may move from one key to another
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

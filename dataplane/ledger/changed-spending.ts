/**
 * [P] Whose spending may be another than when it was asked for last, so that of a hundred thousand keys only those are read that call.
 * Calls note nothing for it: what they spend is noted for the file anyway, and what is held can have changed only for those who
 * have a call in flight, had one when it was asked for last, or have spent or had a hold withdrawn since, which is noted, too.
 */
import type { Books, Untold } from './books.ts';
import type { SpendingChanges } from './ledger.ts';

/** Everything that may have changed since `mark`, if that is the latest that was given out. */
export function changesSince(books: Books, mark: object | undefined): SpendingChanges {
  const { untold, holds } = books;
  const next: Untold = { mark: {}, keys: new Set(), accounts: new Set() };
  for (const { key, account } of holds.values()) {
    next.keys.add(key);
    next.accounts.add(account);
  }
  books.untold = next;
  if (!untold || untold.mark !== mark) return { mark: next.mark };
  return {
    mark: next.mark,
    keys: [...untold.keys.union(next.keys).union(books.changedKeys)].map(({ uid }) => uid),
    accounts: [...untold.accounts.union(next.accounts).union(books.changedAccounts)].map(({ id }) => id),
  };
}

/** The file has what has changed: only who asks for it is still to be told. */
export function changesFiled({ untold, changedKeys, changedAccounts }: Books): void {
  if (untold) {
    for (const key of changedKeys) untold.keys.add(key);
    for (const account of changedAccounts) untold.accounts.add(account);
  }
  changedKeys.clear();
  changedAccounts.clear();
}

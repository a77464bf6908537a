/**
 * Reads from the ledger what every key and account has spent, and enters it into the status book. It is read again and again, and
 * of a hundred thousand keys nearly all have spent nothing since: only what differs from what was read last is put into words.
 */
import { setImmediate } from 'node:timers/promises';
import type { Account, ApiKey } from '#crds/types.gen.ts';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import type { AccountSpending, KeySpending, LedgerReader } from '#ledger/ledger.ts';
import { accountSpendingStatus, creditOf, keySpendingStatus } from '../status/spending.ts';
import { accountIdOf, namespacedName } from '../store/resources.ts';
import type { Resources } from '../store/resources.ts';
import { statusId } from './status-book.ts';
import type { StatusBook } from './status-book.ts';

interface SpendingSources {
  readonly ledger: LedgerReader;
  readonly nowMs: number;
}

interface SpendingReader {
  /** Resolves to false where the ledger does not answer: the book then says what it said before. */
  read(resources: Resources, sources: SpendingSources): Promise<boolean>;
}

/** Between two lots, calls have their turn: there may be a hundred thousand keys. */
const READS_AT_ONCE = 64;

export function createSpendingReader(book: StatusBook, gatewayNamespace: string): SpendingReader {
  /** By the object as it was when it was read: an edited one is another, and its spending means something else. */
  const known = new WeakMap<ApiKey | Account, KeySpending | AccountSpending>();

  async function readKey(apiKey: ApiKey, { ledger, nowMs }: SpendingSources): Promise<void> {
    const { metadata, spec } = apiKey;
    const spending = await ledger.readKey(metadata.uid ?? namespacedName(metadata), spec.quota.period, accountIdOf(apiKey));
    const id = statusId({ kind: 'ApiKey', ...metadata });
    if (isNew(apiKey, spending, id)) book.spent(id, keySpendingStatus(apiKey, spending), nowMs);
  }

  async function readAccount(account: Account, { ledger, nowMs }: SpendingSources): Promise<void> {
    const credit = creditOf(account);
    if (credit === undefined) return;
    const spending = await ledger.readAccount(namespacedName(account.metadata));
    const id = statusId({ kind: 'Account', ...account.metadata });
    if (isNew(account, spending, id)) book.spent(id, accountSpendingStatus(credit, spending), nowMs);
  }

  /** Whether the book does not know it yet. It forgets, for instance when this process stops leading. */
  function isNew(object: ApiKey | Account, spending: KeySpending | AccountSpending, id: string): boolean {
    const before = known.get(object);
    if (before && isSame(before, spending) && book.knowsSpending(id)) return false;
    known.set(object, spending);
    return true;
  }

  async function readAll<T extends ApiKey | Account>(objects: readonly T[], readOne: (object: T) => Promise<void>): Promise<void> {
    for (let at = 0; at < objects.length; at += READS_AT_ONCE) {
      await setImmediate();
      const counting = objects.slice(at, at + READS_AT_ONCE).filter(({ spec }) => spec.gatewayNamespace === gatewayNamespace);
      await Promise.all(counting.map((object) => readOne(object)));
    }
  }

  return {
    async read({ apiKeys, accounts }, sources) {
      try {
        await readAll(apiKeys, (apiKey) => readKey(apiKey, sources));
        await readAll(accounts, (account) => readAccount(account, sources));
        return true;
      } catch (error) {
        if (error instanceof LedgerUnavailable) return false;
        throw error;
      }
    },
  };
}

/** Amounts and times, none of them an object. */
function isSame<Spending extends KeySpending | AccountSpending>(one: Spending, other: Spending): boolean {
  for (const field in one) if (one[field] !== other[field]) return false;
  return true;
}

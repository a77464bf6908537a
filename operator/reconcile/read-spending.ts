/**
 * Reads from the ledger what every key and account has spent, and enters it into the status book.
 */
import { setImmediate } from 'node:timers/promises';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import type { LedgerReader } from '#ledger/ledger.ts';
import { accountSpendingStatus, creditOf, keySpendingStatus } from '../status/spending.ts';
import { namespacedName } from '../store/resources.ts';
import type { Resources } from '../store/resources.ts';
import { statusId } from './status-book.ts';
import type { StatusBook } from './status-book.ts';

interface SpendingSources {
  readonly ledger: LedgerReader;
  readonly book: StatusBook;
  readonly gatewayNamespace: string;
  readonly nowMs: number;
}

/** Between two lots, calls have their turn: there may be a hundred thousand keys. */
const READS_AT_ONCE = 64;

/** Resolves to false where the ledger does not answer: the book then says what it said before. */
export async function readSpending({ apiKeys, accounts }: Resources, { ledger, book, gatewayNamespace, nowMs }: SpendingSources): Promise<boolean> {
  const reads = [
    ...apiKeys.filter(({ spec }) => spec.gatewayNamespace === gatewayNamespace).map((apiKey) => async () => {
      const { metadata, spec } = apiKey;
      const spending = await ledger.readKey(metadata.uid ?? namespacedName(metadata), spec.quota.period);
      book.spent(statusId({ kind: 'ApiKey', ...metadata }), keySpendingStatus(apiKey, spending), nowMs);
    }),
    ...accounts.filter(({ spec }) => spec.gatewayNamespace === gatewayNamespace).map((account) => async () => {
      const credit = creditOf(account);
      if (credit === undefined) return;
      const spending = await ledger.readAccount(namespacedName(account.metadata));
      book.spent(statusId({ kind: 'Account', ...account.metadata }), accountSpendingStatus(credit, spending), nowMs);
    }),
  ];
  try {
    for (let at = 0; at < reads.length; at += READS_AT_ONCE) {
      await setImmediate();
      await Promise.all(reads.slice(at, at + READS_AT_ONCE).map((read) => read()));
    }
    return true;
  } catch (error) {
    if (error instanceof LedgerUnavailable) return false;
    throw error;
  }
}

/** The names that keys have in usage records, which outlive the ApiKeys. */
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { KeyName, UsageStore } from '../data/usage.ts';

const NONE: ReadonlyMap<string, KeyName> = new Map();

/** Names of keys by uid; none while the ledger cannot be read, since names alone keep no page from being shown. */
export async function readRecordedNames(
  { usage }: { readonly usage: UsageStore | undefined },
  accounts: readonly string[],
): Promise<ReadonlyMap<string, KeyName>> {
  if (!usage || accounts.length === 0) return NONE;
  try {
    return await usage.keyNames(accounts);
  } catch (error) {
    if (error instanceof LedgerUnavailable) return NONE;
    throw error;
  }
}

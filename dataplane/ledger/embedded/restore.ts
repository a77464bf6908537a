/** [P] Restores the balances from the rows of the ledger's file. Decides nothing anew. */
import { countHold, openAccount, openKey, openWindow, setCountedAmount, spend, trimPastWindows } from '../balances.ts';
import type { Balances, Hold, KeyBalance } from '../balances.ts';
import { addJob } from '../jobs.ts';
import { dropHold } from '../ledger-core.ts';
import type { Row } from '#usage/rows.ts';
import { decodeAccount, decodeCall, decodeJob, decodeKey } from './rows.ts';
import type { Settlement, StoredCall, StoredHold } from './rows.ts';

/** The rows from which memory is restored. */
export interface StoredBalances {
  readonly keys: readonly Row[];
  readonly accounts: readonly Row[];
  readonly calls: readonly Row[];
  readonly jobs: readonly Row[];
}

/** Fills empty balances. Returns the calls: those that are settled are not filed yet, and are in that order. */
export function restoreBalances(balances: Balances, stored: StoredBalances, nowMs: number): StoredCall[] {
  for (const key of stored.keys.map(decodeKey)) balances.keys.set(key.uid, key);
  for (const account of stored.accounts.map(decodeAccount)) balances.accounts.set(account.id, account);
  for (const job of stored.jobs.map(decodeJob)) addJob(balances.jobs, job);
  const calls = stored.calls.map(decodeCall).sort((a, b) => settledMsOf(a) - settledMsOf(b));
  for (const call of calls) {
    if ('running' in call) restoreHold(balances, call.running, nowMs);
    else restoreSettlement(balances, call.settled, nowMs);
  }
  return calls;
}

function settledMsOf(call: StoredCall): number {
  return 'settled' in call ? call.settled.settledMs : 0;
}

/** Bills a call that was settled and is not in the balances yet. */
export function restoreSettlement(balances: Balances, settled: Settlement, nowMs: number): void {
  const { record, admittedMs = record.createdMs } = settled;
  forgetHold(balances, record.callId);
  const key = keyOf(balances, record.keyUid, nowMs);
  const account = openAccount(balances, record.account);
  spend(balances, { key, account, admittedMs, ...windowsOf(key, settled) }, record.costNanoUsd);
  key.lastUsedMs = Math.max(key.lastUsedMs ?? 0, record.createdMs);
  // the call's window may have been created only for this record
  if (key.past.length > 0) trimPastWindows(key);
}

/** Adds a running call, in place of an earlier hold of it. */
export function restoreHold(balances: Balances, stored: StoredHold, nowMs: number): void {
  const { origin, progress, limits, grantedNanoUsd, admittedMs = origin.createdMs, renewedMs } = stored;
  forgetHold(balances, origin.callId);
  const key = keyOf(balances, origin.keyUid, nowMs);
  const hold: Hold = {
    origin,
    key,
    account: openAccount(balances, origin.account),
    admittedMs,
    ...windowsOf(key, stored),
    limits,
    grantedNanoUsd,
    countedNanoUsd: 0n,
    progress,
    renewedMs,
    pending: false,
  };
  balances.holds.set(origin.callId, hold);
  countHold(hold, 1);
  setCountedAmount(hold, grantedNanoUsd);
  key.lastUsedMs = Math.max(key.lastUsedMs ?? 0, origin.createdMs);
}

export function forgetHold(balances: Balances, callId: string): void {
  const hold = balances.holds.get(callId);
  if (hold) dropHold(balances, hold);
}

function keyOf(balances: Balances, uid: string, nowMs: number): KeyBalance {
  return balances.keys.get(uid) ?? openKey(balances, uid, nowMs);
}

function windowsOf(
  key: KeyBalance,
  { dayStartMs, monthStartMs }: { readonly dayStartMs: number; readonly monthStartMs: number },
): Pick<Hold, 'day' | 'month'> {
  return { day: openWindow(key, 'Day', dayStartMs), month: openWindow(key, 'Month', monthStartMs) };
}

/**
 * [P] Makes the books again from what was in the file and the movements of the journal since. Amounts are taken as they were
 * decided: nothing is decided again.
 */
import { admitTo, newWindow, openAccount, openKey, recount, spend, trimPast, windowStarting } from './books.ts';
import type { Books, Hold, KeyBook } from './books.ts';
import { addJob, jobOfChannel } from './jobs.ts';
import type { HeldRecord, JobStateRecord, KeyState, RecordVisitor, SettledRecord } from './journal-reader.ts';
import { dropHold, endJob } from './ledger-core.ts';

/** Applies records to the books, which tell no log meanwhile. */
export function replayInto(books: Books, nowMs: number): Required<RecordVisitor> {
  return {
    held: (record) => replayHold(books, record, nowMs),
    gone: (callId) => forgetHold(books, callId),
    renewed: ({ callId, progress, renewedMs }) => {
      const hold = books.holds.get(callId);
      if (!hold) return;
      hold.progress = progress;
      hold.renewedMs = renewedMs;
    },
    settled: (record) => replaySettlement(books, record, nowMs),
    job: (record) => replayJob(books, record, nowMs),
    // states repeat what the movements before them come to, except where there is nothing before
    key: (state) => {
      if (!books.keys.has(state.uid)) restoreKey(books, state);
    },
    account: ({ id, spentNanoUsd }) => {
      if (!books.accounts.has(id)) books.accounts.set(id, { id, spentNanoUsd, heldNanoUsd: 0n, seen: undefined });
    },
  };
}

/** A key as it was. */
export function restoreKey(books: Books, { uid, totalSpentNanoUsd, lastUsedMs, day, month, past }: KeyState): void {
  books.keys.set(uid, {
    uid, total: { spentNanoUsd: totalSpentNanoUsd, heldNanoUsd: 0n },
    day: newWindow('Day', day.startMs, day.spentNanoUsd), month: newWindow('Month', month.startMs, month.spentNanoUsd),
    past: past.map(({ kind, startMs, spentNanoUsd }) => newWindow(kind, startMs, spentNanoUsd)), lastUsedMs, seen: undefined,
  });
}

/** A hold as it was; it replaces another of its call. */
export function replayHold(books: Books, record: HeldRecord, nowMs: number): void {
  const { origin, progress, grantedNanoUsd, renewedMs } = record;
  forgetHold(books, origin.callId);
  const key = keyOf(books, origin.keyUid, nowMs);
  const hold: Hold = {
    origin, key, account: openAccount(books, origin.account), ...windowsOf(key, record),
    // generations are of the process that is gone
    limits: { keyLimitNanoUsd: record.keyLimitNanoUsd, period: record.period, keyGeneration: 0n, accountCreditNanoUsd: record.accountCreditNanoUsd, accountGeneration: 0n },
    grantedNanoUsd, countedNanoUsd: 0n, progress, renewedMs, pending: false,
  };
  books.holds.set(origin.callId, hold);
  admitTo(hold, 1);
  recount(hold, grantedNanoUsd);
  key.lastUsedMs = Math.max(key.lastUsedMs ?? 0, origin.createdMs);
}

function forgetHold(books: Books, callId: string): void {
  const hold = books.holds.get(callId);
  if (hold) dropHold(books, hold);
}

function replaySettlement(books: Books, { record, dayStartMs, monthStartMs }: SettledRecord, nowMs: number): void {
  forgetHold(books, record.callId);
  const key = keyOf(books, record.keyUid, nowMs);
  spend(books, { key, account: openAccount(books, record.account), ...windowsOf(key, { dayStartMs, monthStartMs }) }, record.costNanoUsd);
  key.lastUsedMs = Math.max(key.lastUsedMs ?? 0, record.createdMs);
  // the window of the call may have been opened for this alone
  if (key.past.length > 0) trimPast(key);
}

function replayJob(books: Books, record: JobStateRecord, nowMs: number): void {
  const known = jobOfChannel(books.jobs, record.origin.channel, record.jobId);
  if (!known) addJob(books.jobs, { ...record });
  else if (record.state !== 'Running') endJob(books, known, { state: record.state, nowMs: record.endedMs ?? nowMs });
}

function keyOf(books: Books, uid: string, nowMs: number): KeyBook {
  return books.keys.get(uid) ?? openKey(books, uid, nowMs);
}

function windowsOf(key: KeyBook, { dayStartMs, monthStartMs }: { readonly dayStartMs: number; readonly monthStartMs: number }): Pick<Hold, 'day' | 'month'> {
  return { day: windowStarting(key, 'Day', dayStartMs), month: windowStarting(key, 'Month', monthStartMs) };
}

/**
 * Restores the balances at the start: reads the ledger's file, then replays the journal written since its checkpoint.
 * The replay applies decisions as they were made and decides nothing anew.
 */
import {
  countHold,
  newWindow,
  openAccount,
  openKey,
  openWindow,
  setCountedAmount,
  spend,
  trimPastWindows,
} from '../balances.ts';
import type { Balances, Hold, KeyBalance, SettledCall, Window } from '../balances.ts';
import { addJob, changesCall, jobOfChannel } from '../jobs.ts';
import { dropHold, endJob } from '../ledger-core.ts';
import type { JobBill, SpendingLimits } from '../ledger.ts';
import type {
  JournaledAccount,
  HeldRecord,
  JobStateRecord,
  JournaledKey,
  RecordVisitor,
  SettledRecord,
  WindowState,
} from './journal-reader.ts';
import { decodeAccount, decodeHold, decodeJob, decodeKey } from './rows.ts';
import type { StoredBalances } from './rows.ts';
import { segmentsAfter, visitSegment } from './segments.ts';
import type { Checkpoint } from './segments.ts';
import type { RecoveredCalls } from './settled-calls.ts';

export interface FileState {
  readonly checkpoint: Checkpoint;
  readonly stored: StoredBalances;
}

/** The state of file and journal, and the calls that the file does not contain yet. */
export interface Recovered {
  readonly checkpoint: Checkpoint;
  readonly lastSegment: number;
  readonly recovered: RecoveredCalls;
}

/** Fills empty balances from file and journal. Throws if the two do not belong together. */
export function recover(balances: Balances, path: string, file: FileState & { readonly nowMs: number }): Recovered {
  const { checkpoint, stored, nowMs } = file;
  const segments = segmentsAfter(path, checkpoint);
  const [first] = segments;
  // after a replacement of the file, the journal starts with all balances
  const isOwn = first === undefined || first.ledgerId === checkpoint.ledgerId;
  if (isOwn) restoreBalances(balances, stored, nowMs);
  const recovered = { settled: new Map<string, SettledCall>(), corrections: new Map<string, JobBill | undefined>() };
  const replay = replayInto(balances, nowMs);
  for (const [index, segment] of segments.entries()) {
    visitSegment(segment, index === segments.length - 1, {
      ...replay,
      settled: (call) => {
        recovered.settled.set(call.record.callId, call);
        replay.settled(call);
      },
      job: (job) => {
        if (changesCall(job)) recovered.corrections.set(job.origin.callId, job.bill);
        replay.job(job);
      },
    });
  }
  return {
    recovered,
    checkpoint: isOwn ? checkpoint : { ledgerId: first.ledgerId, segment: first.number - 1 },
    lastSegment: segments.at(-1)?.number ?? checkpoint.segment,
  };
}

/** Fills empty balances from the file. */
export function restoreBalances(balances: Balances, stored: StoredBalances, nowMs: number): void {
  for (const row of stored.keys) restoreKey(balances, decodeKey(row));
  for (const row of stored.accounts) restoreAccount(balances, decodeAccount(row));
  for (const row of stored.holds) replayHold(balances, decodeHold(row), nowMs);
  for (const row of stored.jobs) addJob(balances.jobs, decodeJob(row));
}

/** Applies the journal's records to balances without logging them again. */
export function replayInto(balances: Balances, nowMs: number): Required<RecordVisitor> {
  return {
    held: (record) => replayHold(balances, record, nowMs),
    withdrawn: (callId) => forgetHold(balances, callId),
    renewed: ({ callId, progress, renewedMs }) => {
      const hold = balances.holds.get(callId);
      if (hold) Object.assign(hold, { progress, renewedMs });
    },
    settled: (record) => replaySettlement(balances, record, nowMs),
    job: (record) => replayJob(balances, record, nowMs),
    // totals repeat the sum of earlier movements, except in a segment that begins with all balances
    key: (state) => {
      if (!balances.keys.has(state.uid)) restoreKey(balances, state);
    },
    account: (state) => {
      if (!balances.accounts.has(state.id)) restoreAccount(balances, state);
    },
  };
}

function restoreAccount(balances: Balances, { id, spentNanoUsd }: JournaledAccount): void {
  balances.accounts.set(id, { id, spentNanoUsd, heldNanoUsd: 0n, seen: undefined });
}

function restoreKey(balances: Balances, state: JournaledKey): void {
  const { uid, totalSpentNanoUsd, lastUsedMs, day, month, past } = state;
  balances.keys.set(uid, {
    uid,
    total: { spentNanoUsd: totalSpentNanoUsd, heldNanoUsd: 0n },
    day: windowOf(day),
    month: windowOf(month),
    past: past.map(windowOf),
    lastUsedMs,
    seen: undefined,
  });
}

function windowOf({ kind, startMs, spentNanoUsd }: WindowState): Window {
  return newWindow(kind, startMs, spentNanoUsd);
}

/** Replaces an earlier hold of the call. */
function replayHold(balances: Balances, record: HeldRecord, nowMs: number): void {
  const { origin, progress, grantedNanoUsd, renewedMs } = record;
  forgetHold(balances, origin.callId);
  const key = keyOf(balances, origin.keyUid, nowMs);
  const hold: Hold = {
    origin,
    key,
    account: openAccount(balances, origin.account),
    ...windowsOf(key, record),
    limits: limitsOf(record),
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

/** Sets the generations to 0, because those of the previous process do not apply to this one. */
function limitsOf({ keyLimitNanoUsd, period, accountCreditNanoUsd }: HeldRecord): SpendingLimits {
  return { keyLimitNanoUsd, period, keyGeneration: 0n, accountCreditNanoUsd, accountGeneration: 0n };
}

function forgetHold(balances: Balances, callId: string): void {
  const hold = balances.holds.get(callId);
  if (hold) dropHold(balances, hold);
}

function replaySettlement(balances: Balances, { record, ...windows }: SettledRecord, nowMs: number): void {
  forgetHold(balances, record.callId);
  const key = keyOf(balances, record.keyUid, nowMs);
  const account = openAccount(balances, record.account);
  spend(balances, { key, account, ...windowsOf(key, windows) }, record.costNanoUsd);
  key.lastUsedMs = Math.max(key.lastUsedMs ?? 0, record.createdMs);
  // the call's window may have been created only for this record
  if (key.past.length > 0) trimPastWindows(key);
}

function replayJob(balances: Balances, record: JobStateRecord, nowMs: number): void {
  const known = jobOfChannel(balances.jobs, record.origin.channel, record.jobId);
  if (!known) addJob(balances.jobs, { ...record });
  else if (record.state !== 'Running')
    endJob(balances, known, { state: record.state, bill: record.bill, nowMs: record.endedMs ?? nowMs });
}

function keyOf(balances: Balances, uid: string, nowMs: number): KeyBalance {
  return balances.keys.get(uid) ?? openKey(balances, uid, nowMs);
}

interface WindowStarts {
  readonly dayStartMs: number;
  readonly monthStartMs: number;
}

function windowsOf(key: KeyBalance, { dayStartMs, monthStartMs }: WindowStarts): Pick<Hold, 'day' | 'month'> {
  return { day: openWindow(key, 'Day', dayStartMs), month: openWindow(key, 'Month', monthStartMs) };
}

/**
 * Settles each call exactly once: computes its cost, replaces the hold by it, releases the limits and writes the usage
 * record. The rest of the response is sent afterwards.
 */
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { Settlement, SettleResult } from '../ledger/ledger.ts';
import { NOTHING_CONSUMED } from '../ledger/load.ts';
import { spendingLimits } from '../state/limits.ts';
import { isSent } from '../telemetry/call-report.ts';
import { CHANNEL_SCOPES } from './admit.ts';
import { encodeTerms } from './billing-terms.ts';
import { billsSeenOutput, progressOf, statusOf, worstCaseProgress } from './consumption.ts';
import type { CallStatus } from '#usage/record.ts';
import type { Admitted, CallOutcome, CallRecord, PipelineDeps } from './context.ts';
import { errorOutcome, notDelivered } from './error-outcome.ts';
import { originOf } from './origin.ts';

export interface SettledOutcome {
  /** The call's outcome, or an error if its settlement is neither in the ledger nor in the journal in time. */
  readonly outcome: CallOutcome;
  /** Undefined if nothing was held, or the ledger has not confirmed yet. */
  readonly result: SettleResult | undefined;
  /** What the ledger will bill, if the settlement waits in the journal. */
  readonly pendingNanoUsd?: bigint;
}

/**
 * How long a finished call waits until its settlement is in the ledger or the journal, before its client gets an error;
 * the settlement itself continues. A call that lost its hold has already waited that long, so it does not wait again.
 */
const SETTLE_TIMEOUT_MS = 20_000;

/** Time from a job's creation to its first poll. */
const FIRST_POLL_MS = 5_000;

/** Never rejects. */
export async function settle(deps: PipelineDeps, record: CallRecord, outcome: CallOutcome): Promise<SettledOutcome> {
  const {
    admitted,
    received: { requestId },
  } = record;
  if (!admitted) {
    deps.ledger.release(requestId, NOTHING_CONSUMED);
    return { outcome, result: undefined };
  }
  const texts = isBilledLater(record) ? [] : textsToCount(record, admitted, outcome);
  // the hold is renewed until the text is counted
  if (texts.length > 0) {
    const { key } = admitted.routed;
    record.countedOutput = await countOutput(deps, key.uid, { texts, outputBytes: record.meter?.outputBytes ?? 0 });
  }
  deps.leases.untrack(requestId);
  deps.running.delete(requestId);
  releaseUnsent(deps, record, admitted);
  return settleHeld(deps, record, { admitted, outcome, endedAt: deps.clock.monotonicMs() });
}

/**
 * Gives back what a call took of limits by the minute if its latest channel was sent nothing: that channel's limits, and
 * all of them if no other channel was sent anything either.
 */
function releaseUnsent({ ledger }: PipelineDeps, record: CallRecord, { candidate }: Admitted): void {
  if (record.sent) return;
  const sentTo = record.attempts.filter(isSent).map(({ channel }) => channel);
  if (sentTo.includes(candidate.target.id)) return;
  ledger.release(record.received.requestId, NOTHING_CONSUMED, sentTo.length > 0 ? CHANNEL_SCOPES : undefined);
}

async function settleHeld(deps: PipelineDeps, record: CallRecord, ended: Ended): Promise<SettledOutcome> {
  const { admitted, outcome, endedAt } = ended;
  const settlement = settlementOf(deps, record, ended);
  const journaled = Promise.withResolvers<undefined>();
  const settling = deps.ledger.settle(settlement, () => journaled.resolve(undefined));
  const isRefused = refusalOf(settling);
  const timed = (outcome: string): void => deps.telemetry.ledger('settle', deps.clock.monotonicMs() - endedAt, outcome);
  try {
    const timeoutMs = record.holdLost ? 0 : SETTLE_TIMEOUT_MS;
    const result = await deps.withTimeout(timeoutMs, Promise.race([settling, journaled.promise]));
    timed(result ? 'Settled' : 'Journaled');
    if (result) return { outcome, result };
    reportLate(deps, { admitted, settling });
    return { outcome, result, pendingNanoUsd: settlement.progress.costNanoUsd };
  } catch (error) {
    timed('unavailable');
    reportLate(deps, { admitted, settling });
    const told = isRefused() ? errorOutcome(deps, record, error) : withheld(deps, record, outcome);
    return { outcome: told, result: undefined };
  }
}

interface LateSettlement {
  readonly admitted: Admitted;
  readonly settling: Promise<SettleResult>;
}

/** Returns a function that is true once the ledger has refused the settlement, which is then not billed. */
function refusalOf(settling: Promise<unknown>): () => boolean {
  let isRefused = false;
  settling.catch(() => {
    isRefused = true;
  });
  return () => isRefused;
}

/**
 * The outcome if the settlement is nowhere on disk yet: nothing that completes the call is sent, and its record says
 * so. What has failed anyway says so itself.
 */
function withheld({ ledger }: PipelineDeps, record: CallRecord, outcome: CallOutcome): CallOutcome {
  const { requestId } = record.received;
  const completes = outcome.kind === 'Streamed' || (outcome.kind === 'Buffered' && !outcome.failed);
  if (!completes) return outcome;
  // a job's end decides about its call's status
  if (!record.job) ledger.withhold(requestId);
  return { kind: 'Error', error: notDelivered(requestId) };
}

/** Reports the result of a settlement that the ledger confirms after the call has ended. */
function reportLate(deps: PipelineDeps, { admitted: { routed, candidate }, settling }: LateSettlement): void {
  const call = { requestId: routed.received.requestId, model: routed.call.model, group: candidate.group };
  settling.then(
    ({ record }) => {
      // a job's bill is reported at its end
      if (record.status !== 'Running') deps.telemetry.billedLate({ ...call, billing: record });
    },
    () => undefined,
  );
}

interface Ended {
  readonly admitted: Admitted;
  readonly outcome: CallOutcome;
  readonly endedAt: number;
}

/** The text by which a cancelled call is billed; empty if its bill depends on no text. */
function textsToCount(record: CallRecord, admitted: Admitted, outcome: CallOutcome): readonly string[] {
  const texts = record.meter?.outputTexts ?? [];
  return texts.length > 0 && billsSeenOutput(record, admitted, statusOf(record, outcome, admitted)) ? texts : [];
}

/** Counts the tokens of all output; the texts are only its beginning. */
async function countOutput(
  { tokenizer }: PipelineDeps,
  keyUid: string,
  { texts, outputBytes }: { texts: readonly string[]; outputBytes: number },
): Promise<number> {
  const countedBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return Math.ceil(((await tokenizer.count(keyUid, texts)) * outputBytes) / countedBytes);
}

function settlementOf({ state, clock }: PipelineDeps, record: CallRecord, ended: Ended): Settlement {
  const { admitted, endedAt } = ended;
  const {
    received: { requestId, arrivedAt },
    job,
  } = record;
  const limits = spendingLimits(state.get(), admitted.routed);
  const later = isBilledLater(record);
  return {
    callId: requestId,
    ...(later ? { status: 'Running', progress: worstCaseProgress(admitted) } : costOf(record, ended)),
    durationMs: Math.round(endedAt - arrivedAt),
    origin: originOf(admitted.routed, admitted.candidate),
    ...(limits && { limits }),
    ...(job && {
      job: {
        jobId: job.id,
        pollMs: clock.nowMs() + FIRST_POLL_MS,
        ...(later && { terms: encodeTerms(admitted) }),
      },
    }),
  };
}

function isBilledLater({ job }: CallRecord): boolean {
  return job?.consumed !== undefined;
}

function costOf(record: CallRecord, { admitted, outcome }: Ended): Pick<Settlement, 'status' | 'progress'> {
  const { background, together } = admitted.routed.call;
  // the provider goes on, under an id that nobody knows; what came of a batch says nothing of its results
  if (background === true && record.sent && (together || !record.meter))
    return { status: 'ProviderCut', progress: worstCaseProgress(admitted) };
  const status = statusOf(record, outcome, admitted);
  const isEndedForLedger = outcome.kind === 'Error' && record.holdLost && (record.sent || record.produced);
  return { status: isEndedForLedger ? 'Withheld' : status, progress: endProgress(record, admitted, status) };
}

/** A session has a bill of its own. */
function endProgress(record: CallRecord, admitted: Admitted, status: CallStatus): Settlement['progress'] {
  return record.session?.progress ?? progressOf(record, admitted, status);
}

/**
 * Resolves with the work's result, or rejects with LedgerUnavailable after `ms` milliseconds. The work then continues,
 * and a late failure of it is ignored.
 */
export async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(new LedgerUnavailable(`no answer within ${ms} ms`)), ms);
  // a pending timeout must not keep the process alive
  timer.unref();
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

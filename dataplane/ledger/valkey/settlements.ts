/**
 * Delivers each settlement once, even if the server is often unreachable: sends it until it is answered, journals it if
 * that takes long, and journals the acknowledgement. The script answers a repetition with the first result.
 */
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { MoneyLimit, Settlement, SettleResult } from '../ledger.ts';
import { consumedBy } from '../load.ts';
import type { CallOrigin, CallStatus } from '#usage/record.ts';
import type { Bucket } from './bucket.ts';
import type { Instance } from './instance.ts';
import type { PendingSettlement } from './journal-line.ts';
import { adoptOperation, isNamedValues, limitsOperation, settleOperation, withholdOperation } from './operations.ts';
import type { HeldCall, Value } from './operations.ts';
import { parseRecord, readReply, recordOf } from './replies.ts';
import type { Reply } from './replies.ts';

const WITHHELD: CallStatus = 'Withheld';
/** A settlement is journaled if it is not answered within this time. */
const JOURNAL_AFTER_MS = 100;

/** Rejects if the ledger is closed or its script fails; the next process then delivers the settlement. */
export async function settle(
  instance: Instance,
  settlement: Settlement,
  onJournaled: () => void = () => undefined,
): Promise<SettleResult> {
  const { callId, limits } = settlement;
  const held = instance.held.get(callId);
  const { account } = held?.request.origin ?? settlement.origin;
  const bucket = instance.bucketOfAccount(account);
  const consumed = consumedBy(settlement.progress.tokens);
  const slots = instance.limits.handOver(callId, instance.bucketIndex(account));
  // limits by the minute, and slots in other buckets
  instance.limits.release(callId, consumed);
  if (held && limits && settlement.progress.costNanoUsd > held.heldNanoUsd)
    sendLimits(instance, bucket, { origin: held.request.origin, limits });
  const reply = await deliver(instance, bucket, { settlement, held, slots, account, onJournaled });
  instance.held.delete(callId);
  return readReply(reply, parseSettled);
}

/** Resolves with the final reply. Journals the settlement if that takes long or fails. */
async function deliver(instance: Instance, bucket: Bucket, delivery: Delivery): Promise<Reply> {
  const { settlement, held, slots, onJournaled } = delivery;
  const { callId } = settlement;
  const operation = settleOperation(settlement, slots);
  const pending = (): PendingSettlement => pendingOf(delivery);
  const addToJournal = once(() => instance.journal.addPending(pending()));
  instance.settling.set(callId, () => {
    delivery.settlement = { ...settlement, status: WITHHELD };
    // the latest line of a call is the one that counts
    void instance.journal.addPending(pending());
  });
  // a process that is killed before the reply has told its client nothing, so only a settlement that waits needs the
  // journal
  const timers = [
    setTimeout(() => void addToJournal(), JOURNAL_AFTER_MS).unref(),
    setTimeout(
      () => reportJournaled(addToJournal(), onJournaled),
      Math.max(JOURNAL_AFTER_MS, instance.timeoutMs),
    ).unref(),
  ];
  try {
    const reply = await bucket.executeUntilAnswered(operation);
    // two more operations follow, between which the ledger may be closed
    if (reply.is === 'unknown' && held) void addToJournal();
    const status = (): Value => delivery.settlement.status;
    return await complete(instance, bucket, { reply, callId, job: operation['job'], status, pending });
  } catch (error) {
    void addToJournal();
    throw error;
  } finally {
    for (const timer of timers) clearTimeout(timer);
    instance.settling.delete(callId);
  }
}

/** A journal that cannot be written now promises nothing, so that its owner waits for the store. */
function reportJournaled(saved: Promise<boolean>, onJournaled: () => void): void {
  void saved.then((isSaved) => {
    if (isSaved) onJournaled();
  });
}

/** Delivers the settlements that the previous process did not. */
export function deliverPending(instance: Instance): void {
  for (const pending of instance.journal.undelivered) {
    const bucket = instance.bucketOfAccount(pending.account);
    const { callId, settle: operation } = pending;
    const status = (): Value => operation['status'];
    bucket
      .executeUntilAnswered(operation)
      .then((reply) =>
        complete(instance, bucket, { reply, callId, job: operation['job'], status, pending: () => pending }),
      )
      // if the ledger closes first, the settlement stays in the journal
      .catch(() => undefined);
  }
}

interface Delivery {
  /** Its status changes if the call is withheld. */
  settlement: Settlement;
  readonly held: HeldCall | undefined;
  /** The slots to release with the settlement. */
  readonly slots: readonly string[];
  readonly account: string;
  readonly onJournaled: () => void;
}

function pendingOf({ settlement, held, slots, account }: Delivery): PendingSettlement {
  const adopt = held && { adopt: adoptOperation(held) };
  return { callId: settlement.callId, account, ...adopt, settle: settleOperation(settlement, slots) };
}

/** Sends the limits in the same batch as the settlement, or in an earlier one. */
function sendLimits(
  { nowMs }: Instance,
  bucket: Bucket,
  { origin, limits }: { readonly origin: CallOrigin; readonly limits: readonly MoneyLimit[] },
): void {
  // rejects only when the ledger is closed, which rejects the settlement too
  bucket.executeUntilAnswered(limitsOperation(origin, limits, nowMs)).catch(() => undefined);
}

interface FirstReply {
  readonly reply: Reply;
  readonly callId: string;
  /** The job that the settlement creates. */
  readonly job: Value;
  /** The settlement's status, which changes if the call is withheld. */
  readonly status: () => Value;
  readonly pending: () => PendingSettlement;
}

/** Returns the final reply, even if the store has lost the call's hold. Journals the outcome. */
async function complete(instance: Instance, bucket: Bucket, answered: FirstReply): Promise<Reply> {
  const { reply: first, callId, status, pending } = answered;
  const reply = first.is === 'unknown' ? ((await adoptAndSettle(bucket, pending())) ?? first) : first;
  await journalOutcome(instance, { ...answered, reply });
  const isSettled = reply.is === 'settled' || reply.is === 'done';
  if (!isSettled || status() !== WITHHELD || reply.status === WITHHELD) return reply;
  // the store had taken the settlement before the call was withheld
  const withheld = await bucket.executeUntilAnswered(withholdOperation(callId));
  return withheld.is === 'done' ? complete(instance, bucket, { ...answered, reply: withheld }) : reply;
}

/** After the client has its response, the journal must know the call, in case the store loses it. */
async function journalOutcome({ journal }: Instance, { reply, callId, job, status }: FirstReply): Promise<void> {
  if (reply.change === undefined) return journal.addDropped(callId);
  // the end of a job that the call has created has changed the record since
  const isEnded = reply.is === 'done' && reply.status !== status();
  const creates = isNamedValues(job) && !isEnded;
  await journal.addSettled({ record: recordOf(reply), ...(creates && { job }) });
}

/** Restores the hold and settles it. Returns undefined if the process knew of no hold. */
async function adoptAndSettle(bucket: Bucket, pending: PendingSettlement): Promise<Reply | undefined> {
  const { adopt, settle: operation } = pending;
  if (!adopt) return undefined;
  const endedMs = Number(adopt['createdMs']) + Number(operation['durationMs']);
  const reply = await bucket.executeUntilAnswered({ ...adopt, endedMs });
  return reply.is === 'forgotten' ? reply : bucket.executeUntilAnswered(operation);
}

function parseSettled(reply: Reply): SettleResult {
  if (reply.is === 'unknown') throw new LedgerUnavailable('no hold and no record of this call');
  if (reply.is === 'forgotten')
    throw new LedgerUnavailable('this call was settled long ago, and its record is forgotten');
  return parseRecord(reply);
}

function once<T>(act: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= act());
}

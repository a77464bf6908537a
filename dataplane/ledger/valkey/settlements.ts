/**
 * Delivers each settlement once, even if the server is often unreachable: sends it until it is answered, journals it if
 * that takes long, and journals the acknowledgement. The script answers a repetition with the first result.
 */
import { LedgerUnavailable } from '../ledger.ts';
import type { SpendingLimits, Settlement, SettleResult } from '../ledger.ts';
import { consumedBy } from '../load.ts';
import type { CallOrigin, CallStatus } from '../../usage/record.ts';
import type { Bucket } from './bucket.ts';
import type { Instance } from './instance.ts';
import type { PendingSettlement } from './journal.ts';
import {
  adoptOperation,
  settleHeldOperation,
  jobArgs,
  limitsOperation,
  NO_JOB,
  settleOperation,
  withholdOperation,
} from './operations.ts';
import type { HeldCall, Operation } from './operations.ts';
import { expandSettleReply, parseRecord, readReply } from './replies.ts';
import type { Reply } from './replies.ts';

/** The range of a settle operation's arguments that create its job. */
const [JOB_FROM, JOB_TO] = [6, 9];
/** The positions of the arguments for a call's start time and its duration. */
const [ADOPT_CREATED, SETTLE_DURATION] = [3, 5];
/** The position of the number of the change that billed the call, in the reply to a repeated settlement. */
const CHANGE_NUMBER = 20;
/** The positions of the status in a record's reply, and in a settlement. */
const [RECORD_STATUS, SETTLE_STATUS] = [9, 4];
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
    sendLimits(bucket, held.request.origin, limits);
  const reply = await deliver(instance, bucket, { settlement, held, slots, account, onJournaled });
  instance.held.delete(callId);
  return readReply(reply, parseSettled);
}

/** Resolves with the final reply. Journals the settlement if that takes long or fails. */
async function deliver(instance: Instance, bucket: Bucket, delivery: Delivery): Promise<Reply> {
  const { settlement, held, onJournaled } = delivery;
  const { callId } = settlement;
  const pending = (): PendingSettlement => pendingOf(delivery);
  const addToJournal = once(() => instance.journal.addPending(pending()));
  instance.settling.set(callId, () => {
    delivery.settlement = { ...settlement, status: WITHHELD };
    // the latest line of a call is the one that counts
    void instance.journal.addPending(pending());
  });
  const isWithheld = (): boolean => delivery.settlement.status === WITHHELD;
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
    const reply = await bucket.executeUntilAnswered(operationOf(delivery));
    // two more operations follow, between which the ledger may be closed
    if (reply[0] === 'unknown' && held) void addToJournal();
    const isBooked = held && reply[0] === 'booked';
    const full = isBooked ? readReply(reply, (booked) => expandSettleReply(booked, held, settlement)) : reply;
    return await complete(instance, bucket, { reply: full, job: jobArgs(settlement), pending, isWithheld });
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
    const job = pending.settle.args.slice(JOB_FROM, JOB_TO);
    const isWithheld = (): boolean => pending.settle.args[SETTLE_STATUS] === WITHHELD;
    bucket
      .executeUntilAnswered(pending.settle)
      .then((reply) => complete(instance, bucket, { reply, job, pending: () => pending, isWithheld }))
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

/** Asks for the full reply if the store may have another hold than this process, or creates a job. */
function operationOf({ settlement, held, slots }: Delivery): Operation {
  const isPlain = held && !held.isUncertain && !settlement.job;
  return isPlain ? settleHeldOperation(settlement, held.request.origin, slots) : settleOperation(settlement, slots);
}

function pendingOf({ settlement, held, slots, account }: Delivery): PendingSettlement {
  const adopt = held && { adopt: adoptOperation(held) };
  return { callId: settlement.callId, account, ...adopt, settle: settleOperation(settlement, slots) };
}

/** Sends the limits in the same batch as the settlement, or in an earlier one. */
function sendLimits(bucket: Bucket, origin: CallOrigin, limits: SpendingLimits): void {
  // rejects only when the ledger is closed, which rejects the settlement too
  bucket.executeUntilAnswered(limitsOperation(origin, limits)).catch(() => undefined);
}

interface FirstReply {
  readonly reply: Reply;
  /** The arguments that create the call's job. */
  readonly job: readonly string[];
  readonly pending: () => PendingSettlement;
  readonly isWithheld: () => boolean;
}

/** Returns the final reply, even if the store has lost the call's hold. Journals the outcome. */
async function complete(instance: Instance, bucket: Bucket, answered: FirstReply): Promise<Reply> {
  const { reply: first, pending, isWithheld } = answered;
  const reply = first[0] === 'unknown' ? ((await adoptAndSettle(bucket, pending())) ?? first) : first;
  await journalOutcome(instance, { ...answered, reply });
  const isSettled = reply[0] === 'settled' || reply[0] === 'done';
  if (!isSettled || !isWithheld() || reply[RECORD_STATUS] === WITHHELD) return reply;
  // the store had taken the settlement before the call was withheld
  const withheld = await bucket.executeUntilAnswered(withholdOperation(pending().callId));
  return withheld[0] === 'done' ? complete(instance, bucket, { ...answered, reply: withheld }) : reply;
}

/** After the client has its response, the journal must know the call, in case the store loses it. */
async function journalOutcome({ journal }: Instance, { reply, job, pending }: FirstReply): Promise<void> {
  if (reply[0] === 'settled') await journal.addSettled(reply, job);
  else if (reply[0] === 'done' && reply.length > CHANGE_NUMBER)
    await journal.addSettled(
      ['settled', ...reply.slice(1, CHANGE_NUMBER)],
      jobAfter(reply, job, pending()),
      reply[CHANGE_NUMBER],
    );
  else journal.addDropped(pending().callId);
}

/** The arguments that create the call's job, unless its end has changed the record since. */
function jobAfter(reply: Reply, job: readonly string[], { settle: { args } }: PendingSettlement): readonly string[] {
  return reply[RECORD_STATUS] === args[SETTLE_STATUS] ? job : NO_JOB;
}

/** Restores the hold and settles it. Returns undefined if the process knew of no hold. */
async function adoptAndSettle(bucket: Bucket, pending: PendingSettlement): Promise<Reply | undefined> {
  const { adopt, settle: operation } = pending;
  if (!adopt) return undefined;
  const endedMs = Number(adopt.args[ADOPT_CREATED]) + Number(operation.args[SETTLE_DURATION]);
  const reply = await bucket.executeUntilAnswered({ name: adopt.name, args: [...adopt.args, String(endedMs)] });
  return reply[0] === 'forgotten' ? reply : bucket.executeUntilAnswered(operation);
}

function parseSettled(reply: Reply): SettleResult {
  const [word] = reply;
  if (word === 'unknown') throw new LedgerUnavailable('no hold and no record of this call');
  if (word === 'forgotten') throw new LedgerUnavailable('this call was settled long ago, and its record is forgotten');
  return parseRecord(reply);
}

function once<T>(act: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= act());
}

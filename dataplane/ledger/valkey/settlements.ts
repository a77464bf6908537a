/**
 * Settlements, each delivered once however often the server goes away: sent until they are answered, written to the
 * journal where that takes long, and noted there as acknowledged. The script answers a repetition as it did at first.
 */
import { LedgerUnavailable } from '../ledger.ts';
import type { Limits, Settlement, SettleResult } from '../ledger.ts';
import type { CallOrigin } from '../usage-record.ts';
import type { Bucket } from './bucket.ts';
import type { Instance } from './instance.ts';
import type { PendingSettlement } from './journal.ts';
import { adoptOperation, bookOperation, jobArgs, seeOperation, settleOperation } from './operations.ts';
import type { HeldCall, Operation } from './operations.ts';
import { expandBooked, parseRecord, understand } from './replies.ts';
import type { Reply } from './replies.ts';

/** Among the arguments of a settlement: the job that it makes. */
const [JOB_FROM, JOB_TO] = [6, 9];
/** When a call began, and how long it took. */
const [ADOPT_CREATED, SETTLE_DURATION] = [3, 5];
/** A settlement that is not answered by then is written to the journal. */
const JOURNAL_AFTER_MS = 100;

/** Rejects where the ledger is closed or its script fails; the next process delivers the settlement then. */
export async function settle(instance: Instance, settlement: Settlement): Promise<SettleResult> {
  const { callId, limits } = settlement;
  const held = instance.held.get(callId);
  const { account } = held?.request.origin ?? settlement.origin;
  const bucket = instance.bucketOfAccount(account);
  const slots = instance.slots.handOver(callId, instance.bucketIndex(account));
  // those in other buckets
  instance.slots.release(callId);
  if (held && limits && settlement.progress.costNanoUsd > held.heldNanoUsd) see(bucket, held.request.origin, limits);
  const reply = await deliver(instance, bucket, { settlement, held, slots, account });
  instance.held.delete(callId);
  return understand(reply, parseSettled);
}

/** The final reply. Until it is there, the settlement is written to the journal where that takes long or fails. */
async function deliver(instance: Instance, bucket: Bucket, delivery: Delivery): Promise<Reply> {
  const { settlement, held } = delivery;
  const pending = (): PendingSettlement => pendingOf(delivery);
  const note = once(() => instance.journal.addPending(pending()));
  // a process that is killed before the answer has told its client nothing: only what waits for long must outlive it
  const timer = setTimeout(note, JOURNAL_AFTER_MS).unref();
  try {
    const reply = await bucket.askUntilAnswered(operationOf(delivery));
    // two more operations from here: the ledger may be closed in between
    if (reply[0] === 'unknown' && held) note();
    const isBooked = held && reply[0] === 'booked';
    const full = isBooked ? understand(reply, (booked) => expandBooked(booked, held, settlement)) : reply;
    return await complete(instance, bucket, { reply: full, job: jobArgs(settlement), pending });
  } catch (error) {
    note();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Delivers what the process before this one could not. */
export function deliverPending(instance: Instance): void {
  for (const pending of instance.journal.left) {
    const bucket = instance.bucketOfAccount(pending.account);
    const job = pending.settle.args.slice(JOB_FROM, JOB_TO);
    bucket.askUntilAnswered(pending.settle)
      .then((reply) => complete(instance, bucket, { reply, job, pending: () => pending }))
      // a ledger that is closed first leaves it in the journal
      .catch(() => undefined);
  }
}

interface Delivery {
  readonly settlement: Settlement;
  readonly held: HeldCall | undefined;
  /** Those to release in the same step. */
  readonly slots: readonly string[];
  readonly account: string;
}

/** Where the store may have another hold than this process, or makes a job, it is to answer with everything. */
function operationOf({ settlement, held, slots }: Delivery): Operation {
  const isPlain = held && !held.doubtful && !settlement.job;
  return isPlain ? bookOperation(settlement, held.request.origin, slots) : settleOperation(settlement, slots);
}

function pendingOf({ settlement, held, slots, account }: Delivery): PendingSettlement {
  const adopt = held && { adopt: adoptOperation(held) };
  return { callId: settlement.callId, account, ...adopt, settle: settleOperation(settlement, slots) };
}

/** In the batch of the settlement, or in an earlier one. */
function see(bucket: Bucket, origin: CallOrigin, limits: Limits): void {
  // rejected only where the ledger is closed, and the settlement with it
  bucket.askUntilAnswered(seeOperation(origin, limits)).catch(() => undefined);
}

interface FirstReply {
  readonly reply: Reply;
  /** The arguments that make its job. */
  readonly job: readonly string[];
  readonly pending: () => PendingSettlement;
}

/** The final reply, also where the store has never known the call's hold, or has lost it. The journal notes it. */
async function complete({ journal }: Instance, bucket: Bucket, answered: FirstReply): Promise<Reply> {
  const { reply: first, job, pending } = answered;
  const reply = first[0] === 'unknown' ? await settleAdopted(bucket, pending()) ?? first : first;
  if (reply[0] === 'settled') journal.addSettled(reply, job);
  else journal.addDropped(pending().callId);
  return reply;
}

/**
 * A hold that the store knows by now is there because it was adopted, and the answer was lost. Undefined: there is
 * none.
 */
async function settleAdopted(bucket: Bucket, pending: PendingSettlement): Promise<Reply | undefined> {
  const { adopt, settle: operation } = pending;
  if (!adopt) return undefined;
  const endedMs = Number(adopt.args[ADOPT_CREATED]) + Number(operation.args[SETTLE_DURATION]);
  const reply = await bucket.askUntilAnswered({ name: adopt.name, args: [...adopt.args, String(endedMs)] });
  return reply[0] === 'forgotten' ? reply : bucket.askUntilAnswered(operation);
}

function parseSettled(reply: Reply): SettleResult {
  const [word] = reply;
  if (word === 'unknown') throw new LedgerUnavailable('no hold and no record of this call');
  if (word === 'forgotten') throw new LedgerUnavailable('this call was settled long ago, and its record is forgotten');
  return parseRecord(reply);
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    act();
  };
}

/**
 * Settlements, each delivered once however often the server goes away: sent until they are answered, written to the journal
 * where that takes long, and noted there as acknowledged. The script answers a repetition as it did at first.
 */
import { cleanProgress } from '../amounts.ts';
import { Deadlines } from '../deadlines.ts';
import { LedgerUnavailable } from '../ledger.ts';
import type { Limits, Settlement, SettleResult } from '../ledger.ts';
import type { CallOrigin, CallProgress } from '../usage-record.ts';
import { bookedLine, bookedResult, parseBooked } from './booked.ts';
import type { Bucket } from './bucket.ts';
import { bookText } from './call-texts.ts';
import type { Fleet } from './fleet.ts';
import { adoptStep } from './held-calls.ts';
import type { HeldCall } from './held-calls.ts';
import type { Journal, PendingSettlement } from './journal.ts';
import { isSameRoute } from './routes.ts';
import type { RouteText } from './routes.ts';
import { encodeStep, parseRecord, seeStep, settleStep } from './steps.ts';
import type { Reply } from './steps.ts';
import type { Work } from './work.ts';

/** Of the words of a settlement: the job that it makes. */
const [JOB_FROM, JOB_TO] = [6, 9];
/** When a call began, and how long it took. */
const [ADOPT_CREATED, SETTLE_DURATION] = [3, 5];
/** A settlement that is not answered by then is written to the journal. */
const WAITING_MS = 100;

export class Settler {
  readonly #fleet: Fleet;
  readonly #waiting = new Deadlines(WAITING_MS);

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  settle(settlement: Settlement): Promise<SettleResult> {
    const { callId } = settlement;
    const { slots } = this.#fleet;
    const held = this.#fleet.held.get(callId);
    const { account } = held?.request.origin ?? settlement.origin;
    const given = slots.handOver(callId, this.#fleet.indexOfAccount(account));
    // those that are elsewhere, in a Cluster
    slots.give(callId);
    const bucket = this.#fleet.bucketOfAccount(account);
    if (held && settlement.limits && settlement.progress.costNanoUsd > held.heldNanoUsd) see(bucket, held.request.origin, settlement.limits);
    return new Promise((resolve, reject) => {
      const delivery = new Delivery({ fleet: this.#fleet, bucket, held }, { settlement, slots: given }, { resolve, reject });
      // a process that is killed before the answer has told its client nothing: only what waits for long must outlive it
      this.#waiting.wait(delivery);
      bucket.submit(delivery);
    });
  }

  /** What the process before this one could not deliver. */
  deliverLeft(): void {
    for (const pending of this.#fleet.journal.left) {
      const bucket = this.#fleet.bucketOfAccount(pending.account);
      // a ledger that is closed first leaves it in the journal
      bucket.askSurely(pending.settle).then((reply) => complete(this.#fleet.journal, bucket, pending, reply)).catch(() => undefined);
    }
  }
}

/** In the batch of the settlement, or in an earlier one. */
function see(bucket: Bucket, origin: CallOrigin, limits: Limits): void {
  // rejected only where the ledger is closed, and the settlement with it
  bucket.askSurely(seeStep(origin, limits)).catch(() => undefined);
}

interface Promised {
  readonly resolve: (result: SettleResult) => void;
  readonly reject: (error: unknown) => void;
}

/** A settlement on its way. Mostly of a call that this process holds; others are told what is known of them, or settled here again. */
class Delivery implements Work {
  readonly sure = true;
  readonly #fleet: Fleet;
  readonly #bucket: Bucket;
  readonly #held: HeldCall | undefined;
  readonly #settlement: Settlement;
  readonly #slots: readonly string[];
  readonly #promised: Promised;
  readonly #progress: CallProgress;
  readonly #route: RouteText;
  /** It need not be written to the journal any more. */
  over = false;
  dueMs = 0;

  constructor(at: { readonly fleet: Fleet; readonly bucket: Bucket; readonly held: HeldCall | undefined }, asked: { readonly settlement: Settlement; readonly slots: readonly string[] }, promised: Promised) {
    const { settlement, slots } = asked;
    this.#fleet = at.fleet;
    this.#bucket = at.bucket;
    this.#held = at.held;
    this.#settlement = settlement;
    this.#slots = slots;
    this.#promised = promised;
    this.#progress = cleanProgress(settlement.progress);
    this.#route = at.fleet.routes.of(settlement.origin);
  }

  /** As it is sent. Where the store may know another hold than this process, or notes a job, it is to tell everything. */
  get text(): string {
    const settlement = this.#settlement;
    const held = this.#held;
    if (!held || held.doubtful || settlement.job) return encodeStep(settleStep(settlement, this.#slots));
    const route = isSameRoute(settlement.origin, held.request.origin) ? '' : this.#route.word;
    return bookText(settlement, this.#progress, route, this.#slots);
  }

  expire(): void {
    this.#fleet.journal.pending(this.#pending());
  }

  answer(reply: Reply): void {
    if (reply[0] === 'booked' && this.#held) return this.#booked(reply, this.#held);
    // two more steps from here: the ledger may be closed in between
    if (reply[0] === 'unknown' && this.#held) this.#note();
    complete(this.#fleet.journal, this.#bucket, this.#pending(), reply).then((last) => this.#told(last)).catch(this.#promised.reject);
  }

  /** The ledger is closed, or its script has failed at this step: the next process delivers it. */
  refuse(error: LedgerUnavailable): void {
    this.#note();
    this.#promised.reject(error);
  }

  /** To the journal, unless it is there, or done. */
  #note(): void {
    if (this.over) return;
    this.over = true;
    this.expire();
  }

  #booked(reply: Reply, { request, day, month }: HeldCall): void {
    const call = { request, day, month, settlement: this.#settlement, progress: this.#progress, route: this.#route };
    const booked = parseBooked(reply, call);
    const result = bookedResult(booked, call);
    this.#end();
    this.#fleet.journal.noted(this.#settlement.callId, bookedLine(booked, result, call));
    this.#promised.resolve(result);
  }

  #told(reply: Reply): void {
    this.#end();
    this.#promised.resolve(resultOf(reply));
  }

  #end(): void {
    this.over = true;
    this.#fleet.held.remove(this.#settlement.callId);
  }

  #pending(): PendingSettlement {
    const held = this.#held;
    const { account } = held?.request.origin ?? this.#settlement.origin;
    return { callId: this.#settlement.callId, account, ...(held && { adopt: adoptStep(held) }), settle: settleStep(this.#settlement, this.#slots) };
  }
}

/** What the store says in the end, where it has never known the call's hold, or has lost it, too. The journal notes it. */
async function complete(journal: Journal, bucket: Bucket, pending: PendingSettlement, first: Reply): Promise<Reply> {
  const { callId, adopt, settle } = pending;
  const reply = first[0] === 'unknown' && adopt ? await settleAdopted(bucket, { adopt, settle }) : first;
  if (reply[0] === 'settled') journal.settled(callId, reply, settle.args.slice(JOB_FROM, JOB_TO));
  else journal.dropped(callId);
  return reply;
}

/** A hold that is known by now is there because it was adopted, and the answer was lost. */
async function settleAdopted(bucket: Bucket, { adopt, settle }: Required<Pick<PendingSettlement, 'adopt' | 'settle'>>): Promise<Reply> {
  const endedMs = Number(adopt.args[ADOPT_CREATED]) + Number(settle.args[SETTLE_DURATION]);
  const reply = await bucket.askSurely({ name: adopt.name, args: [...adopt.args, String(endedMs)] });
  return reply[0] === 'forgotten' ? reply : bucket.askSurely(settle);
}

function resultOf(reply: Reply): SettleResult {
  const [word] = reply;
  if (word === 'unknown') throw new LedgerUnavailable('no hold and no record of this call');
  if (word === 'forgotten') throw new LedgerUnavailable('this call was settled long ago, and its record is forgotten');
  return parseRecord(reply);
}

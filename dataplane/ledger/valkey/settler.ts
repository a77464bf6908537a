/**
 * Settlements, each delivered once however often the server goes away: sent until they are answered, written to the journal
 * where that takes long, and noted there as acknowledged. The script answers a repetition as it did at first.
 */
import { Deadlines } from '../deadlines.ts';
import { LedgerUnavailable } from '../ledger.ts';
import type { Limits, Settlement, SettleResult } from '../ledger.ts';
import type { CallOrigin } from '../usage-record.ts';
import type { Fleet } from './fleet.ts';
import { adoptStep } from './held-calls.ts';
import { parseRecord, seeStep, settleStep } from './steps.ts';
import type { Reply, Step } from './steps.ts';

/** Of the words of a settlement: the job that it makes. */
const [JOB_FROM, JOB_TO] = [6, 9];
/** A settlement that is not answered by then is written to the journal. */
const WAITING_MS = 100;

interface Delivery {
  readonly callId: string;
  readonly account: string;
  /** Its hold, for a store that does not know it. */
  readonly adopt: () => Step;
  readonly settle: Step;
}

export class Settler {
  readonly #fleet: Fleet;
  readonly #waiting = new Deadlines(WAITING_MS);

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  async settle(settlement: Settlement): Promise<SettleResult> {
    const { callId } = settlement;
    const held = this.#fleet.held.get(callId);
    const account = held?.request.origin.account ?? settlement.origin.account;
    const slots = this.#fleet.slots.handOver(callId, this.#fleet.indexOfAccount(account));
    // those that are elsewhere, in a Cluster
    this.#fleet.slots.give(callId);
    const settle = settleStep(settlement, slots);
    if (!held) return this.#answer(await this.#fleet.bucketOfAccount(account).askSurely(settle));
    if (settlement.limits && settlement.progress.costNanoUsd > held.heldNanoUsd) this.#see(held.request.origin, settlement.limits);
    // a process that ends before the answer has told its client nothing: only what waits for long must outlive it
    const waiting = this.#waiting.add(() => this.#fleet.journal.pending({ callId, account, adopt: adoptStep(held), settle }));
    const reply = await this.#deliver({ callId, account, adopt: () => adoptStep(held), settle });
    waiting.over = true;
    this.#fleet.held.remove(callId);
    return this.#answer(reply);
  }

  /** In the batch of the settlement, or in an earlier one. */
  #see(origin: CallOrigin, limits: Limits): void {
    // rejected only where the ledger is closed, and the settlement with it
    this.#fleet.bucketOfAccount(origin.account).askSurely(seeStep(origin, limits)).catch(() => undefined);
  }

  /** What the process before this one could not deliver. */
  deliverLeft(): void {
    for (const pending of this.#fleet.journal.left) {
      // a ledger that is closed first leaves it in the journal
      this.#deliver({ ...pending, adopt: () => pending.adopt }).catch(() => undefined);
    }
  }

  async #deliver({ callId, account, adopt, settle }: Delivery): Promise<Reply> {
    const bucket = this.#fleet.bucketOfAccount(account);
    const first = await bucket.askSurely(settle);
    // the store never knew its hold, or has lost it
    const reply = first[0] === 'unknown' && (await bucket.askSurely(adopt()))[0] === 'adopted' ? await bucket.askSurely(settle) : first;
    if (reply[0] === 'settled') this.#fleet.journal.settled(callId, reply, settle.args.slice(JOB_FROM, JOB_TO));
    else this.#fleet.journal.dropped(callId);
    return reply;
  }

  #answer(reply: Reply): SettleResult {
    const [word] = reply;
    if (word === 'unknown') throw new LedgerUnavailable('no hold and no record of this call');
    if (word === 'forgotten') throw new LedgerUnavailable('this call was settled long ago, and its record is forgotten');
    return parseRecord(reply);
  }
}

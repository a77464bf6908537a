/**
 * Settlements, each delivered once however often the server goes away: written to the journal, sent until it is answered,
 * and noted there as acknowledged. The script answers a repetition as it did at first.
 */
import { LedgerUnavailable } from '../ledger.ts';
import type { Settlement, SettleResult } from '../ledger.ts';
import type { Fleet } from './fleet.ts';
import { adoptStep } from './held-calls.ts';
import type { PendingSettlement } from './journal.ts';
import { parseRecord, settleStep } from './steps.ts';
import type { Reply } from './steps.ts';

/** Of the words of a settlement: the job that it makes. */
const JOB_FROM = 6;

export class Settler {
  readonly #fleet: Fleet;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  async settle(settlement: Settlement): Promise<SettleResult> {
    const { callId } = settlement;
    const held = this.#fleet.held.get(callId);
    const account = held?.request.origin.account ?? settlement.origin.account;
    const settle = settleStep(settlement);
    if (!held) return this.#answer(await this.#fleet.bucketOfAccount(account).askSurely(settle));
    const pending: PendingSettlement = { callId, account, adopt: adoptStep(held), settle };
    this.#fleet.journal.pending(pending);
    const reply = await this.#deliver(pending);
    this.#fleet.held.remove(callId);
    return this.#answer(reply);
  }

  /** What the process before this one could not deliver. */
  deliverLeft(): void {
    for (const pending of this.#fleet.journal.left) {
      // a ledger that is closed first leaves it in the journal
      this.#deliver(pending).catch(() => undefined);
    }
  }

  async #deliver(pending: PendingSettlement): Promise<Reply> {
    const { callId, account, adopt, settle } = pending;
    const bucket = this.#fleet.bucketOfAccount(account);
    const first = await bucket.askSurely(settle);
    // the store never knew its hold, or has lost it
    const reply = first[0] === 'unknown' && (await bucket.askSurely(adopt))[0] === 'adopted' ? await bucket.askSurely(settle) : first;
    if (reply[0] === 'settled') this.#fleet.journal.settled(callId, reply, settle.args.slice(JOB_FROM));
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

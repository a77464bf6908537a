/**
 * A call's admission: its hold, and its slots with it where they are asked for in one step. What was asked and not answered may
 * have been granted all the same, and is taken back.
 */
import { LedgerUnavailable } from '../ledger.ts';
import type { AdmitResult, HoldRequest, HoldResult, SlotLimit } from '../ledger.ts';
import type { Bucket } from './bucket.ts';
import { admitText, holdText } from './call-texts.ts';
import type { Fleet } from './fleet.ts';
import { amount } from './steps.ts';
import type { Reply } from './steps.ts';
import { refuseLate } from './work.ts';
import type { Work } from './work.ts';

interface Asked {
  readonly request: HoldRequest;
  /** To be had in the same step. */
  readonly slots: readonly SlotLimit[] | undefined;
}

interface Promised {
  readonly resolve: (result: HoldResult) => void;
  readonly full: (full: SlotLimit) => void;
  readonly reject: (error: LedgerUnavailable) => void;
}

/** Slots and money: both, or neither. */
export function admit(fleet: Fleet, request: HoldRequest, slots: readonly SlotLimit[]): Promise<AdmitResult> {
  return new Promise((resolve, reject) => ask(fleet, { request, slots }, { resolve, full: (full) => resolve({ outcome: 'Full', full }), reject }));
}

/** The money alone. */
export function hold(fleet: Fleet, request: HoldRequest): Promise<HoldResult> {
  return new Promise((resolve, reject) => ask(fleet, { request, slots: undefined }, { resolve, full: () => reject(strange()), reject }));
}

function ask(fleet: Fleet, asked: Asked, promised: Promised): void {
  const bucket = fleet.bucketOfAccount(asked.request.origin.account);
  bucket.submit(new Admission({ fleet, bucket }, asked, promised));
}

function strange(): LedgerUnavailable {
  return new LedgerUnavailable('the ledger\'s script told of a slot that was not asked for');
}

class Admission implements Work {
  readonly sure = false;
  readonly text: string;
  readonly #fleet: Fleet;
  readonly #bucket: Bucket;
  readonly #request: HoldRequest;
  readonly #slots: readonly SlotLimit[] | undefined;
  readonly #promised: Promised;
  over = false;
  dueMs = 0;

  constructor(at: { readonly fleet: Fleet; readonly bucket: Bucket }, asked: Asked, promised: Promised) {
    this.#fleet = at.fleet;
    this.#bucket = at.bucket;
    this.#request = asked.request;
    this.#slots = asked.slots;
    this.#promised = promised;
    const route = at.fleet.routes.of(asked.request.origin);
    this.text = asked.slots ? admitText(asked.request, route, asked.slots) : holdText(asked.request, route);
  }

  answer(reply: Reply): void {
    const { keyUid, account } = this.#request.origin;
    this.#fleet.know(keyUid, account);
    const [word, first, second, third] = reply;
    switch (word) {
      case 'held': return this.#held(amount(first), second, third);
      case 'short': return this.#promised.resolve({ outcome: 'Short', short: first === 'Key' ? 'Key' : 'Account', availableNanoUsd: amount(second) });
      case 'stale': return this.#promised.resolve({ outcome: 'StaleLimits' });
      case 'full': return this.#full(this.#slots?.[Number(first)]);
      // neither is to be taken back: what the store has of this call is another one's
      case 'other': return this.#promised.reject(new LedgerUnavailable('another key\'s call has this id'));
      default: return this.#promised.reject(new LedgerUnavailable('this call is settled already'));
    }
  }

  refuse(error: LedgerUnavailable, sent: boolean): void {
    if (sent) this.#takeBack();
    this.#promised.reject(error);
  }

  expire(): void {
    refuseLate(this, this.#bucket);
  }

  #held(heldNanoUsd: bigint, day = '', month = ''): void {
    const request = this.#request;
    if (this.#slots) this.#fleet.slots.own(request.origin.callId, this.#slots);
    this.#fleet.held.add({ request, heldNanoUsd, progress: request.progress, day, month, doubtful: false });
    this.#promised.resolve({ outcome: 'Held', heldNanoUsd });
  }

  #full(full: SlotLimit | undefined): void {
    if (full) this.#promised.full(full);
    else this.#promised.reject(strange());
  }

  #takeBack(): void {
    const { callId, account } = this.#request.origin;
    if (this.#slots) this.#fleet.slots.disclaim(callId, this.#slots);
    const held = this.#fleet.held.get(callId);
    // an earlier hold of the call is settled by its call
    if (held) held.doubtful = true;
    else {
      const withdraw = { name: 'withdraw', args: [callId] };
      // where the ledger is closed first, the next process does it; without one the hold is billed as far as it said
      this.#bucket.askSurely(withdraw).catch(() => this.#fleet.journal.pending({ callId, account, settle: withdraw }));
    }
  }
}

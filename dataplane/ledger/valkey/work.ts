/**
 * What a bucket is asked for, and who is told: one object is all that is between a reply and the promise of whoever asked, since
 * each promise in between is work and memory of every call.
 */
import type { Waiting } from '../deadlines.ts';
import { LedgerUnavailable } from '../ledger.ts';
import { encodeStep } from './steps.ts';
import type { Reply, Step } from './steps.ts';

export interface Work extends Waiting {
  /** Its step, encoded. */
  readonly text: string;
  /** Until it is done, also over disconnections: once or more often. Otherwise it is answered soon, or refused. */
  readonly sure: boolean;
  answer(reply: Reply): void;
  /** `sent`: it may have been done all the same. */
  refuse(error: LedgerUnavailable, sent: boolean): void;
}

/** Where work is asked for. */
export interface Place {
  /** Something was not answered in time: sees what is wrong. */
  missedDeadline(): void;
}

/** What work does that is refused when it is late. */
export function refuseLate(work: Work, place: Place): void {
  work.refuse(new LedgerUnavailable('the ledger does not answer'), true);
  place.missedDeadline();
}

/** One step whose reply is all that is wanted. */
export class Question implements Work {
  readonly text: string;
  readonly sure: boolean;
  readonly answer: (reply: Reply) => void;
  readonly #place: Place;
  readonly #reject: (error: LedgerUnavailable) => void;
  over = false;
  dueMs = 0;

  constructor(place: Place, asked: { readonly step: Step; readonly sure: boolean }, promise: { readonly resolve: (reply: Reply) => void; readonly reject: (error: LedgerUnavailable) => void }) {
    this.#place = place;
    this.text = encodeStep(asked.step);
    this.sure = asked.sure;
    this.answer = promise.resolve;
    this.#reject = promise.reject;
  }

  refuse(error: LedgerUnavailable): void {
    this.#reject(error);
  }

  expire(): void {
    refuseLate(this, this.#place);
  }
}

/**
 * The holds that this process was granted and that are not settled yet: for gauges, and for a store that lost them.
 */
import { CallMap } from '../call-map.ts';
import type { HoldRequest } from '../ledger.ts';
import type { CallProgress } from '../usage-record.ts';
import { limitWords, originWords, progressWords } from './steps.ts';
import type { Step } from './steps.ts';

export interface HeldCall {
  readonly request: HoldRequest;
  readonly heldNanoUsd: bigint;
  progress: CallProgress;
  /** The windows' indexes that it was admitted in. */
  readonly day: string;
  readonly month: string;
  /** The store may know another hold of the call than this: a later one was not answered, or the store has lost something. */
  doubtful: boolean;
}

export class HeldCalls {
  readonly #calls = new CallMap<HeldCall>();

  get size(): number {
    return this.#calls.size;
  }

  /** Added up when it is asked for: that is now and then, and calls come and go all the time. */
  get sumNanoUsd(): bigint {
    let sum = 0n;
    for (const { heldNanoUsd } of this.#calls.values()) sum += heldNanoUsd;
    return sum;
  }

  get(callId: string): HeldCall | undefined {
    return this.#calls.get(callId);
  }

  /** Replaces an earlier hold of the call. */
  add(held: HeldCall): void {
    this.#calls.set(held.request.origin.callId, held);
  }

  remove(callId: string): void {
    this.#calls.delete(callId);
  }

  all(): Iterable<HeldCall> {
    return this.#calls.values();
  }
}

/** Makes the hold again in a store that does not know it. */
export function adoptStep({ request: { origin, limits }, heldNanoUsd, progress, day, month }: HeldCall): Step {
  const [limit, period, credit] = limitWords(limits);
  return { name: 'adopt', args: [...originWords(origin), limit, period, credit, String(heldNanoUsd), ...progressWords(progress), day, month] };
}

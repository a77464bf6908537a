/**
 * The holds that this process was granted and that are not settled yet: for gauges, and for a store that lost them.
 */
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
}

export class HeldCalls {
  readonly #calls = new Map<string, HeldCall>();
  #sumNanoUsd = 0n;

  get size(): number {
    return this.#calls.size;
  }

  get sumNanoUsd(): bigint {
    return this.#sumNanoUsd;
  }

  has(callId: string): boolean {
    return this.#calls.has(callId);
  }

  get(callId: string): HeldCall | undefined {
    return this.#calls.get(callId);
  }

  /** Replaces an earlier hold of the call. */
  add(held: HeldCall): void {
    const { callId } = held.request.origin;
    this.remove(callId);
    this.#calls.set(callId, held);
    this.#sumNanoUsd += held.heldNanoUsd;
  }

  remove(callId: string): void {
    this.#sumNanoUsd -= this.#calls.get(callId)?.heldNanoUsd ?? 0n;
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

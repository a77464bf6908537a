/**
 * What this process's calls have taken of limits in the store. A slot under a concurrency limit is a lease:
 * the process renews its leases every second, and they expire if it is silent. What counts by the minute is corrected
 * when the call ends. In a Cluster, the limits of a key and of a channel may be in different buckets: they are taken
 * one after the other, and released if a later one is full.
 */
import { CallMap } from '../call-map.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type {
  Consumed,
  CountLimit,
  FullLimit,
  LedgerGauges,
  LimitState,
  Load,
  Scope,
  TakeResult,
  Wanted,
} from '../ledger.ts';
import { amountOf, isConcurrency, notCounted, NOTHING_CONSUMED, usedOf } from '../load.ts';
import type { Bucket } from './bucket.ts';
import { bucketOf } from './location.ts';
import { correctOperation, giveOperation, keepOperation, takeOperation } from './operations.ts';
import type { Operation } from './operations.ts';
import { OutcomeUnknown, parseFull, parseStates } from './replies.ts';

/** The most calls in one operation. */
const MAX_CALLS = 500;
const ACCOUNT_ID = 'account/'.length;

interface Taken {
  readonly limit: CountLimit;
  readonly amount: number;
  /** In which second of the store's clock it was taken; empty: a slot. */
  readonly second: string;
}

export class LimitLeases {
  readonly #buckets: readonly Bucket[];
  readonly #owned = new CallMap<readonly Taken[]>();
  readonly #inUse = { Key: 0, Account: 0, Group: 0, Channel: 0 };

  constructor(buckets: readonly Bucket[]) {
    this.#buckets = buckets;
  }

  /** Takes all limits or none. */
  async take(callId: string, limits: readonly CountLimit[], load: Load): Promise<TakeResult> {
    const states: LimitState[] = [];
    const before = this.#owned.get(callId) ?? [];
    const undo = (): void => this.#end(callId, NOTHING_CONSUMED, (taken) => !before.includes(taken));
    for (const [index, some] of Map.groupBy(this.missing(callId, limits), (limit) => this.#indexOf(limit))) {
      const result = await this.#takeIn(callId, index, { limits: some, load }).catch((error: unknown) => {
        undo();
        throw error;
      });
      if (result.outcome === 'Full') {
        undo();
        return result;
      }
      states.push(...(result.states ?? []));
    }
    return { outcome: 'Taken', ...(states.length > 0 && { states }) };
  }

  /** The limits in a bucket, and the others. */
  split(
    limits: readonly CountLimit[],
    index: number,
  ): readonly [here: readonly CountLimit[], elsewhere: readonly CountLimit[]] {
    if (this.#buckets.length === 1) return [limits, []];
    const isHere = (limit: CountLimit): boolean => this.#indexOf(limit) === index;
    return [limits.filter(isHere), limits.filter((limit) => !isHere(limit))];
  }

  /** Ends what a refused call has taken of these limits. */
  giveBack(callId: string, limits: readonly CountLimit[]): void {
    this.#end(callId, NOTHING_CONSUMED, ({ limit }) => limits.includes(limit));
  }

  /** Records limits that were taken together with a hold. */
  add(callId: string, { limits, load }: Wanted, second: string): void {
    const added = this.missing(callId, limits).map((limit) =>
      isConcurrency(limit) ? { limit, amount: 1, second: '' } : { limit, amount: amountOf(limit, load), second },
    );
    if (added.length === 0) return;
    for (const { limit } of added.filter(isSlot)) this.#inUse[limit.scope]++;
    this.#owned.set(callId, [...(this.#owned.get(callId) ?? []), ...added]);
  }

  /** Takes slots for a running call, even beyond a limit. A store that cannot be reached gets them before anything else. */
  count(callId: string, limits: readonly CountLimit[]): void {
    const counted = this.missing(callId, limits);
    this.add(callId, { limits: counted, load: NOTHING_CONSUMED }, '');
    for (const limit of counted) {
      const operation = keepOperation(limit.id, [callId], true);
      // a closed ledger counts nothing, because its calls end
      this.#bucketAt(this.#indexOf(limit))
        .executeUntilAnswered(operation)
        .catch(() => undefined);
    }
  }

  /**
   * Releases the slots of an operation with unknown outcome, except those that the call owned before. What counts by
   * the minute may have been taken and stays, so that no minute ever has more than its limit.
   */
  releaseIfTaken(callId: string, limits: readonly CountLimit[]): void {
    this.#give(callId, this.missing(callId, limits).filter(isConcurrency));
  }

  /** Returns the ids of a call's slots in a bucket. The caller must release them. */
  handOver(callId: string, index: number): readonly string[] {
    const isHere = (taken: Taken): boolean => isSlot(taken) && this.#indexOf(taken.limit) === index;
    return this.#disown(callId, isHere).map(({ limit }) => limit.id);
  }

  /** Never fails. */
  release(callId: string, consumed: Consumed, scopes?: readonly Scope[]): void {
    this.#end(callId, consumed, ({ limit }) => scopes?.includes(limit.scope) ?? true);
  }

  /** Operations that renew the leases in a bucket and, with `restore`, restore those that the store has lost. */
  renewals(index: number, restore: boolean): Operation[] {
    const leases = [...this.#owned.entries()]
      .flatMap(([callId, mine]) => mine.filter(isSlot).map(({ limit }) => ({ callId, limit })))
      .filter(({ limit }) => this.#indexOf(limit) === index);
    return [...Map.groupBy(leases, ({ limit }) => limit.id)].flatMap(([id, same]) => {
      const callIds = same.map(({ callId }) => callId);
      return chunks(callIds).map((some) => keepOperation(id, some, restore));
    });
  }

  /** The number of slots in use, by scope. */
  inUse(): LedgerGauges['slots'] {
    const { Key, Group, Channel } = this.#inUse;
    return { Key, Group, Channel };
  }

  async #takeIn(callId: string, index: number, wanted: Wanted): Promise<TakeResult | FullLimit> {
    const { limits, load } = wanted;
    try {
      const reply = await this.#bucketAt(index).execute(takeOperation(callId, limits, load));
      if (reply.is === 'full') return parseFull(reply, limits);
      this.add(callId, wanted, reply.second ?? '');
      return { outcome: 'Taken', ...parseStates(reply, limits) };
    } catch (error) {
      if (error instanceof OutcomeUnknown) this.releaseIfTaken(callId, limits);
      throw error;
    }
  }

  /** Those of the limits that the call does not count in yet. */
  missing(callId: string, limits: readonly CountLimit[]): readonly CountLimit[] {
    return notCounted(this.#owned.get(callId), limits);
  }

  #disown(callId: string, isEnded: (taken: Taken) => boolean): readonly Taken[] {
    const mine = this.#owned.get(callId) ?? [];
    const ended = mine.filter(isEnded);
    for (const { limit } of ended.filter(isSlot)) this.#inUse[limit.scope]--;
    const kept = mine.filter((taken) => !ended.includes(taken));
    if (kept.length > 0) this.#owned.set(callId, kept);
    else this.#owned.delete(callId);
    return ended;
  }

  #end(callId: string, consumed: Consumed, isEnded: (taken: Taken) => boolean): void {
    const ended = this.#disown(callId, isEnded);
    this.#give(
      callId,
      ended.filter(isSlot).map(({ limit }) => limit),
    );
    for (const { limit, amount, second } of ended) {
      const more = usedOf(limit, consumed) - amount;
      if (isConcurrency(limit) || more === 0) continue;
      // without an answer it is not repeated, as it would count twice; the minute ends by itself
      this.#bucketAt(this.#indexOf(limit))
        .execute(correctOperation(limit, second, more))
        .catch(() => undefined);
    }
  }

  #give(callId: string, slots: readonly CountLimit[]): void {
    for (const [index, some] of Map.groupBy(slots, (slot) => this.#indexOf(slot))) {
      const operation = giveOperation(
        callId,
        some.map(({ id }) => id),
      );
      // a closed ledger releases nothing: its leases expire
      this.#bucketAt(index)
        .executeUntilAnswered(operation)
        .catch(() => undefined);
    }
  }

  /**
   * The bucket of a limit. A channel's limits and its groups' limits share a bucket, an account's are in that of its
   * money; a key's may be in another.
   */
  #indexOf({ scope, id }: CountLimit): number {
    return bucketOf(placeOf(scope, id), this.#buckets.length);
  }

  #bucketAt(index: number): Bucket {
    const bucket = this.#buckets[index];
    if (!bucket) throw new LedgerUnavailable('there is no such bucket');
    return bucket;
  }
}

function isSlot({ limit }: Taken): boolean {
  return isConcurrency(limit);
}

function placeOf(scope: Scope, id: string): string {
  switch (scope) {
    case 'Key':
      return id;
    case 'Account':
      return id.slice(ACCOUNT_ID);
    default:
      return id.split('/').slice(-2).join('/');
  }
}

function chunks(items: readonly string[]): string[][] {
  const count = Math.ceil(items.length / MAX_CALLS);
  return Array.from({ length: count }, (_, n) => items.slice(n * MAX_CALLS, (n + 1) * MAX_CALLS));
}

/**
 * The slots that this process's calls own in the store. Each slot is a lease: the process renews its leases every
 * second, and they expire if it is silent. In a Cluster, the slots of a key and of a channel may be in different
 * buckets: they are taken one after the other, and released if a later one is full.
 */
import { CallMap } from '../call-map.ts';
import { LedgerUnavailable } from '../ledger.ts';
import type { LedgerGauges, SlotLimit, SlotResult } from '../ledger.ts';
import type { Bucket } from './bucket.ts';
import { bucketOf } from './location.ts';
import { takeOperation } from './operations.ts';
import type { Operation } from './operations.ts';
import { OutcomeUnknown } from './replies.ts';

/** The most calls in one operation. */
const MAX_CALLS = 500;

export class SlotLeases {
  readonly #buckets: readonly Bucket[];
  readonly #owned = new CallMap<readonly SlotLimit[]>();
  readonly #inUse = { Key: 0, Group: 0, Channel: 0 };

  constructor(buckets: readonly Bucket[]) {
    this.#buckets = buckets;
  }

  /** Takes all slots or none. */
  async take(callId: string, slots: readonly SlotLimit[]): Promise<SlotResult> {
    const taken: SlotLimit[] = [];
    const undo = (): void =>
      this.#release(
        callId,
        this.#disown(callId, (slot) => taken.includes(slot)),
      );
    for (const [index, some] of this.#byBucket(this.#missing(callId, slots))) {
      const full = await this.#takeIn(callId, index, some).catch((error: unknown) => {
        undo();
        throw error;
      });
      if (full) {
        undo();
        return { outcome: 'Full', full };
      }
      taken.push(...some);
    }
    return { outcome: 'Taken' };
  }

  /** Records slots that were taken together with a hold. */
  add(callId: string, slots: readonly SlotLimit[]): void {
    const added = this.#missing(callId, slots);
    if (added.length === 0) return;
    for (const { scope } of added) this.#inUse[scope]++;
    this.#owned.set(callId, [...(this.#owned.get(callId) ?? []), ...added]);
  }

  /** Gives a call slots even if they are full. A store that cannot be reached gets them before any later operation. */
  count(callId: string, slots: readonly SlotLimit[]): void {
    const counted = this.#missing(callId, slots);
    this.add(callId, counted);
    for (const slot of counted) {
      const operation = { name: 'keep', args: [slot.id, '1', callId] };
      // a closed ledger counts nothing, because its calls end
      this.#bucketAt(this.#indexOf(slot))
        .executeUntilAnswered(operation)
        .catch(() => undefined);
    }
  }

  /** Releases slots of an operation with unknown outcome, except those that the call owned before. */
  releaseIfTaken(callId: string, slots: readonly SlotLimit[]): void {
    this.#release(callId, this.#missing(callId, slots));
  }

  /** Returns the ids of a call's slots in a bucket. The caller must release them. */
  handOver(callId: string, index: number): readonly string[] {
    return this.#disown(callId, (slot) => this.#indexOf(slot) === index).map(({ id }) => id);
  }

  /** Never fails. */
  release(callId: string, scopes?: readonly SlotLimit['scope'][]): void {
    this.#release(
      callId,
      this.#disown(callId, ({ scope }) => scopes?.includes(scope) ?? true),
    );
  }

  /** Operations that renew the leases in a bucket and, with `restore`, restore those that the store has lost. */
  renewals(index: number, restore: boolean): Operation[] {
    const leases = [...this.#owned.entries()]
      .flatMap(([callId, mine]) => mine.map((slot) => ({ callId, slot })))
      .filter(({ slot }) => this.#indexOf(slot) === index);
    return [...Map.groupBy(leases, ({ slot }) => slot.id)].flatMap(([id, same]) => {
      const callIds = same.map(({ callId }) => callId);
      return chunks(callIds).map((some) => ({ name: 'keep', args: [id, restore ? '1' : '', ...some] }));
    });
  }

  inUse(): LedgerGauges['slots'] {
    return { ...this.#inUse };
  }

  /** Returns the first full slot, or undefined if all were taken. */
  async #takeIn(callId: string, index: number, slots: readonly SlotLimit[]): Promise<SlotLimit | undefined> {
    try {
      const [word, at] = await this.#bucketAt(index).execute(takeOperation(callId, slots));
      if (word === 'taken') this.add(callId, slots);
      return word === 'full' ? slots[Number(at)] : undefined;
    } catch (error) {
      if (error instanceof OutcomeUnknown) this.releaseIfTaken(callId, slots);
      throw error;
    }
  }

  #missing(callId: string, slots: readonly SlotLimit[]): readonly SlotLimit[] {
    const mine = this.#owned.get(callId);
    return mine ? slots.filter((slot) => !mine.some(({ id }) => id === slot.id)) : slots;
  }

  #disown(callId: string, isReleased: (slot: SlotLimit) => boolean): readonly SlotLimit[] {
    const mine = this.#owned.get(callId) ?? [];
    const released = mine.filter(isReleased);
    for (const { scope } of released) this.#inUse[scope]--;
    const kept = mine.filter((slot) => !released.includes(slot));
    if (kept.length > 0) this.#owned.set(callId, kept);
    else this.#owned.delete(callId);
    return released;
  }

  #release(callId: string, slots: readonly SlotLimit[]): void {
    for (const [index, some] of this.#byBucket(slots)) {
      const operation = { name: 'give', args: [callId, ...some.map(({ id }) => id)] };
      // a closed ledger releases nothing: its leases expire
      this.#bucketAt(index)
        .executeUntilAnswered(operation)
        .catch(() => undefined);
    }
  }

  #byBucket(slots: readonly SlotLimit[]): Map<number, SlotLimit[]> {
    return Map.groupBy(slots, (slot) => this.#indexOf(slot));
  }

  /** The bucket of a slot. A channel's slot and its groups' slots share a bucket; a key's slot may be in another. */
  #indexOf({ scope, id }: SlotLimit): number {
    return bucketOf(scope === 'Key' ? id : id.split('/').slice(-2).join('/'), this.#buckets.length);
  }

  #bucketAt(index: number): Bucket {
    const bucket = this.#buckets[index];
    if (!bucket) throw new LedgerUnavailable('there is no such bucket');
    return bucket;
  }
}

function chunks(items: readonly string[]): string[][] {
  const count = Math.ceil(items.length / MAX_CALLS);
  return Array.from({ length: count }, (_, n) => items.slice(n * MAX_CALLS, (n + 1) * MAX_CALLS));
}

/**
 * The slots that this process's calls have in the store. They are leases: renewed together every second, and free by
 * themselves some seconds after their process was last heard of. In a Cluster a key's slot and a channel's slots may be in
 * different buckets: they are taken one after the other, and given back if a later one is full.
 */
import type { LedgerGauges, SlotLimit, SlotResult } from '../ledger.ts';
import { LedgerUnavailable } from '../ledger.ts';
import type { Bucket } from './bucket.ts';
import { takeStep } from './steps.ts';
import type { Reply, Step } from './steps.ts';

export interface SlotLeases {
  take(callId: string, slots: readonly SlotLimit[]): Promise<SlotResult>;
  /** A step that takes slots of one bucket and perhaps refuses for other reasons; `isTaken` says of its reply that it took them. */
  takeBy(step: Step, at: { readonly callId: string; readonly bucket: number; readonly slots: readonly SlotLimit[] }, isTaken: (reply: Reply) => boolean): Promise<Reply>;
  /** Those of a call that are in a bucket: from now on they are the caller's to give back. */
  handOver(callId: string, bucket: number): readonly string[];
  /** Never fails. */
  give(callId: string, scopes?: readonly SlotLimit['scope'][]): void;
  /** Renews what is in a bucket; `again`: also what the store has lost. */
  keepSteps(bucket: number, again: boolean): Step[];
  inUse(): LedgerGauges['slots'];
}

interface Owned {
  readonly scope: SlotLimit['scope'];
  readonly bucket: number;
}

/** As many calls as one command takes. */
const MOST_CALLS = 500;

/** `bucketOf`: where a slot is. */
export function createSlotLeases(buckets: readonly Bucket[], bucketOf: (slot: SlotLimit) => number): SlotLeases {
  const owned = new Map<string, Map<string, Owned>>();
  const inUse = { Key: 0, Group: 0, Channel: 0 };

  const own = (callId: string, bucket: number, slots: readonly SlotLimit[]): void => {
    const mine = owned.get(callId) ?? new Map<string, Owned>();
    owned.set(callId, mine);
    for (const { id, scope } of slots) {
      if (mine.has(id)) continue;
      mine.set(id, { scope, bucket });
      inUse[scope]++;
    }
  };
  // a ledger that is closed gives nothing back: its slots end by themselves
  const giveBack = (callId: string, bucket: number, ids: readonly string[]): void =>
    void buckets[bucket]?.askSurely({ name: 'give', args: [callId, ...ids] }).catch(() => undefined);
  const takeBy: SlotLeases['takeBy'] = async (step, { callId, bucket, slots }, isTaken) => {
    const fresh = slots.filter(({ id }) => !owned.get(callId)?.has(id)).map(({ id }) => id);
    const place = bucketAt(buckets, bucket);
    const sent = place.open;
    try {
      const reply = await place.ask(step);
      if (isTaken(reply)) own(callId, bucket, slots);
      return reply;
    } catch (error) {
      // they may have been taken
      if (sent && fresh.length > 0) giveBack(callId, bucket, fresh);
      throw error;
    }
  };
  const takeIn = async (callId: string, bucket: number, slots: readonly SlotLimit[]): Promise<SlotLimit | undefined> => {
    const [word, at] = await takeBy(takeStep(callId, slots), { callId, bucket, slots }, (reply) => reply[0] === 'taken');
    return word === 'full' ? slots[Number(at)] : undefined;
  };
  /** By bucket. */
  const disown = (callId: string, isGiven: (id: string, slot: Owned) => boolean): Map<number, string[]> => {
    const given = new Map<number, string[]>();
    const mine = owned.get(callId);
    if (!mine) return given;
    for (const [id, slot] of mine) {
      if (!isGiven(id, slot)) continue;
      mine.delete(id);
      inUse[slot.scope]--;
      const ids = given.get(slot.bucket);
      if (ids) ids.push(id);
      else given.set(slot.bucket, [id]);
    }
    if (mine.size === 0) owned.delete(callId);
    return given;
  };
  const give = (callId: string, isGiven: (id: string, slot: Owned) => boolean): void => {
    for (const [bucket, ids] of disown(callId, isGiven)) giveBack(callId, bucket, ids);
  };

  return {
    async take(callId, slots) {
      const before = new Set(owned.get(callId)?.keys());
      const places = buckets.length === 1 ? [[0, slots] as const] : Map.groupBy(slots, bucketOf);
      for (const [bucket, some] of places) {
        const full = await takeIn(callId, bucket, some).catch((error: unknown) => {
          give(callId, (id) => !before.has(id));
          throw error;
        });
        if (!full) continue;
        give(callId, (id) => !before.has(id));
        return { outcome: 'Full', full };
      }
      return { outcome: 'Taken' };
    },
    takeBy,
    handOver: (callId, bucket) => disown(callId, (_id, slot) => slot.bucket === bucket).get(bucket) ?? [],
    give: (callId, scopes) => give(callId, (_id, { scope }) => scopes?.includes(scope) ?? true),
    keepSteps(bucket, again) {
      const calls = new Map<string, string[]>();
      for (const [callId, mine] of owned) for (const [id, slot] of mine) if (slot.bucket === bucket) calls.set(id, [...calls.get(id) ?? [], callId]);
      return [...calls].flatMap(([id, callIds]) => chunks(callIds).map((some) => ({ name: 'keep', args: [id, again ? '1' : '', ...some] })));
    },
    inUse: () => ({ ...inUse }),
  };
}

function bucketAt(buckets: readonly Bucket[], index: number): Bucket {
  const bucket = buckets[index];
  if (!bucket) throw new LedgerUnavailable('there is no such bucket');
  return bucket;
}

function chunks(items: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(items.length / MOST_CALLS) }, (_, n) => items.slice(n * MOST_CALLS, (n + 1) * MOST_CALLS));
}

/** What is in one place together: a key's slot by itself, a channel's own and its groups' with their channel. */
export function placeOf({ scope, id }: SlotLimit): string {
  return scope === 'Key' ? id : id.split('/').slice(-2).join('/');
}

/**
 * The slots that this process's calls have in the store. They are leases: renewed together every second, and free by
 * themselves some seconds after their process was last heard of. In a Cluster a key's slot and a channel's slots may be in
 * different buckets: they are taken one after the other, and given back if a later one is full.
 */
import { CallMap } from '../call-map.ts';
import type { LedgerGauges, SlotLimit, SlotResult } from '../ledger.ts';
import { LedgerUnavailable } from '../ledger.ts';
import type { Bucket } from './bucket.ts';
import { takeStep } from './steps.ts';
import type { Step } from './steps.ts';

export interface SlotLeases {
  take(callId: string, slots: readonly SlotLimit[]): Promise<SlotResult>;
  /** They were taken with something else, in one step. */
  own(callId: string, slots: readonly SlotLimit[]): void;
  /** They may have been taken: gives back what the call did not own before. */
  disclaim(callId: string, slots: readonly SlotLimit[]): void;
  /** Those of a call that are in a bucket, by id: from now on they are the caller's to give back. */
  handOver(callId: string, bucket: number): readonly string[];
  /** Never fails. */
  give(callId: string, scopes?: readonly SlotLimit['scope'][]): void;
  /** Renews what is in a bucket; `again`: also what the store has lost. */
  keepSteps(bucket: number, again: boolean): Step[];
  inUse(): LedgerGauges['slots'];
}

/** As many calls as one command takes. */
const MOST_CALLS = 500;
const NONE: readonly SlotLimit[] = [];

/** `bucketOf`: where a slot is. */
export function createSlotLeases(buckets: readonly Bucket[], bucketOf: (slot: SlotLimit) => number): SlotLeases {
  /** A handful for each call: the very list that it asked for, in most cases. */
  const owned = new CallMap<readonly SlotLimit[]>();
  const inUse = { Key: 0, Group: 0, Channel: 0 };

  const missing = (callId: string, slots: readonly SlotLimit[]): readonly SlotLimit[] => {
    const mine = owned.get(callId);
    return mine ? slots.filter(({ id }) => !owns(mine, id)) : slots;
  };
  const own = (callId: string, slots: readonly SlotLimit[]): void => {
    const fresh = missing(callId, slots);
    if (fresh.length === 0) return;
    for (const { scope } of fresh) inUse[scope]++;
    const mine = owned.get(callId);
    owned.set(callId, mine ? [...mine, ...fresh] : fresh);
  };
  /** The call owns no others from now on. */
  const keepOnly = (callId: string, kept: readonly SlotLimit[]): void => {
    if (kept.length > 0) owned.set(callId, kept);
    else owned.delete(callId);
  };
  const disown = (callId: string, isGiven: (slot: SlotLimit) => boolean): readonly SlotLimit[] => {
    const mine = owned.get(callId);
    if (!mine) return NONE;
    const given = mine.filter(isGiven);
    for (const { scope } of given) inUse[scope]--;
    keepOnly(callId, given.length === mine.length ? NONE : mine.filter((slot) => !given.includes(slot)));
    return given;
  };
  const places = (slots: readonly SlotLimit[]): Iterable<readonly [number, readonly SlotLimit[]]> => (buckets.length === 1 ? [[0, slots] as const] : Map.groupBy(slots, bucketOf));
  // a ledger that is closed gives nothing back: its slots end by themselves
  const giveBack = (callId: string, slots: readonly SlotLimit[]): void => {
    if (slots.length === 0) return;
    for (const [bucket, some] of places(slots)) void buckets[bucket]?.askSurely({ name: 'give', args: [callId, ...some.map(idOf)] }).catch(() => undefined);
  };
  const takeIn = async (callId: string, bucket: number, slots: readonly SlotLimit[]): Promise<SlotLimit | undefined> => {
    const place = bucketAt(buckets, bucket);
    const sent = place.open;
    try {
      const [word, at] = await place.ask(takeStep(callId, slots));
      if (word === 'taken') own(callId, slots);
      return word === 'full' ? slots[Number(at)] : undefined;
    } catch (error) {
      if (sent) giveBack(callId, missing(callId, slots));
      throw error;
    }
  };

  return {
    async take(callId, slots) {
      const before = owned.get(callId) ?? NONE;
      const undo = (): void => giveBack(callId, disown(callId, ({ id }) => !owns(before, id)));
      const wanted = missing(callId, slots);
      if (wanted.length === 0) return { outcome: 'Taken' };
      for (const [bucket, some] of places(wanted)) {
        const full = await takeIn(callId, bucket, some).catch((error: unknown) => {
          undo();
          throw error;
        });
        if (!full) continue;
        undo();
        return { outcome: 'Full', full };
      }
      return { outcome: 'Taken' };
    },
    own,
    disclaim: (callId, slots) => giveBack(callId, missing(callId, slots)),
    handOver: (callId, bucket) => disown(callId, (slot) => bucketOf(slot) === bucket).map(idOf),
    give: (callId, scopes) => giveBack(callId, disown(callId, ({ scope }) => scopes?.includes(scope) ?? true)),
    keepSteps(bucket, again) {
      const calls = new Map<string, string[]>();
      for (const [callId, mine] of owned.entries()) for (const slot of mine) if (bucketOf(slot) === bucket) listOf(calls, slot.id).push(callId);
      return [...calls].flatMap(([id, callIds]) => chunks(callIds).map((some) => ({ name: 'keep', args: [id, again ? '1' : '', ...some] })));
    },
    inUse: () => ({ ...inUse }),
  };
}

function idOf({ id }: SlotLimit): string {
  return id;
}

function owns(slots: readonly SlotLimit[], id: string): boolean {
  for (const slot of slots) if (slot.id === id) return true;
  return false;
}

function listOf(lists: Map<string, string[]>, id: string): string[] {
  const found = lists.get(id);
  if (found) return found;
  const list: string[] = [];
  lists.set(id, list);
  return list;
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

/**
 * [P] Concurrency slots in the memory of one process.
 */
import { CallMap } from './call-map.ts';
import type { LedgerGauges, SlotLimit, SlotResult } from './ledger.ts';

interface SlotUse {
  readonly id: string;
  readonly scope: SlotLimit['scope'];
  inUse: number;
}

export interface Slots {
  /** Slots in use, by id. */
  readonly uses: Map<string, SlotUse>;
  /** The slots that a call owns. */
  readonly owned: CallMap<readonly SlotUse[]>;
}

export function createSlots(): Slots {
  return { uses: new Map(), owned: new CallMap() };
}

/** Takes all slots or none. A slot that the call already owns is not taken again. */
export function takeSlots({ uses, owned }: Slots, callId: string, limits: readonly SlotLimit[]): SlotResult {
  const mine = owned.get(callId) ?? [];
  const wanted = limits.filter(({ id }) => !mine.some((use) => use.id === id));
  const full = wanted.find(({ id, limit }) => (uses.get(id)?.inUse ?? 0) >= limit);
  if (full) return { outcome: 'Full', full };
  const taken = wanted.map(({ id, scope }) => {
    const use = uses.get(id) ?? { id, scope, inUse: 0 };
    use.inUse++;
    uses.set(id, use);
    return use;
  });
  if (taken.length > 0) owned.set(callId, [...mine, ...taken]);
  return { outcome: 'Taken' };
}

/** Releases a call's slots of the given scopes, or all. */
export function releaseSlots({ uses, owned }: Slots, callId: string, scopes?: readonly SlotLimit['scope'][]): void {
  const mine = owned.get(callId) ?? [];
  const kept = scopes ? mine.filter(({ scope }) => !scopes.includes(scope)) : [];
  for (const use of mine) {
    if (kept.includes(use)) continue;
    if (--use.inUse === 0) uses.delete(use.id);
  }
  if (kept.length > 0) owned.set(callId, kept);
  else owned.delete(callId);
}

/** Slots in use by scope. */
export function countSlots({ uses }: Slots): LedgerGauges['slots'] {
  const inUse = { Key: 0, Group: 0, Channel: 0 };
  for (const use of uses.values()) inUse[use.scope] += use.inUse;
  return inUse;
}

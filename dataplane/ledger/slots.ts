/**
 * [P] Concurrency slots in memory: they live and die with the process. Taken all or none, given back by call id.
 */
import type { LedgerGauges, SlotLimit, SlotResult } from './ledger.ts';

interface SlotUse {
  readonly scope: SlotLimit['scope'];
  inUse: number;
}

export interface Slots {
  /** Calls in flight by slot id; an id without any is not kept. */
  readonly uses: Map<string, SlotUse>;
  /** Ids of the slots that a call owns. */
  readonly owned: Map<string, Set<string>>;
  readonly inUse: Record<SlotLimit['scope'], number>;
}

export function createSlots(): Slots {
  return { uses: new Map(), owned: new Map(), inUse: { Key: 0, Group: 0, Channel: 0 } };
}

/** Takes all of them or none; those that the call owns already stay its own and count once. */
export function takeSlots(slots: Slots, callId: string, limits: readonly SlotLimit[]): SlotResult {
  const owned = slots.owned.get(callId);
  const wanted = limits.filter(({ id }) => !owned?.has(id));
  const full = wanted.find(({ id, limit }) => (slots.uses.get(id)?.inUse ?? 0) >= limit);
  if (full) return { outcome: 'Full', full };
  for (const limit of wanted) take(slots, callId, limit);
  return { outcome: 'Taken' };
}

function take(slots: Slots, callId: string, { id, scope }: SlotLimit): void {
  const owned = slots.owned.get(callId) ?? new Set();
  if (owned.has(id)) return;
  slots.owned.set(callId, owned.add(id));
  const use = slots.uses.get(id);
  if (use) use.inUse++;
  else slots.uses.set(id, { scope, inUse: 1 });
  slots.inUse[scope]++;
}

/** Gives back the named scopes' slots of a call, or all; what it does not own is ignored. */
export function releaseSlots(slots: Slots, callId: string, scopes?: readonly SlotLimit['scope'][]): void {
  const owned = slots.owned.get(callId);
  if (!owned) return;
  for (const id of owned) {
    const use = slots.uses.get(id);
    if (!use || (scopes && !scopes.includes(use.scope))) continue;
    owned.delete(id);
    slots.inUse[use.scope]--;
    if (--use.inUse === 0) slots.uses.delete(id);
  }
  if (owned.size === 0) slots.owned.delete(callId);
}

/** Slots in use by scope. */
export function countSlots(slots: Slots): LedgerGauges['slots'] {
  return { ...slots.inUse };
}

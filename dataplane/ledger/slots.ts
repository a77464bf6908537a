/**
 * [P] Concurrency slots in memory: they live and die with the process. Taken all or none, given back by call id.
 */
import type { LedgerGauges, SlotLimit, SlotResult } from './ledger.ts';

interface SlotUse {
  readonly id: string;
  readonly scope: SlotLimit['scope'];
  inUse: number;
}

export interface Slots {
  /** Calls in flight by slot id; an id without any is not kept. */
  readonly uses: Map<string, SlotUse>;
  /** The slots that a call owns: a handful, so that a list is quicker than a set. */
  readonly owned: Map<string, SlotUse[]>;
  readonly inUse: Record<SlotLimit['scope'], number>;
}

export function createSlots(): Slots {
  return { uses: new Map(), owned: new Map(), inUse: { Key: 0, Group: 0, Channel: 0 } };
}

const TAKEN: SlotResult = { outcome: 'Taken' };

/** Takes all of them or none; those that the call owns already stay its own and count once. */
export function takeSlots(slots: Slots, callId: string, limits: readonly SlotLimit[]): SlotResult {
  const known = slots.owned.get(callId);
  const owned = known ?? [];
  for (const limit of limits) if (isFull(slots, limit) && !owns(owned, limit.id)) return { outcome: 'Full', full: limit };
  for (const { id, scope } of limits) if (!owns(owned, id)) owned.push(take(slots, id, scope));
  if (!known && owned.length > 0) slots.owned.set(callId, owned);
  return TAKEN;
}

function isFull({ uses }: Slots, { id, limit }: SlotLimit): boolean {
  return (uses.get(id)?.inUse ?? 0) >= limit;
}

function owns(owned: readonly SlotUse[], id: string): boolean {
  for (const use of owned) if (use.id === id) return true;
  return false;
}

function take(slots: Slots, id: string, scope: SlotLimit['scope']): SlotUse {
  let use = slots.uses.get(id);
  if (!use) slots.uses.set(id, use = { id, scope, inUse: 0 });
  use.inUse++;
  slots.inUse[scope]++;
  return use;
}

/** Gives back the named scopes' slots of a call, or all; what it does not own is ignored. */
export function releaseSlots(slots: Slots, callId: string, scopes?: readonly SlotLimit['scope'][]): void {
  const owned = slots.owned.get(callId);
  if (!owned) return;
  const kept = scopes ? owned.filter(({ scope }) => !scopes.includes(scope)) : [];
  for (const use of owned) if (!kept.includes(use)) giveBack(slots, use);
  if (kept.length > 0) slots.owned.set(callId, kept);
  else slots.owned.delete(callId);
}

function giveBack(slots: Slots, use: SlotUse): void {
  slots.inUse[use.scope]--;
  if (--use.inUse === 0) slots.uses.delete(use.id);
}

/** Slots in use by scope. */
export function countSlots(slots: Slots): LedgerGauges['slots'] {
  return { ...slots.inUse };
}

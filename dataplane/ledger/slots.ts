/**
 * [P] Concurrency slots in memory: they live and die with the process. Taken all or none, given back by call id.
 */
import { CallMap } from './call-map.ts';
import type { LedgerGauges, SlotLimit, SlotResult } from './ledger.ts';

interface SlotUse {
  readonly id: string;
  readonly scope: SlotLimit['scope'];
  inUse: number;
}

export interface Slots {
  /** Calls in flight by slot id. Ids without any leave together, now and then: most are wanted again at once. */
  readonly uses: Map<string, SlotUse>;
  /** With so many ids, those without any leave. */
  sweepAt: number;
  /** The slots that a call owns: a handful, so that a list is quicker than a set. */
  readonly owned: CallMap<readonly SlotUse[]>;
  readonly inUse: Record<SlotLimit['scope'], number>;
}

const LEAST_SWEPT = 1000;

export function createSlots(): Slots {
  return { uses: new Map(), sweepAt: LEAST_SWEPT, owned: new CallMap(), inUse: { Key: 0, Group: 0, Channel: 0 } };
}

const TAKEN: SlotResult = { outcome: 'Taken' };

/** Takes all of them or none; those that the call owns already stay its own and count once. */
export function takeSlots(slots: Slots, callId: string, limits: readonly SlotLimit[]): SlotResult {
  const owned = slots.owned.get(callId) ?? NONE;
  const wanted = owned.length > 0 ? limits.filter(({ id }) => !owns(owned, id)) : limits;
  if (slots.uses.size + wanted.length > slots.sweepAt) sweep(slots);
  const uses: SlotUse[] = [];
  for (const limit of wanted) {
    const use = slots.uses.get(limit.id) ?? open(slots, limit);
    if (use.inUse >= limit.limit) return { outcome: 'Full', full: limit };
    uses.push(use);
  }
  if (uses.length === 0) return TAKEN;
  for (const use of uses) take(slots, use);
  slots.owned.set(callId, owned.length > 0 ? [...owned, ...uses] : uses);
  return TAKEN;
}

function owns(owned: readonly SlotUse[], id: string): boolean {
  for (const use of owned) if (use.id === id) return true;
  return false;
}

function open({ uses }: Slots, { id, scope }: SlotLimit): SlotUse {
  const use = { id, scope, inUse: 0 };
  uses.set(id, use);
  return use;
}

function take({ inUse }: Slots, use: SlotUse): void {
  use.inUse++;
  inUse[use.scope]++;
}

function sweep(slots: Slots): void {
  for (const [id, { inUse }] of slots.uses) if (inUse === 0) slots.uses.delete(id);
  slots.sweepAt = Math.max(LEAST_SWEPT, slots.uses.size * 2);
}

/** Gives back the named scopes' slots of a call, or all; what it does not own is ignored. */
export function releaseSlots(slots: Slots, callId: string, scopes?: readonly SlotLimit['scope'][]): void {
  const owned = slots.owned.get(callId);
  if (!owned) return;
  const kept = scopes ? owned.filter(({ scope }) => !scopes.includes(scope)) : NONE;
  for (const use of owned) if (!kept.includes(use)) giveBack(slots, use);
  if (kept.length > 0) slots.owned.set(callId, kept);
  else slots.owned.delete(callId);
}

const NONE: readonly SlotUse[] = [];

function giveBack(slots: Slots, use: SlotUse): void {
  slots.inUse[use.scope]--;
  use.inUse--;
}

/** Slots in use by scope. */
export function countSlots(slots: Slots): LedgerGauges['slots'] {
  return { ...slots.inUse };
}

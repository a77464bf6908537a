/**
 * Counts running calls under a concurrency limit that an edit of the configuration adds: each takes the slots that it
 * did not need before, even beyond the limit. Therefore calls take no slots where no limit is set.
 */
import type { SlotLimit } from '../ledger/ledger.ts';
import { channelSlots, keySlots } from '../state/limits.ts';
import type { Admitted, CallRecord, PipelineDeps } from './context.ts';

type Deps = Pick<PipelineDeps, 'state' | 'ledger' | 'running'>;
type KeySlots = ReturnType<typeof keySlots>;

/** Counts all running calls under the limits in force now. A call between two channels is counted on the next one. */
export function countRunningCalls(deps: Deps): void {
  const keys = keySlots(deps.state.get());
  for (const record of deps.running.values()) if (record.sent) countRunningCall(deps, record, keys);
}

/** Counts one running call. A ledger that cannot be reached counts it before it admits another call. */
export function countRunningCall(deps: Deps, record: CallRecord, keys: KeySlots = keySlots(deps.state.get())): void {
  const slots = record.admitted ? slotsToAdd(deps, record.admitted, keys) : [];
  if (slots.length > 0) deps.ledger.countSlots(record.received.requestId, slots);
}

/** The slots that a new call of this kind would need and this call does not have. */
function slotsToAdd({ state }: Deps, { routed, candidate }: Admitted, keys: KeySlots): readonly SlotLimit[] {
  const { group, model, target, slots } = candidate;
  const inForce = channelSlots(state.get(), { group, model: model.name, channel: target.id });
  const missing = inForce.filter(({ id }) => slots.every((each) => each.id !== id));
  const keySlot = routed.key.slot ? undefined : keys(routed);
  return keySlot ? [...missing, keySlot] : missing;
}

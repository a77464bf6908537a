/**
 * A threshold that an edit sets where there was none counts the calls that run already: they are given the slots that they did not have
 * to take, whether or not there is room for them. So calls need no slots where no threshold is set.
 */
import type { SlotLimit } from '../ledger/ledger.ts';
import { slotsInForce } from '../state/slots-in-force.ts';
import type { KeyState } from '../state/state.ts';
import type { Admitted, CallRecord, PipelineDeps } from './context.ts';

type Deps = Pick<PipelineDeps, 'state' | 'ledger' | 'running'>;
type KeysByUid = () => ReadonlyMap<string, KeyState>;

/** After an edit: has all running calls count under the thresholds in force now. One that is between two channels is counted on its next. */
export function countRunningCalls(deps: Deps): void {
  const keys = keysByUid(deps);
  for (const record of deps.running.values()) if (record.sent) countRunningCall(deps, record, keys);
}

/** The same for one call, which is running. Where the ledger takes nothing at that moment, it stays uncounted until the next edit or its next channel. */
export function countRunningCall(deps: Deps, record: CallRecord, keys: KeysByUid = keysByUid(deps)): void {
  const slots = record.admitted ? slotsToTake(deps, record.admitted, keys) : NONE;
  if (slots.length === 0) return;
  const taking = deps.ledger.takeSlots(record.requestId, slots);
  if (taking instanceof Promise) taking.then(() => {
    if (!deps.running.get(record.requestId)) deps.ledger.releaseSlots(record.requestId); // it has ended meanwhile
  }, () => undefined);
}

const NONE: readonly SlotLimit[] = [];

/** What a call of its kind has to take now, and this one had not; with room for it in any case. */
function slotsToTake({ state }: Deps, { key, keyHash, candidate: { group, model, target, slots } }: Admitted, keys: KeysByUid): readonly SlotLimit[] {
  const wanted = slotsInForce(state.get(), { group, model: model.name, channel: target.id }).filter(({ id }) => slots.every((each) => each.id !== id));
  if (!key.slot) {
    const found = state.credential(keyHash)?.key;
    // what it called with may open nothing any more, or another key
    const { slot } = (found?.uid === key.uid ? found : keys().get(key.uid)) ?? {};
    if (slot) wanted.push(slot);
  }
  return wanted.map(({ scope, id }) => ({ scope, id, limit: Number.MAX_SAFE_INTEGER }));
}

/** Looked up when somebody asks: there may be a hundred thousand. */
function keysByUid({ state }: Deps): KeysByUid {
  let keys: ReadonlyMap<string, KeyState> | undefined;
  return () => keys ??= new Map(state.get().credentials.values().map(({ key }) => [key.uid, key]));
}

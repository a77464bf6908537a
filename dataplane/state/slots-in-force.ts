/** [P] The thresholds that a call counts under by the configuration in force, whatever was in force when it was admitted. */
import type { SlotLimit } from '../ledger/ledger.ts';
import type { State } from './state.ts';

/** Where a call runs, or a job was made. `channel`: "route/channel". */
interface Place {
  readonly group: string;
  readonly model: string;
  readonly channel: string;
}

/** As the group may use the channel now; where it no longer may, the channel's own threshold still counts. */
export function slotsInForce(state: State, { group, model, channel }: Place): readonly SlotLimit[] {
  const offered = state.groups.get(group)?.offers.get(model)?.tiers.flat().find(({ target }) => target.id === channel);
  if (offered) return offered.slots;
  const own = state.channelSlots.get(channel);
  return own ? [own] : [];
}

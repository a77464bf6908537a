/** What the gateway seals for a client, and opens again: one channel of one account, under the keys in force. */
import type { ChannelSeal } from '../protocol/sealed-values.ts';
import { createChannelSeal } from '../sealing/channel-seal.ts';
import type { SealingContext } from '../sealing/channel-seal.ts';
import type { Candidate, KeyState, State } from '../state/state.ts';

type Sealing = Pick<State, 'sealingKeys'>;
type Owner = Pick<KeyState, 'account'>;

/** Undefined: the operator gives no key to seal with. */
export function sealingContext(
  { sealingKeys }: Sealing, { account }: Owner, { target }: Pick<Candidate, 'target'>,
): SealingContext | undefined {
  return sealingKeys && { keys: sealingKeys.reveal(), channel: target.id, account };
}

/** For values that are opened whatever their channel; `channel`: the one that is sealed for. Undefined: as above. */
export function sealFor({ sealingKeys }: Sealing, { account }: Owner, channel: string): ChannelSeal | undefined {
  return sealingKeys && createChannelSeal({ keys: sealingKeys.reveal(), channel, account });
}

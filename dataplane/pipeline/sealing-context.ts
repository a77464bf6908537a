/**
 * The context in which the gateway seals and opens values for a client: one channel and one account, under the current
 * keys.
 */
import type { ChannelSeal } from '../protocol/sealed-values.ts';
import { createChannelSeal } from '../sealing/channel-seal.ts';
import type { SealingContext } from '../sealing/channel-seal.ts';
import type { Candidate, KeyState, State } from '../state/state.ts';

type Sealing = Pick<State, 'sealingKeys'>;
type Owner = Pick<KeyState, 'account'>;

/** Returns undefined if the operator provides no sealing key. `images`: what the call makes may contain some. */
export function sealingContext(
  { sealingKeys }: Sealing,
  { account }: Owner,
  { target }: Pick<Candidate, 'target'>,
  images = false,
): SealingContext | undefined {
  return sealingKeys && { keys: sealingKeys.reveal(), channel: target.id, account, images };
}

/** Returns a seal that opens values of any channel and seals for `channel`; undefined if there is no sealing key. */
export function sealFor(
  { sealingKeys }: Sealing,
  { account }: Owner,
  channel: string,
  images = false,
): ChannelSeal | undefined {
  return sealingKeys && createChannelSeal({ keys: sealingKeys.reveal(), channel, account, images });
}

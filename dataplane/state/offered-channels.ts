/** [P] The channels of an offer by which clients are told a model's limits and capabilities. */
import type { Candidate, Offer } from './state.ts';

/** The channels that may serve the model now; if all of them are drained, the drained ones. */
export function offeredChannels({ tiers, drained }: Pick<Offer, 'tiers' | 'drained'>): readonly Candidate[] {
  const open = tiers.flat();
  return open.length > 0 ? open : drained;
}

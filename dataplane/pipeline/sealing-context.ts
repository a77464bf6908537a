/** [P] What a call of this key at this candidate seals with. */
import type { SealingContext } from '../sealing/channel-seal.ts';
import type { Candidate, KeyState, State } from '../state/state.ts';

/** Undefined: the operator gives no key to seal with. */
export function sealingContext(
  { sealingKeys }: Pick<State, 'sealingKeys'>, { account }: Pick<KeyState, 'account'>,
  { target }: Pick<Candidate, 'target'>,
): SealingContext | undefined {
  return sealingKeys && { keys: sealingKeys.reveal(), channel: target.id, account };
}

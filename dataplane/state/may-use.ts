/** [P] Tells which models a key may use. */
import type { KeyState, State } from './state.ts';

/** Whether the key's group offers the model, and the key may use it. */
export function mayUse(
  { groups }: Pick<State, 'groups'>,
  { group, models }: Pick<KeyState, 'group' | 'models'>,
  model: string,
): boolean {
  return groups.get(group)?.offers.has(model) === true && models?.has(model) !== false;
}

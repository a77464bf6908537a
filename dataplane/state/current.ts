/** The configuration in force. An edit replaces it as a whole: a reader sees either the old one or the new one. */
import { EMPTY_STATE } from './compile.ts';
import type { Credential, State } from './state.ts';

export interface CurrentState {
  get(): State;
  /** What a key with this SHA-256 (lower-case hex) opens; undefined: nothing. */
  credential(keyHash: string): Credential | undefined;
  /** Puts a state in force. */
  swap(state: State): void;
  /** How many states have been put in force. 0: none yet, so that no key opens anything. */
  readonly generation: number;
}

/** Starts with the empty state. */
export function createCurrentState(): CurrentState {
  let current = EMPTY_STATE;
  let generation = 0;
  return {
    get: () => current,
    credential: (keyHash) => current.credentials.get(keyHash),
    swap(state) {
      current = state;
      generation += 1;
    },
    get generation() {
      return generation;
    },
  };
}

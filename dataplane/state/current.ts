/**
 * The configuration in force. It is swapped whole: a call reads it once and sees either the old one or the new one.
 */
import { EMPTY_STATE } from './compile.ts';
import { RecentCredentials } from './recent-credentials.ts';
import type { Credential, State } from './state.ts';

export interface CurrentState {
  get(): State;
  /** What a key's SHA-256, in hexadecimal digits, opens in it; undefined: nothing. */
  credential(keyHash: string): Credential | undefined;
  /** Puts a state in force, then tells the listeners, in the order in which they came. */
  swap(state: State): void;
  /** How many states have been put in force; 0: none yet, and no key opens anything. */
  readonly generation: number;
  /** Called after each swap. Returns how to stop that. */
  onSwap(listener: (state: State) => void): () => void;
}

/** Starts empty. */
export function createCurrentState(): CurrentState {
  let current = EMPTY_STATE;
  const recent = new RecentCredentials(current.credentials);
  let generation = 0;
  const listeners = new Set<(state: State) => void>();
  return {
    get: () => current,
    credential: (keyHash) => recent.find(keyHash),
    swap(state) {
      if (state.credentials !== current.credentials) recent.follow(state.credentials);
      current = state;
      generation += 1;
      for (const listener of listeners) listener(state);
    },
    get generation() { return generation; },
    onSwap(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

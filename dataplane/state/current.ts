/**
 * The configuration in force. It is swapped whole: a call reads it once and sees either the old one or the new one.
 */
import { EMPTY_STATE } from './compile.ts';
import type { State } from './state.ts';

export interface CurrentState {
  get(): State;
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
  let generation = 0;
  const listeners = new Set<(state: State) => void>();
  return {
    get: () => current,
    swap(state) {
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

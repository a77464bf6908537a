/**
 * Small state that all replicas of a console share and that survives restarts: short texts. A change is an edit of the
 * latest text, so that exactly one of several concurrent replicas wins.
 */

/** Which sessions people signed out of (session/revocations.ts), and which keys were shown (pages/key-created.ts). */
export const STATE_ENTRIES = ['signedOut', 'shownKeys'] as const;
export type StateEntry = (typeof STATE_ENTRIES)[number];

export interface SharedState {
  /** The text as this replica knows it: other replicas' changes arrive a moment later. "": nothing yet. */
  read(entry: StateEntry): string;
  /**
   * Calls `edit` with the latest text, again after a conflict; an unchanged text writes nothing. Resolves when the text
   * is stored, and rejects with AccessError (Unavailable) if it cannot be.
   */
  change(entry: StateEntry, edit: (text: string) => string): Promise<void>;
}

/** State of this process alone. */
export function localState(): SharedState {
  const texts = new Map<StateEntry, string>();
  const read = (entry: StateEntry): string => texts.get(entry) ?? '';
  return {
    read,
    async change(entry, edit) {
      texts.set(entry, edit(read(entry)));
    },
  };
}

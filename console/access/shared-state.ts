/**
 * The little state that all replicas of a console share, also across restarts: short texts. A change edits the latest
 * text, so that of several replicas that want to be the first exactly one is.
 */

/** Which sessions people signed out of (session/revocations.ts), and which keys were shown (pages/key-created.ts). */
export const STATE_ENTRIES = ['signedOut', 'shownKeys'] as const;
export type StateEntry = (typeof STATE_ENTRIES)[number];

export interface SharedState {
  /** The text as known here: own changes at once, those of another replica within moments. "": nothing yet. */
  read(entry: StateEntry): string;
  /**
   * Gives `edit` the latest text, again after a conflict; an unchanged text writes nothing. Resolves once the text is
   * kept, and rejects with AccessError (Unavailable) where it may not be.
   */
  change(entry: StateEntry, edit: (text: string) => string): Promise<void>;
}

/** State of this process alone. */
export function localState(): SharedState {
  const texts = new Map<StateEntry, string>();
  const read = (entry: StateEntry): string => texts.get(entry) ?? '';
  return { read, async change(entry, edit) { texts.set(entry, edit(read(entry))); } };
}

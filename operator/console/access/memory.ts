/**
 * The little that all replicas of a console remember together, also across restarts: short texts, each changed only by who has
 * read what it says now, so that of several who want to be the first one is.
 */

/** Who was signed out (session/signed-out.ts), and which keys were shown (keys/shown-keys.ts). */
export const MEMORY_ENTRIES = ['signedOut', 'shownKeys'] as const;
export type MemoryEntry = (typeof MEMORY_ENTRIES)[number];

export interface ConsoleMemory {
  /** What it says, as far as is known here: one's own changes at once, those of another replica within moments. "": nothing yet. */
  read(entry: MemoryEntry): string;
  /**
   * `edit` is given what it says now, and again where somebody else was quicker; giving back the same changes nothing. Resolves
   * once it is kept, and rejects with AccessError (Unavailable) where it may not be.
   */
  change(entry: MemoryEntry, edit: (text: string) => string): Promise<void>;
}

/** Of one process, for as long as it runs. */
export function rememberHere(): ConsoleMemory {
  const texts = new Map<MemoryEntry, string>();
  const read = (entry: MemoryEntry): string => texts.get(entry) ?? '';
  return { read, async change(entry, edit) { texts.set(entry, edit(read(entry))); } };
}

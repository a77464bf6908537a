/** Where the gateway keeps responses and conversations: a file beside the ledger's, or the Valkey that proxies share. */

/** A response or a conversation of an account, by its id. */
export interface KeptPlace {
  /** "namespace/name" */
  readonly account: string;
  readonly id: string;
}

/** Encrypted, so that a store knows of it only whose it is and how large. */
export interface NewKept extends KeptPlace {
  readonly bytes: Uint8Array;
  readonly nowMs: number;
  /** It is deleted after this time. */
  readonly keepMs: number;
  /**
   * What the account's responses and conversations may be together, with VALUE_OVERHEAD_BYTES for each. Its oldest
   * responses make room, and then its oldest conversations.
   */
  readonly maxBytes: number;
  /** The first bytes of what it takes the place of, as they were read. Absent: of whatever has the id. */
  readonly replaces?: Uint8Array | undefined;
}

/** How many first bytes tell one value from all others: they are encrypted with a random salt, which these begin with. */
export const HEAD_BYTES = 24;

/** The most that one put deletes to make room. What remains is for the next ones to delete. */
export const MOST_DROPPED = 100;

/** What a value takes beside its bytes, rounded up: its id and times, its places in indexes, and parts of pages. */
export const VALUE_OVERHEAD_BYTES = 1024;

/**
 * Why there is no room: it is larger than the account's bytes, these are used up, or those of all accounts. Of what is
 * used up, each put makes some room.
 */
export type NoRoom = 'TooLarge' | 'AccountFull' | 'StoreFull';

/** Why it is not kept; what had the id stays. `Changed`: that is no longer what it replaces. */
export type NotPut = NoRoom | 'Changed';

/** Each method rejects with LedgerUnavailable where the store does not answer. */
export interface KeptStore {
  /** Undefined: it is kept. */
  put(kept: NewKept): Promise<NotPut | undefined>;
  /** How many bytes it has; undefined: there is none. */
  sizeOf(place: KeptPlace, nowMs: number): Promise<number | undefined>;
  get(place: KeptPlace, nowMs: number): Promise<Uint8Array | undefined>;
  /** False: there was none. */
  delete(place: KeptPlace, nowMs: number): Promise<boolean>;
  close(): Promise<void>;
}

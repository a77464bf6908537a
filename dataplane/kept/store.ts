/** Where the gateway keeps responses: a file beside the ledger's, or the Valkey that proxies share. */

/** A response of an account, by its id. */
export interface ResponsePlace {
  /** "namespace/name" */
  readonly account: string;
  readonly id: string;
}

/** Encrypted, so that a store knows of it only whose it is and how large. */
export interface NewResponse extends ResponsePlace {
  readonly bytes: Uint8Array;
  readonly nowMs: number;
  /** It is deleted after this time. */
  readonly keepMs: number;
  /** What the account's responses may be together: its oldest ones make room. */
  readonly maxBytes: number;
}

/** The most responses that one put deletes to make room. What remains is for the next ones to delete. */
export const MOST_DROPPED = 100;

/** Why there is no room: the account's bytes, or those of all accounts, are used up. */
export type NoRoom = 'AccountFull' | 'StoreFull';

/** Each method rejects with LedgerUnavailable where the store does not answer. */
export interface ResponseStore {
  /** Undefined: it is kept. */
  put(response: NewResponse): Promise<NoRoom | undefined>;
  /** How many bytes it has; undefined: there is none. */
  sizeOf(place: ResponsePlace, nowMs: number): Promise<number | undefined>;
  get(place: ResponsePlace, nowMs: number): Promise<Uint8Array | undefined>;
  /** False: there was none. */
  delete(place: ResponsePlace, nowMs: number): Promise<boolean>;
  close(): Promise<void>;
}

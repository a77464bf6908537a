/** What the gateway keeps for accounts, encrypted with a key of each. */
import type { Clock } from '../clock.ts';
import { createAccountBox } from '../sealing/account-box.ts';
import type { AccountBox } from '../sealing/account-box.ts';
import { HEAD_BYTES } from './store.ts';
import type { KeptPlace, KeptStore, NoRoom } from './store.ts';

export interface KeepingOptions {
  readonly store: KeptStore;
  readonly days: number;
  /** What the responses and conversations of one account may be together. */
  readonly maxBytes: number;
}

/** The gateway's sealing keys, of which the first encrypts. */
export type Keys = readonly Uint8Array[];

/** The memory that reading takes, in multiples of the size: it is held encrypted, decrypted and as a part of a body. */
export const READING_FACTOR = 4;
/** How often a value is put where earlier ones did not make enough room for it. */
const MAX_PUTS = 50;
const DAY_MS = 86_400_000;

/** There is no place for a value. */
export class NotKept extends Error {
  override readonly name = 'NotKept';
}

const NO_ROOM: Readonly<Record<NoRoom, string>> = {
  TooLarge: "it is larger than the account's bytes",
  AccountFull: "the account's bytes are used up",
  StoreFull: 'the store of responses has no more room',
};

export interface ReadValue {
  readonly plain: Buffer;
  /** Distinguishes the value from later ones with the same id. */
  readonly head: Uint8Array;
}

/** What a read needs. */
export interface Reading {
  readonly keys: Keys;
  /** Called before the read with the memory that it takes; may throw. */
  readonly hold: (bytes: number) => void;
}

interface Writing {
  readonly keys: Keys;
  /** The head of the value to replace; undefined: replace any value with the id. */
  readonly replaces?: Uint8Array | undefined;
}

/** Each method rejects with LedgerUnavailable where the store does not answer. */
export class KeptValues {
  readonly #options: KeepingOptions;
  readonly #clock: Pick<Clock, 'nowMs'>;

  constructor(options: KeepingOptions, clock: Pick<Clock, 'nowMs'>) {
    this.#options = options;
    this.#clock = clock;
  }

  /**
   * Resolves with false, without storing the value, if what it replaces has changed. Rejects with NotKept if there is no
   * room.
   */
  async put(place: KeptPlace, plain: Uint8Array, { keys, replaces }: Writing): Promise<boolean> {
    const { store, days, maxBytes } = this.#options;
    const bytes = boxOf(place, keys).close(place.id, plain);
    const kept = { ...place, bytes, keepMs: days * DAY_MS, maxBytes, replaces };
    for (let puts = 1; ; puts++) {
      const refusal = await store.put({ ...kept, nowMs: this.#clock.nowMs() });
      if (!refusal) return true;
      if (refusal === 'Changed') return false;
      if (refusal === 'TooLarge' || puts === MAX_PUTS) throw new NotKept(NO_ROOM[refusal]);
    }
  }

  /** Undefined: the account has none with this id. */
  async read(place: KeptPlace, { keys, hold }: Reading): Promise<ReadValue | undefined> {
    const { store } = this.#options;
    const nowMs = this.#clock.nowMs();
    const size = await store.sizeOf(place, nowMs);
    if (size === undefined) return undefined;
    hold(size * READING_FACTOR);
    const bytes = await store.get(place, nowMs);
    const plain = bytes && boxOf(place, keys).open(place.id, bytes);
    return plain && { plain, head: Buffer.from(bytes.subarray(0, HEAD_BYTES)) };
  }

  /** False: there was none. */
  delete(place: KeptPlace): Promise<boolean> {
    return this.#options.store.delete(place, this.#clock.nowMs());
  }

  close(): Promise<void> {
    return this.#options.store.close();
  }
}

function boxOf({ account }: KeptPlace, keys: Keys): AccountBox {
  return createAccountBox(keys, account);
}

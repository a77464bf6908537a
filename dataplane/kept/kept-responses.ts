/**
 * Responses that the gateway keeps for accounts, encrypted with a key of each: those of models whose provider keeps
 * none. A response is kept with the whole input that it answers, so that one read continues it.
 */
import type { Clock } from '../clock.ts';
import { createAccountBox } from '../sealing/account-box.ts';
import type { AccountBox } from '../sealing/account-box.ts';
import type { NoRoom, ResponsePlace, ResponseStore } from './store.ts';

/** What is kept of a response. */
export interface KeptResponse {
  /** As the client named it. */
  readonly model: string;
  /** The items that it answers, with those of the responses that it continues: an array, as JSON. */
  readonly input: Uint8Array;
  /** The response as the client has it, as JSON. */
  readonly response: Uint8Array;
}

export interface KeepingOptions {
  readonly store: ResponseStore;
  readonly days: number;
  /** What the responses of one account may be together. */
  readonly maxBytes: number;
}

/** A larger response is not kept, its input included. */
export const MAX_KEPT_BYTES = 4 * 2 ** 20;
/** The memory that reading a response takes, in multiples of its size: it is held encrypted, decrypted and as input. */
export const READING_FACTOR = 4;
const DAY_MS = 86_400_000;
const HEAD_END = 0x0a;

/** There is no place for a response. */
export class NotKept extends Error {
  override readonly name = 'NotKept';
}

const TOO_LARGE = `with its input it is larger than ${MAX_KEPT_BYTES / 2 ** 20} MiB`;
const NO_ROOM: Readonly<Record<NoRoom, string>> = {
  AccountFull: "the account's bytes are used up",
  StoreFull: 'the store of responses has no more room',
};

type Keys = readonly Uint8Array[];

export class KeptResponses {
  readonly #options: KeepingOptions;
  readonly #clock: Pick<Clock, 'nowMs'>;

  constructor(options: KeepingOptions, clock: Pick<Clock, 'nowMs'>) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Rejects with NotKept where it is too large or there is no room, and with LedgerUnavailable. */
  async keep(place: ResponsePlace, kept: KeptResponse, keys: Keys): Promise<void> {
    if (kept.input.length + kept.response.length > MAX_KEPT_BYTES) throw new NotKept(TOO_LARGE);
    const { store, days, maxBytes } = this.#options;
    const bytes = boxOf(place, keys).close(place.id, pack(kept));
    const noRoom = await store.put({ ...place, bytes, nowMs: this.#clock.nowMs(), keepMs: days * DAY_MS, maxBytes });
    if (noRoom) throw new NotKept(NO_ROOM[noRoom]);
  }

  /**
   * Undefined: the account has none with this id. `hold` is given the memory that reading it takes, before it is read,
   * and may throw. Rejects with LedgerUnavailable.
   */
  async read(place: ResponsePlace, keys: Keys, hold: (bytes: number) => void): Promise<KeptResponse | undefined> {
    const { store } = this.#options;
    const nowMs = this.#clock.nowMs();
    const size = await store.sizeOf(place, nowMs);
    if (size === undefined) return undefined;
    hold(size * READING_FACTOR);
    const bytes = await store.get(place, nowMs);
    const plain = bytes && boxOf(place, keys).open(place.id, bytes);
    return plain && unpack(plain);
  }

  /** False: there was none. Rejects with LedgerUnavailable. */
  delete(place: ResponsePlace): Promise<boolean> {
    return this.#options.store.delete(place, this.#clock.nowMs());
  }

  close(): Promise<void> {
    return this.#options.store.close();
  }
}

function boxOf({ account }: ResponsePlace, keys: Keys): AccountBox {
  return createAccountBox(keys, account);
}

/** A line of JSON, and then the two texts. */
function pack({ model, input, response }: KeptResponse): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify([model, input.length])}\n`), input, response]);
}

function unpack(bytes: Buffer): KeptResponse {
  const end = bytes.indexOf(HEAD_END);
  const head: unknown = JSON.parse(bytes.toString('utf8', 0, end));
  const [model, length]: readonly unknown[] = Array.isArray(head) ? head : [];
  const middle = end + 1 + Number(length);
  return { model: String(model), input: bytes.subarray(end + 1, middle), response: bytes.subarray(middle) };
}

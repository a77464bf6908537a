/**
 * Responses that the gateway keeps for accounts: those of models whose provider keeps none. A response is kept with the
 * whole input that it answers, so that one read continues it.
 */
import type { Clock } from '../clock.ts';
import { KeptConversations } from './kept-conversations.ts';
import { KeptValues, NotKept } from './kept-values.ts';
import type { KeepingOptions, Keys } from './kept-values.ts';
import type { KeptPlace } from './store.ts';

/** What is kept of a response. */
export interface KeptResponse {
  /** As the client named it. */
  readonly model: string;
  /** The items that it answers, with those of the responses that it continues: an array, as JSON. */
  readonly input: Uint8Array;
  /** The response as the client has it, as JSON. */
  readonly response: Uint8Array;
}

/** A larger response is not kept, its input included. */
export const MAX_KEPT_BYTES = 4 * 2 ** 20;
const HEAD_END = 0x0a;
const TOO_LARGE = `with its input it is larger than ${MAX_KEPT_BYTES / 2 ** 20} MiB`;

export class KeptResponses {
  readonly #values: KeptValues;
  /** They are in the same store, and share the account's bytes. */
  readonly conversations: KeptConversations;

  constructor(options: KeepingOptions, clock: Pick<Clock, 'nowMs'>) {
    this.#values = new KeptValues(options, clock);
    this.conversations = new KeptConversations(this.#values);
  }

  /** Rejects with NotKept where it is too large or there is no room, and with LedgerUnavailable. */
  async keep(place: KeptPlace, kept: KeptResponse, keys: Keys): Promise<void> {
    if (kept.input.length + kept.response.length > MAX_KEPT_BYTES) throw new NotKept(TOO_LARGE);
    await this.#values.put(place, pack(kept), { keys });
  }

  /**
   * Undefined: the account has none with this id. `hold` is given the memory that reading it takes, before it is read,
   * and may throw. Rejects with LedgerUnavailable.
   */
  async read(place: KeptPlace, keys: Keys, hold: (bytes: number) => void): Promise<KeptResponse | undefined> {
    const found = await this.#values.read(place, { keys, hold });
    return found && unpack(found.plain);
  }

  /** False: there was none. Rejects with LedgerUnavailable. */
  delete(place: KeptPlace): Promise<boolean> {
    return this.#values.delete(place);
  }

  close(): Promise<void> {
    return this.#values.close();
  }
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

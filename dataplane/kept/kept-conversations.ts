/**
 * Conversations that the gateway keeps for accounts, for models of every provider. Calls that change the same one come
 * one after the other: a change is written only over what it was made from, and is otherwise made anew.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createTurns } from '../turns.ts';
import { NotKept } from './kept-values.ts';
import type { Keys, KeptValues, Reading } from './kept-values.ts';
import type { KeptPlace } from './store.ts';

/** A conversation of this size takes no more items and starts no more calls. */
export const MAX_CONVERSATION_BYTES = 4 * 2 ** 20;
/** What a call has begun within that size, its output included, is still added up to this one. */
export const MAX_GROWN_BYTES = 3 * MAX_CONVERSATION_BYTES;

/** Changes by other processes come in between, one of which succeeds each time. */
const MAX_TRIES = 50;
const MAX_WAIT_MS = 40;

/** What a change makes of a conversation, and what else comes of it. */
export interface Changed<Result> {
  readonly conversation: Uint8Array;
  readonly result: Result;
}

/** Each method rejects with LedgerUnavailable where the store does not answer. Conversations are JSON. */
export class KeptConversations {
  readonly #values: Pick<KeptValues, 'put' | 'read' | 'delete'>;
  /** Of this process, by conversation. */
  readonly #turns = createTurns(Number.POSITIVE_INFINITY);

  constructor(values: Pick<KeptValues, 'put' | 'read' | 'delete'>) {
    this.#values = values;
  }

  /** Rejects with NotKept where there is no room. */
  async create(place: KeptPlace, conversation: Uint8Array, keys: Keys): Promise<void> {
    await this.#values.put(place, conversation, { keys });
  }

  /** Undefined: the account has none with this id. */
  async read(place: KeptPlace, reading: Reading): Promise<Buffer | undefined> {
    return (await this.#values.read(place, reading))?.plain;
  }

  /**
   * Changes a conversation as a whole; `change` may run several times. Undefined: the account has none with this id.
   * Rejects as `change` does, and with NotKept where there is no room.
   */
  async change<Result>(
    place: KeptPlace,
    reading: Reading,
    change: (conversation: Buffer) => Promise<Changed<Result>>,
  ): Promise<Result | undefined> {
    const end = await this.#turns.take(`${place.account}\n${place.id}`);
    try {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        if (tries > 0) await sleep(Math.random() * MAX_WAIT_MS);
        const found = await this.#values.read(place, reading);
        if (!found) return undefined;
        const { conversation, result } = await change(found.plain);
        const writing = { keys: reading.keys, replaces: found.head };
        if (await this.#values.put(place, conversation, writing)) return result;
      }
      throw new NotKept('other calls changed the conversation all the while');
    } finally {
      end();
    }
  }

  /** False: there was none. */
  delete(place: KeptPlace): Promise<boolean> {
    return this.#values.delete(place);
  }
}

/**
 * [P] Names the events of a session that may fail with ids of the gateway's own, so that a provider's error about one
 * names no other, whatever ids the client chooses; and finds the client's ids again.
 */
import { GatewayError } from '../../errors.ts';

/** How the gateway's ids begin. */
const OWN_ID = 'mgw_';
/** As long as ids of OpenAI's events may be. */
const MAX_ID_LENGTH = 512;
/** Errors about older events name no event to the client. */
const MAX_KEPT = 256;

export class EventIds {
  readonly #given = new Map<string, string | undefined>();
  #count = 0;

  /** Refuses an id of a client that could be the gateway's, or is too long. */
  check(clientId: string | undefined): void {
    if (clientId === undefined) return;
    if (clientId.startsWith(OWN_ID)) throw wrongId(`Ids that begin with "${OWN_ID}" are the gateway's own.`);
    if (clientId.length > MAX_ID_LENGTH) throw wrongId(`An id has at most ${MAX_ID_LENGTH} characters.`);
  }

  /** Returns a new id of the gateway for an event that has this one from its client. */
  give(clientId: string | undefined): string {
    const id = `${OWN_ID}${++this.#count}`;
    this.#given.set(id, clientId);
    const [oldest] = this.#given.keys();
    if (this.#given.size > MAX_KEPT && oldest !== undefined) this.#given.delete(oldest);
    return id;
  }

  isOwn(id: string): boolean {
    return id.startsWith(OWN_ID);
  }

  /** The client's id of an event; undefined: the client gave it none. */
  clientIdOf(id: string): string | undefined {
    return this.#given.get(id);
  }
}

function wrongId(message: string): GatewayError {
  return new GatewayError('invalid_request', message, { param: 'event_id' });
}

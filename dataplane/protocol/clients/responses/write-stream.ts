/**
 * Writes the events of a stream. A stream ends with exactly one of completed, incomplete and failed, which hold the
 * whole response.
 */
import type { ProviderError, StreamFailure } from '../../converter.ts';
import type { ConversationEvent } from '../../conversation/events.ts';
import { failResponse } from '../../stream-errors.ts';
import type { StreamWriteContext, StreamWriter } from '../client.ts';
import { EventWriter } from './event-writer.ts';
import { idSuffix, writeBody } from './response-body.ts';
import type { ResponseBody } from './response-body.ts';
import { ItemsWriter } from './write-items.ts';

/** A comment, which clients ignore. */
const KEEP_ALIVE = ': ping\n\n';

export class EventStreamWriter implements StreamWriter {
  readonly #context: StreamWriteContext;
  readonly #events = new EventWriter();
  readonly #items: ItemsWriter;
  /** Undefined: nothing has been written. */
  #model: string | undefined;

  constructor(context: StreamWriteContext) {
    this.#context = context;
    const { id, notes, seal } = context;
    this.#items = new ItemsWriter({ events: this.#events, idSuffix: idSuffix(id), notes, seal });
  }

  write(event: ConversationEvent): string {
    switch (event.type) {
      case 'ping':
        return KEEP_ALIVE;
      case 'start':
        return this.#opening(event.model);
      // it ends the stream
      case 'error':
        return '';
      default:
        return this.#opening(undefined) + this.#items.write(event);
    }
  }

  end(): string {
    const rest = this.#opening(undefined) + this.#items.close();
    const { incomplete } = this.#items;
    return rest + this.#last({ status: incomplete === undefined ? 'completed' : 'incomplete', incomplete });
  }

  readonly fail = (given: ProviderError): { readonly error: ProviderError; readonly last: string } => {
    const { error, failure } = failResponse(given);
    return { error, last: this.failure(failure) };
  };

  /** Items that are not done are left out. */
  readonly failure = ({ code, message }: StreamFailure): string =>
    this.#opening(undefined) + this.#last({ status: 'failed', error: { code, message } });

  /** The first two events; empty after the first call. */
  #opening(given: string | undefined): string {
    if (this.#model !== undefined) return '';
    this.#model = given ?? this.#context.model;
    const response = this.#response({ status: 'in_progress' });
    return this.#events.write('response.created', response) + this.#events.write('response.in_progress', response);
  }

  #last(end: Pick<ResponseBody, 'status' | 'incomplete' | 'error'>): string {
    return this.#events.write(`response.${end.status}`, this.#response(end));
  }

  #response(state: Pick<ResponseBody, 'status' | 'incomplete' | 'error'>): string {
    const { model, usage } = this.#context;
    const body = { ...state, model: this.#model ?? model, output: this.#items.json, usage: usage() };
    return `"response":${writeBody(this.#context, body)}`;
  }
}

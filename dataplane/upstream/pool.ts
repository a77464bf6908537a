/**
 * A channel's connections: as many of undici's clients as there are requests in flight, each with one connection and one request at
 * a time. The one that was free last is taken first, so that those which are not needed fall idle and are closed. undici's own pool
 * looks for a free client from the first one on, twice for each request.
 *
 * After an answer a connection rests until the system has been asked for what else has come: a provider that closes it says so then.
 *
 * The client alone, without the rest of undici (fetch, WebSocket, caches), which would be loaded with it and takes as long again.
 */
import { createRequire } from 'node:module';
import type { Client, Dispatcher } from 'undici';
import type { Exchange } from './exchange.ts';

const UndiciClient: typeof Client = createRequire(import.meta.url)('undici/lib/dispatcher/client.js');

export class UpstreamPool {
  readonly #origin: string;
  readonly #options: Client.Options;
  readonly #clients: Client[] = [];
  readonly #free: Client[] = [];
  #resting: Client[] = [];

  constructor(origin: string, options: Client.Options) {
    this.#origin = origin;
    this.#options = options;
  }

  /** Clients, at work or not: as many as there ever were requests in flight. */
  get size(): number {
    return this.#clients.length;
  }

  /** The exchange is told of everything, failures included. */
  dispatch(request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    const client = this.#free.pop() ?? this.#open();
    exchange.onEnd = () => this.#rest(client);
    client.dispatch(request, exchange);
  }

  /** Resolves when the requests in flight are over and all connections are closed. No request may follow. */
  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  #rest(client: Client): void {
    if (this.#resting.push(client) === 1) setImmediate(this.#rested);
  }

  readonly #rested = (): void => {
    for (const client of this.#resting) this.#free.push(client);
    this.#resting = [];
  };

  #open(): Client {
    const client = new UndiciClient(this.#origin, this.#options);
    this.#clients.push(client);
    return client;
  }
}

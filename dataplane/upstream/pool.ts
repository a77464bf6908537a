/**
 * A channel's connections: as many of undici's clients as there are requests in flight, each with one connection and one request at
 * a time. The one that was free last is taken first, so that those which are not needed fall idle; after a while they are given up,
 * whether their providers closed them or not. undici's own pool looks for a free client from the first one on, twice for each request.
 *
 * After an answer a connection rests until the system has been asked for what else has come: a provider that closes it says so then.
 *
 * The client alone, without the rest of undici (fetch, WebSocket, caches), which would be loaded with it and takes as long again.
 */
import { createRequire } from 'node:module';
import type { Client, Dispatcher } from 'undici';
import type { Exchange } from './exchange.ts';
import { NOWHERE, TimeLimits } from './time-limits.ts';
import type { Limited } from './time-limits.ts';

const require = createRequire(import.meta.url);
const UndiciClient: typeof Client = require('undici/lib/dispatcher/client.js');
const symbols: { readonly kKeepAliveTimeoutValue: symbol } = require('undici/lib/core/symbols.js');

/**
 * A client gets one request at a time. Told so, undici would itself wait for a turn of the event loop after each answer, besides the
 * pool.
 */
const UNUSED_PIPELINING = 2;

/** Idle connections keep nobody. */
const IDLE = new TimeLimits({ keepsProcess: false });

/** Whose idle time the pool ends, one timer for all: undici itself would set one and clear it with each request. */
class PooledClient extends UndiciClient implements Limited {
  static {
    // undici asks how long to wait with closing an idle connection; 0: for ever. What it says it is the default, or the provider's wish
    Object.defineProperty(this.prototype, symbols.kKeepAliveTimeoutValue, {
      get: () => 0,
      set(this: PooledClient, ms: number) { this.idleMs = ms; },
    });
  }

  /** So long it may be idle; said by undici, already while it is constructed. */
  declare idleMs: number;
  dueMs = 0;
  place = NOWHERE;
  readonly #pool: UpstreamPool;

  constructor(pool: UpstreamPool, origin: URL, options: Client.Options) {
    super(origin, options);
    this.#pool = pool;
  }

  /** For the exchange that has it. */
  readonly rest = (): void => this.#pool.rest(this);

  /** It was idle for too long. */
  expire(): void {
    this.#pool.giveUp(this);
  }
}

export class UpstreamPool {
  readonly #origin: URL;
  readonly #options: Client.Options;
  readonly #clients = new Set<PooledClient>();
  readonly #free: PooledClient[] = [];
  #resting: PooledClient[] = [];
  #isClosed = false;

  constructor(origin: string, options: Client.Options) {
    this.#origin = readOften(new URL(origin));
    this.#options = { ...options, pipelining: UNUSED_PIPELINING };
  }

  /** Clients, at work or idle. */
  get size(): number {
    return this.#clients.size;
  }

  /** The exchange is told of everything, failures included. */
  dispatch(request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    const client = this.#free.pop() ?? this.#open();
    IDLE.clear(client);
    exchange.onEnd = client.rest;
    client.dispatch(request, exchange);
  }

  /** Resolves when the requests in flight are over and all connections are closed. No request may follow. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const client of this.#free.splice(0)) IDLE.clear(client);
    await Promise.all(Array.from(this.#clients, (client) => client.close()));
  }

  /** For a client whose request is over. */
  rest(client: PooledClient): void {
    if (this.#resting.push(client) === 1) setImmediate(this.#rested);
  }

  readonly #rested = (): void => {
    const rested = this.#resting;
    this.#resting = [];
    if (this.#isClosed) return;
    for (const client of rested) {
      this.#free.push(client);
      IDLE.set(client, client.idleMs);
    }
  };

  /** For a client that is free, and was for long. */
  giveUp(client: PooledClient): void {
    this.#free.splice(this.#free.indexOf(client), 1);
    this.#clients.delete(client);
    client.destroy(null, () => undefined);
  }

  #open(): PooledClient {
    const client = new PooledClient(this, this.#origin, this.#options);
    this.#clients.add(client);
    return client;
  }
}

/** undici asks for both with each request, and a URL makes a new text each time. */
function readOften(url: URL): URL {
  const { origin, protocol } = url;
  return Object.defineProperties(url, { origin: { value: origin }, protocol: { value: protocol } });
}

/**
 * A channel's connections: as many of undici's clients as there are requests in flight, each with one connection and one request at
 * a time. The one that was free last is taken first, so that those which are not needed fall idle; after a while they are given up,
 * whether their providers closed them or not. undici's own pool looks for a free client from the first one on, twice for each request.
 *
 * After an answer a client is free as a step of the turn, so that the requests of that turn find it. A connection that was used is
 * written to when the system has been asked once more for what has come: a provider that has closed it, or said something unasked,
 * is heard then. undici waits so, too, with each request by itself; here all requests of a turn wait together.
 *
 * The client alone, without the rest of undici (fetch, WebSocket, caches), which would be loaded with it and takes as long again.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { Client, Dispatcher } from 'undici';
import { NOWHERE, TimeLimits } from '../time-limits.ts';
import type { Limited } from '../time-limits.ts';
import { withAnswers } from '../turn.ts';
import type { Exchange } from './exchange.ts';

const require = createRequire(import.meta.url);
const UndiciClient: typeof Client = require('undici/lib/dispatcher/client.js');
const symbols: { readonly kKeepAliveTimeoutValue: symbol; readonly kNeedDrain: symbol; readonly kSocket: unique symbol } = require('undici/lib/core/symbols.js');

/** A client gets one request at a time. Told so, undici would wait for a turn of the event loop after each answer, besides the one before each request. */
const UNUSED_PIPELINING = 2;

/** undici's mark on a connection that was used: a symbol of its own, found by its name. Without it undici waits once more, by itself. */
const USED = 'kSocketUsed';
let usedMark: symbol | undefined;

/** Tells undici that what has come over a connection since its last answer was heard. */
function hear(socket: Socket): void {
  usedMark ??= Object.getOwnPropertySymbols(socket).find(({ description }) => description === USED);
  if (usedMark) Reflect.set(socket, usedMark, false);
}

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
    // undici notes that it is busy, to tell when it could take more: nobody listens, as a client gets one request at a time
    Object.defineProperty(this.prototype, symbols.kNeedDrain, { get: () => 0, set() { /* not noted */ } });
  }

  /** So long it may be idle; said by undici, already while it is constructed. */
  declare idleMs: number;
  /** Undefined: it is not connected. */
  declare readonly [symbols.kSocket]: Socket | undefined;
  dueMs = 0;
  place = NOWHERE;
  readonly #pool: UpstreamPool;

  constructor(pool: UpstreamPool, origin: URL, options: Client.Options) {
    super(origin, options);
    this.#pool = pool;
  }

  /** For the exchange that has it. */
  readonly rest = (): void => this.#pool.rest(this);

  /** Its connection has been listened to since its last answer. */
  hear(): void {
    const socket = this[symbols.kSocket];
    if (socket) hear(socket);
  }

  /** Sends it as soon as it can; the exchange gives the client back. */
  take(request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    exchange.onEnd = this.rest;
    this.dispatch(request, exchange);
  }

  /** It was idle for too long. */
  expire(): void {
    this.#pool.giveUp(this);
  }
}

interface Waiting {
  readonly client: PooledClient;
  readonly request: Dispatcher.DispatchOptions;
  readonly exchange: Exchange;
}

export class UpstreamPool {
  readonly #origin: URL;
  readonly #options: Client.Options;
  readonly #clients = new Set<PooledClient>();
  readonly #free: PooledClient[] = [];
  /** Those that wait together; undefined: who comes next waits anew. */
  #waiting: Waiting[] | undefined;
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
    const client = this.#free.pop();
    if (!client) return this.#open().take(request, exchange);
    IDLE.clear(client);
    this.#waiting ??= this.#startWaiting();
    this.#waiting.push({ client, request, exchange });
  }

  #startWaiting(): Waiting[] {
    const waiting: Waiting[] = [];
    setImmediate(() => {
      if (this.#waiting === waiting) this.#waiting = undefined;
      for (const { client, request, exchange } of waiting) {
        client.hear();
        // given up meanwhile: its connection is as good as before
        if (exchange.over) this.rest(client);
        else client.take(request, exchange);
      }
    });
    return waiting;
  }

  /** Resolves when the requests in flight are over and all connections are closed. No request may follow. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const client of this.#free.splice(0)) IDLE.clear(client);
    // those that wait are written first
    await turn();
    await Promise.all(Array.from(this.#clients, (client) => client.close()));
  }

  /** For a client whose request is over. */
  rest(client: PooledClient): void {
    if (this.#resting.push(client) === 1) withAnswers(this.#rested);
  }

  readonly #rested = (): void => {
    const rested = this.#resting;
    this.#resting = [];
    if (this.#isClosed) return;
    // who waits already may be written to in this very turn, these not before the next
    this.#waiting = undefined;
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

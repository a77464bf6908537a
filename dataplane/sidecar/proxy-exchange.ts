/**
 * One attempt to forward a request to the fleet and the response back to the app: undici's dispatch handler. Bytes are
 * written to the app as they come, and an app that reads slowly pauses the connection to the fleet.
 *
 * Order: onRequestStart (there is a connection) → onResponseStart (headers) → onResponseData* → onResponseEnd, or
 * onResponseError at any point. If the app leaves, the connection to the fleet is closed; if the fleet's response
 * breaks
 * off, the app's connection is closed.
 */
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { appResponseHeaders } from './headers.ts';
import type { AnswerHeaders } from './headers.ts';

/**
 * NoConnection: nothing was sent. Broken: something may have been sent, and no response came. Cut: the response broke
 * off. Left: the app closed its connection first.
 */
export type ExchangeOutcome =
  { readonly kind: 'Answered' | 'Left' } | { readonly kind: 'NoConnection' | 'Broken' | 'Cut'; readonly error: Error };

export interface ProxyExchangeOptions {
  readonly response: ServerResponse;
  /** Aborts when the app leaves. */
  readonly signal: AbortSignal;
  /** Called with the response's headers. */
  readonly onHead: () => void;
  readonly onBytes: (bytes: number) => void;
  /** Relays an upgraded connection, whose head has been sent, to its end. Absent if no upgrade was asked for. */
  readonly relay?: ((fleet: Duplex) => Promise<ExchangeOutcome>) | undefined;
}

type Stage = 'Connecting' | 'Sent' | 'Answer' | 'Upgraded' | 'Over';
type Controller = Dispatcher.DispatchController;

export class ProxyExchange implements Dispatcher.DispatchHandler {
  /** Resolves once, and never rejects. */
  readonly outcome: Promise<ExchangeOutcome>;
  readonly #resolvers = Promise.withResolvers<ExchangeOutcome>();
  readonly #options: ProxyExchangeOptions;
  #stage: Stage = 'Connecting';
  #controller: Controller | undefined;
  #hasTrailers = false;

  constructor(options: ProxyExchangeOptions) {
    this.#options = options;
    this.outcome = this.#resolvers.promise;
    if (options.signal.aborted) this.#onAbort();
    else options.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Controller): void {
    // the app left before there was a connection, so nothing is sent
    if (this.#stage === 'Over') return controller.abort(new Error('the app has left'));
    this.#controller = controller;
    this.#stage = 'Sent';
  }

  onRequestUpgrade(_controller: Controller, status: number, headers: AnswerHeaders, socket: Duplex): void {
    const { response, relay, onHead } = this.#options;
    if (this.#stage !== 'Sent' || !relay) return void socket.destroy();
    this.#stage = 'Upgraded';
    onHead();
    response.writeHead(status, { ...appResponseHeaders(headers, false), connection: 'Upgrade', upgrade: 'websocket' });
    response.flushHeaders();
    void relay(socket).then((outcome) => this.#finish(outcome));
  }

  onResponseStart(controller: Controller, status: number, headers: AnswerHeaders): void {
    if (status < 200 || this.#stage !== 'Sent') return;
    this.#stage = 'Answer';
    this.#options.onHead();
    const { response } = this.#options;
    const head = appResponseHeaders(headers, mayHaveTrailers(response, status, headers));
    this.#hasTrailers = 'trailer' in head;
    response.writeHead(status, head);
    // the first event of a stream may take a while
    response.flushHeaders();
    response.on('drain', () => {
      if (controller.paused) controller.resume();
    });
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#stage !== 'Answer') return;
    this.#options.onBytes(chunk.length);
    if (!this.#options.response.write(chunk)) controller.pause();
  }

  onResponseEnd(_controller: Controller, trailers: AnswerHeaders): void {
    if (this.#stage !== 'Answer') return;
    const { response } = this.#options;
    if (this.#hasTrailers) response.addTrailers(appResponseHeaders(trailers, false));
    response.end();
    this.#finish({ kind: 'Answered' });
  }

  onResponseError(_controller: Controller | null, error: Error): void {
    if (this.#stage === 'Over' || this.#stage === 'Upgraded') return;
    const kind = this.#stage === 'Connecting' ? 'NoConnection' : this.#stage === 'Sent' ? 'Broken' : 'Cut';
    // closes the connection, so that the app does not take the response for complete
    if (kind === 'Cut') this.#options.response.destroy();
    this.#finish({ kind, error });
  }

  readonly #onAbort = (): void => {
    // a relay of an upgraded connection ends by itself
    if (this.#stage === 'Over' || this.#stage === 'Upgraded') return;
    this.#finish({ kind: 'Left' });
    this.#controller?.abort(new Error('the app has left'));
  };

  #finish(outcome: ExchangeOutcome): void {
    this.#stage = 'Over';
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#resolvers.resolve(outcome);
  }
}

/** True if Node will send the response chunked and with a body, so that trailers can follow. */
function mayHaveTrailers({ req }: ServerResponse, status: number, headers: AnswerHeaders): boolean {
  if (headers['content-length'] !== undefined || status === 204 || status === 304) return false;
  return req.httpVersion === '1.1' && req.method !== 'HEAD';
}

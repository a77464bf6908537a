/**
 * The response to one client, on Node's ServerResponse: headers, chunks with back-pressure, end, or an error at any
 * point. It detects that the client has left, and closes the connection of one that has stopped reading.
 */
import type { ServerResponse } from 'node:http';
import type { GatewayError } from '../errors.ts';
import type { ClientReply } from '../pipeline/context.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import { isEventStream } from '../protocol/sse.ts';
import { errorEvent, errorReply, requestIdHeaders } from './reply-error.ts';

/** A stalled client occupies slots and holds money, so its connection is closed after this time. */
const STALLED_CLIENT_MS = 300_000;

export interface ReplyOptions {
  readonly requestId: string;
  /** Of the response's stream. */
  readonly dialect: Dialect;
  /** Of an error in its place; absent: the same. */
  readonly errorDialect?: Dialect;
  /** The connection is closed when its client has read nothing for this long. */
  readonly stalledMs?: number;
}

/**
 * Creates a reply on Node's response. The caller must have hijacked fastify's reply, so that fastify writes nothing.
 */
export function createReply(response: ServerResponse, options: ReplyOptions): ClientReply {
  return new Reply(response, { stalledMs: STALLED_CLIENT_MS, errorDialect: options.dialect, ...options });
}

class Reply implements ClientReply {
  started = false;
  readonly #response: ServerResponse;
  readonly #options: Required<ReplyOptions>;
  #isEventStream = false;
  /** Created on first use, because only streams are aborted when their client leaves. */
  #left: AbortSignal | undefined;

  constructor(response: ServerResponse, options: Required<ReplyOptions>) {
    this.#response = response;
    this.#options = options;
    response.on('error', () => {
      /* 'close' follows */
    });
  }

  /** True if the connection has closed or the response is finished: Node destroys the response in both cases. */
  get gone(): boolean {
    return this.#response.destroyed;
  }

  get left(): AbortSignal {
    return (this.#left ??= leftBeforeEnd(this.#response));
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: Uint8Array): void {
    if (this.gone) return;
    this.#writeHead(status, { ...headers, 'content-length': String(body.length), ...this.#idHeaders() });
    this.#finish(body);
  }

  start(status: number, headers: Readonly<Record<string, string>>): void {
    if (this.gone) return;
    this.#isEventStream = isEventStream(headers['content-type']);
    this.#writeHead(status, { ...headers, ...this.#idHeaders() });
  }

  write(bytes: Uint8Array): Promise<void> | undefined {
    if (this.gone || this.#response.write(bytes)) return undefined;
    return drained(this.#response, this.#options.stalledMs);
  }

  end(last: Uint8Array): void {
    if (!this.gone) this.#finish(last);
  }

  fail(error: GatewayError): number {
    const { dialect, errorDialect, requestId } = this.#options;
    if (!this.started) {
      const { status, headers, body } = errorReply(error, errorDialect, requestId);
      this.send(status, headers, body);
      return status;
    }
    if (this.gone) return this.#response.statusCode;
    if (this.#isEventStream) this.end(errorEvent(error, dialect, requestId));
    else this.#response.destroy(); // closes the connection, so that an incomplete response does not look complete
    return this.#response.statusCode;
  }

  #writeHead(status: number, headers: Readonly<Record<string, string>>): void {
    this.started = true;
    this.#response.writeHead(status, headers);
  }

  #idHeaders(): Record<string, string> {
    return requestIdHeaders(this.#options.requestId);
  }

  #finish(last: Uint8Array): void {
    const response = this.#response;
    response.end(last);
    // the socket's timeout observes the progress of a large chunk; Node resets it when the response is finished
    if (response.writableLength > 0) response.setTimeout(this.#options.stalledMs, () => response.destroy());
  }
}

/** Aborts when the client leaves before the response's end. */
export function leftBeforeEnd(response: ServerResponse): AbortSignal {
  const left = new AbortController();
  const check = (): void => {
    if (!response.writableFinished) left.abort();
  };
  if (response.destroyed) check();
  else response.on('close', check);
  return left.signal;
}

/** Resolves when the client has received what was written, or has left. */
function drained(response: ServerResponse, stalledMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), stalledMs);
    const done = (): void => {
      clearTimeout(timer);
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.once('drain', done);
    response.once('close', done);
  });
}

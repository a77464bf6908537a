/**
 * The way back to one client over node's own response: head, pieces with back-pressure, end; or an error wherever the answer
 * stands. It knows when the client is gone, and gives up one that has stopped reading.
 */
import type { ServerResponse } from 'node:http';
import type { GatewayError } from '../errors.ts';
import type { ClientReply } from '../pipeline/context.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import { errorEvent, errorReply, requestIdHeaders } from './reply-error.ts';

/** A client that takes nothing for so long holds money and slots for nobody. */
const STALLED_CLIENT_MS = 300_000;

export interface ReplyOptions {
  readonly requestId: string;
  readonly dialect: Dialect;
  readonly stalledMs?: number;
}

export function createReply(response: ServerResponse, { requestId, dialect, stalledMs = STALLED_CLIENT_MS }: ReplyOptions): ClientReply {
  /** Made when somebody asks: most calls that do not stream never do, and it is the dearest object of a reply. */
  let left: AbortController | undefined;
  let isCut = false;
  let started = false;
  let isEventStream = false;
  const gone = (): boolean => isCut || response.destroyed;
  response.on('error', () => undefined); // a broken socket shows itself by 'close'
  response.once('close', () => {
    isCut = !response.writableFinished;
    if (isCut) left?.abort();
  });

  const head = (status: number, headers: Readonly<Record<string, string>>): void => {
    started = true;
    response.writeHead(status, { ...headers, ...requestIdHeaders(requestId) });
  };
  const send: ClientReply['send'] = (status, headers, body) => {
    if (gone()) return;
    head(status, { ...headers, 'content-length': String(body.length) });
    finish(response, body, stalledMs);
  };

  return {
    get started() { return started; },
    get gone() { return gone(); },
    get left() {
      left ??= new AbortController();
      if (gone()) left.abort();
      return left.signal;
    },
    send,
    start(status, headers) {
      if (gone()) return;
      isEventStream = (headers['content-type'] ?? '').startsWith('text/event-stream');
      head(status, headers);
    },
    async write(bytes) {
      if (gone() || response.write(bytes)) return;
      await drained(response, stalledMs);
    },
    end(last) {
      if (!gone()) finish(response, last, stalledMs);
    },
    fail(error: GatewayError) {
      if (!started) {
        const { status, headers, body } = errorReply(error, dialect, requestId);
        send(status, headers, body);
        return status;
      }
      if (gone()) return response.statusCode;
      if (isEventStream) finish(response, errorEvent(error, dialect, requestId), stalledMs);
      else response.destroy(); // an answer cut short must not look whole
      return response.statusCode;
    },
  };
}

/** Ends the answer; a client that stops taking what is left of it is given up. */
function finish(response: ServerResponse, last: Uint8Array, stalledMs: number): void {
  response.end(last);
  // the socket's own time-out, which sees how far a large piece has come; a finished answer resets it
  if (response.writableLength > 0) response.setTimeout(stalledMs, () => response.destroy());
}

/** Resolves when the client has taken what was written, or is gone. */
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

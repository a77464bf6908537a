/**
 * The way back to one client over node's own response: head, pieces with back-pressure, end; or an error wherever the answer
 * stands. It knows when the client is gone, and gives up one that has stopped reading.
 */
import { Buffer } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import type { GatewayError } from '../errors.ts';
import type { ClientReply } from '../pipeline/context.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import { isEventStream } from '../protocol/sse.ts';
import { errorEvent, errorReply, REQUEST_ID_HEADERS } from './reply-error.ts';

/** A client that takes nothing for so long holds money and slots for nobody. */
const STALLED_CLIENT_MS = 300_000;

const LINE_END = '\r\n';
/** Of the chunked transfer encoding (RFC 9112, 7.1). */
const LAST_CHUNK = '0\r\n\r\n';
/** Larger pieces are not worth a copy. */
const COPIED_BYTES = 16 * 1024;
/** Up to this length a body is put behind its head. */
const TOGETHER_BYTES = 14 * 1024;

export interface ReplyOptions {
  readonly requestId: string;
  readonly dialect: Dialect;
  readonly stalledMs?: number;
}

export function createReply(response: ServerResponse, { requestId, dialect, stalledMs = STALLED_CLIENT_MS }: ReplyOptions): ClientReply {
  return new Reply(response, { requestId, dialect, stalledMs });
}

/** A class and not closures, as there is one for each call. */
class Reply implements ClientReply {
  started = false;
  readonly #response: ServerResponse;
  readonly #options: Required<ReplyOptions>;
  /** Made when somebody asks: most calls that do not stream never do, and it is the dearest object of a reply. */
  #left: AbortController | undefined;
  #isEventStream = false;
  /** Pieces need the framing of chunked transfer encoding. */
  #chunked = false;

  constructor(response: ServerResponse, options: Required<ReplyOptions>) {
    this.#response = response;
    this.#options = options;
    response.on('error', ignore); // a broken socket shows itself by 'close'
  }

  /** Node destroys an answer whose connection has closed, and one that is finished. */
  get gone(): boolean {
    return this.#response.destroyed;
  }

  get left(): AbortSignal {
    this.#left ??= this.#watchLeaving();
    if (this.gone) this.#left.abort();
    return this.#left.signal;
  }

  #watchLeaving(): AbortController {
    const left = new AbortController();
    const response = this.#response;
    response.once('close', () => { if (!response.writableFinished) left.abort(); });
    return left;
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: Uint8Array): void {
    if (this.gone) return;
    this.#head(status, headers, body.length);
    finish(this.#response, body, this.#options.stalledMs);
  }

  start(status: number, headers: Readonly<Record<string, string>>): void {
    if (this.gone) return;
    const response = this.#response;
    this.#isEventStream = isEventStream(headers['content-type']);
    this.#head(status, headers, undefined);
    // framed here, a piece is one write of one buffer; node makes four of it
    this.#chunked = response.chunkedEncoding;
    response.chunkedEncoding = false;
  }

  /** Names and values by turns: node takes them as they are. */
  #head(status: number, headers: Readonly<Record<string, string>>, contentLength: number | undefined): void {
    this.started = true;
    const list: string[] = [];
    for (const name of Object.keys(headers)) list.push(name, headers[name] ?? '');
    if (contentLength !== undefined) list.push('content-length', String(contentLength));
    const { requestId } = this.#options;
    // an error's own headers have them already
    for (const name of REQUEST_ID_HEADERS) if (headers[name] === undefined) list.push(name, requestId);
    this.#response.writeHead(status, list);
  }

  write(bytes: Uint8Array): Promise<void> | undefined {
    const response = this.#response;
    if (this.gone || (this.#chunked ? writeChunk(response, bytes) : response.write(bytes))) return undefined;
    return drained(response, this.#options.stalledMs);
  }

  end(last: Uint8Array): void {
    if (!this.gone) finish(this.#response, this.#chunked ? lastChunk(last) : last, this.#options.stalledMs);
  }

  fail(error: GatewayError): number {
    const { dialect, requestId } = this.#options;
    if (!this.started) {
      const { status, headers, body } = errorReply(error, dialect, requestId);
      this.send(status, headers, body);
      return status;
    }
    if (this.gone) return this.#response.statusCode;
    if (this.#isEventStream) this.end(errorEvent(error, dialect, requestId));
    else this.#response.destroy(); // an answer cut short must not look whole
    return this.#response.statusCode;
  }
}

function ignore(): void { /* told elsewhere */ }

/** Whether more may be written. A piece of no bytes would end the answer. */
function writeChunk(response: ServerResponse, bytes: Uint8Array): boolean {
  if (bytes.length === 0) return true;
  if (bytes.length <= COPIED_BYTES) return response.write(chunkOf(bytes, ''));
  response.write(chunkSize(bytes), 'latin1');
  response.write(bytes);
  return response.write(LINE_END);
}

/** The last chunk of an answer, and the end of its encoding. */
function lastChunk(bytes: Uint8Array): Uint8Array {
  return bytes.length === 0 ? Buffer.from(LAST_CHUNK) : chunkOf(bytes, LAST_CHUNK);
}

function chunkOf(bytes: Uint8Array, after: string): Buffer {
  const size = chunkSize(bytes);
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + LINE_END.length + after.length);
  const at = chunk.write(size, 'latin1');
  chunk.set(bytes, at);
  chunk.write(LINE_END + after, at + bytes.length, 'latin1');
  return chunk;
}

function chunkSize(bytes: Uint8Array): string {
  return bytes.length.toString(16) + LINE_END;
}

/** Ends the answer; a client that stops taking what is left of it is given up. */
function finish(response: ServerResponse, last: Uint8Array, stalledMs: number): void {
  // a text is written together with the head, byte for byte a character; bytes would be a second piece, and node's way with two is dear
  if (last.length > TOGETHER_BYTES) response.end(last);
  else response.end(Buffer.from(last.buffer, last.byteOffset, last.byteLength).toString('latin1'), 'latin1');
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

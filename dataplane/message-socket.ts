/**
 * A WebSocket whose messages are read one after the other: nothing more is received while a message waits for its reader,
 * and a send resolves when there is room for another. So a slow end slows down the other one, and memory is bounded.
 */
import { Buffer } from 'node:buffer';
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';

/** How a socket is closed. */
export interface Close {
  readonly code: number;
  readonly reason: string;
}

/** How a socket was closed. 1006: without a closing handshake. */
export interface Closed extends Close {
  /** Whether this end closed it, because the other one sent a message that is larger than the socket's limit. */
  readonly receivedTooBig: boolean;
}

export interface MessageSocket {
  /** Each message, until the socket is closed. May be called once. */
  messages(): AsyncIterableIterator<Uint8Array>;
  /** Resolves when more may be sent, or the socket is closed. Never rejects. */
  send(message: Uint8Array): Promise<void>;
  /** Undefined while the socket is open. */
  readonly closed: Closed | undefined;
  /** Closes an open socket, once what was sent is written. Codes that no end may send become 1011. */
  close(code: number, reason: string): void;
}

/** What waits to be written before a sender waits. */
const MAX_UNSENT_BYTES = 256 * 1024;
/** An end that does not respond to a ping until the next one is gone. */
const PING_MS = 30_000;
/** WebSockets close with reasons of at most 123 bytes. */
const MAX_REASON_BYTES = 123;
/** Received bytes are counted in such units. */
const HELD_UNIT_BYTES = 64 * 1024;
const ABNORMAL = 1006;
const TOO_BIG = 1009;
const INTERNAL_ERROR = 1011;
const TRY_LATER = 1013;
const CLOSING_MS = 1_000;

/** Where the bytes of messages that are not whole come from, and who counts them. */
export interface Received {
  readonly socket: Duplex;
  /** Sets how many bytes are held: 0 once the connection is closed. Throws if there is no room for them. */
  readonly hold: (bytes: number) => void;
}

/** Reads and writes a WebSocket that is open. Nothing else may listen to its messages. */
export function openMessageSocket(socket: WebSocket, received?: Received): MessageSocket {
  return new WsMessageSocket(socket, received);
}

class WsMessageSocket implements MessageSocket {
  readonly #socket: WebSocket;
  readonly #waiting: Uint8Array[] = [];
  #wake: (() => void) | undefined;
  #isAlive = true;
  /** Bytes since the latest whole message, in units that are held. */
  #partialBytes = 0;
  #heldBytes = 0;
  #isClosing = false;
  /** Whether a message was larger than the socket's limit. */
  #receivedTooBig = false;
  closed: Closed | undefined;

  constructor(socket: WebSocket, received: Received | undefined) {
    this.#socket = socket;
    if (received) this.#countAll(received);
    socket.on('message', (data: RawData) => this.#receive(bytesOf(data)));
    socket.on('pong', () => {
      this.#isAlive = true;
    });
    // 'close' follows, with 1006 even if this end closed the socket for a message that is too large
    socket.on('error', (error) => {
      this.#receivedTooBig ||= 'code' in error && error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
    });
    const pinging = setInterval(() => this.#ping(), PING_MS).unref();
    socket.on('close', (code, reason) => {
      clearInterval(pinging);
      const receivedTooBig = this.#receivedTooBig;
      this.closed = { code: receivedTooBig ? TOO_BIG : code, reason: reason.toString('utf8'), receivedTooBig };
      this.#wake?.();
    });
  }

  async *messages(): AsyncIterableIterator<Uint8Array> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message) yield message;
      else if (this.closed) return;
      else await this.#more();
    }
  }

  send(message: Uint8Array): Promise<void> {
    if (this.closed || this.#socket.readyState !== this.#socket.OPEN) return Promise.resolve();
    return new Promise((resolve) => {
      const isFull = this.#socket.bufferedAmount + message.length > MAX_UNSENT_BYTES;
      // called with an error too, when the socket is closed
      this.#socket.send(message, { binary: false }, () => resolve());
      if (!isFull) resolve();
    });
  }

  close(code: number, reason: string): void {
    if (this.closed) return;
    this.#isClosing = true;
    this.#socket.close(isSendable(code) ? code : INTERNAL_ERROR, shortened(reason));
    // the other end's part of the closing handshake comes after its messages
    this.#socket.resume();
  }

  #receive(message: Uint8Array): void {
    this.#partialBytes = 0;
    this.#isAlive = true;
    if (this.#isClosing) return;
    this.#waiting.push(message);
    this.#socket.pause();
    this.#wake?.();
  }

  /** Counts until the connection is closed, which may be later than the session's end. */
  #countAll(received: Received): void {
    const { socket, hold } = received;
    const count = (piece: Buffer): void => this.#count(piece.length, received);
    socket.on('data', count);
    socket.once('close', () => {
      socket.off('data', count);
      hold(0);
    });
  }

  #count(bytes: number, { hold }: Received): void {
    this.#partialBytes += bytes;
    const heldBytes = Math.ceil(this.#partialBytes / HELD_UNIT_BYTES) * HELD_UNIT_BYTES;
    if (heldBytes === this.#heldBytes) return;
    this.#heldBytes = heldBytes;
    try {
      hold(heldBytes);
    } catch {
      this.#isClosing = true;
      this.#socket.close(TRY_LATER, 'The gateway has no memory for this message. Try again later.');
      // the rest of the message would still be received until the other end closes
      setTimeout(() => this.#socket.terminate(), CLOSING_MS).unref();
    }
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
      this.#socket.resume();
    });
  }

  #ping(): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    // a pong cannot be received while messages wait
    if (!this.#isAlive && !this.#socket.isPaused) this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
  }
}

function bytesOf(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}

/** Codes that an application may send (RFC 6455, 7.4). */
function isSendable(code: number): boolean {
  return (code >= 3000 && code <= 4999) || (code >= 1000 && code <= 1014 && ![1004, 1005, ABNORMAL].includes(code));
}

function shortened(reason: string): string {
  const bytes = Buffer.from(reason);
  if (bytes.length <= MAX_REASON_BYTES) return reason;
  // half a character at the end becomes a replacement, of three bytes
  return bytes
    .subarray(0, MAX_REASON_BYTES - 3)
    .toString('utf8')
    .replace(/\ufffd$/, '');
}

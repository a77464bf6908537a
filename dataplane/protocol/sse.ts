/**
 * Splits a byte stream into server-sent events (WHATWG HTML, 9.2). Pieces may have any size and may end anywhere, even
 * within a character or a line end. Lines end in LF, CRLF or CR. Each event keeps its own bytes, so that it can be
 * forwarded unchanged; joined in order they are the stream.
 */
import { asBuffer } from './bytes.ts';

export interface SseEvent {
  /** The event's bytes, with its comments and the blank line that ends it. */
  readonly raw: Uint8Array;
  /** Undefined: the event has no such line. */
  readonly event: string | undefined;
  /** All data lines, joined by LF. Undefined: the event has none. */
  readonly data: string | undefined;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from('data');
const EVENT = Buffer.from('event');
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const EMPTY = Buffer.alloc(0);

/** Append bytes, then call next() until it returns undefined. */
export class SseFramer {
  readonly #maxEventBytes: number;
  #overflowed = false;
  /** The bytes from #start to #end have not been returned as an event yet. */
  #buffer: Buffer = EMPTY;
  #start = 0;
  #end = 0;
  /** The buffer is this framer's own, so it may write after #end. */
  #owned = false;
  /** The offset at which the search for a line end resumes, the start of the current line, and the event's fields. */
  #scanned = 0;
  #lineStart = 0;
  #data: string | undefined;
  #event: string | undefined;
  #atStreamStart = true;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** An event exceeded the limit: no more events are returned. */
  get overflowed(): boolean {
    return this.#overflowed;
  }

  /** The bytes that have not been returned as an event. */
  get pendingBytes(): number {
    return this.#end - this.#start;
  }

  append(bytes: Uint8Array): void {
    if (this.#overflowed || bytes.length === 0) return;
    const pendingBytes = this.#end - this.#start;
    if (pendingBytes === 0) this.#reset(asBuffer(bytes));
    else {
      if (!this.#owned || this.#end + bytes.length > this.#buffer.length) this.#grow(pendingBytes, bytes.length);
      this.#buffer.set(bytes, this.#end);
      this.#end += bytes.length;
    }
  }

  /** The next complete event; undefined: more bytes are needed. */
  next(): SseEvent | undefined {
    while (this.#findLineEnd()) {
      const lineStart = this.#lineStart;
      const lineEnd = this.#scanned;
      this.#scanned = this.#lineStart = this.#afterLineEnd(lineEnd);
      if (lineStart === lineEnd) return this.#takeEvent();
      this.#readLine(lineStart, lineEnd);
    }
    this.#overflowed = this.#end - this.#start > this.#maxEventBytes;
    // an idle stream keeps no buffer
    if (this.#overflowed || this.#start === this.#end) this.#reset(EMPTY);
    return undefined;
  }

  /** At the end of the stream: an event without its blank line, which many providers leave out, completed with one. */
  end(): SseEvent | undefined {
    if (this.#overflowed || this.#start === this.#end) return undefined;
    const rest = this.#buffer.subarray(this.#start, this.#end);
    const lineEnd = rest.at(-1) === CR ? this.#end - 1 : this.#end;
    if (lineEnd > this.#lineStart) this.#readLine(this.#lineStart, lineEnd);
    this.#start = this.#end;
    return {
      raw: Buffer.concat([rest, Buffer.from(rest.at(-1) === LF ? '\n' : '\n\n')]),
      event: this.#event,
      data: this.#data,
    };
  }

  #reset(bytes: Buffer): void {
    this.#buffer = bytes;
    this.#start = this.#scanned = this.#lineStart = 0;
    this.#end = bytes.length;
    this.#owned = false;
  }

  /** Doubles the buffer, so that a large event that comes in small pieces is copied only a few times. */
  #grow(pendingBytes: number, moreBytes: number): void {
    const buffer = Buffer.allocUnsafe(Math.max(1024, (pendingBytes + moreBytes) * 2));
    this.#buffer.copy(buffer, 0, this.#start, this.#end);
    this.#scanned -= this.#start;
    this.#lineStart -= this.#start;
    this.#buffer = buffer;
    this.#start = 0;
    this.#end = pendingBytes;
    this.#owned = true;
  }

  /** Moves #scanned to the next CR or LF. A CR at the very end has to wait: an LF may belong to it. */
  #findLineEnd(): boolean {
    const buffer = this.#buffer;
    const end = this.#end;
    let at = this.#scanned;
    while (at < end && buffer[at] !== LF && buffer[at] !== CR) at++;
    this.#scanned = at;
    return at < end && (buffer[at] === LF || at + 1 < end);
  }

  #afterLineEnd(at: number): number {
    return this.#buffer[at] === CR && this.#buffer[at + 1] === LF && at + 1 < this.#end ? at + 2 : at + 1;
  }

  #takeEvent(): SseEvent {
    const taken = { raw: this.#buffer.subarray(this.#start, this.#scanned), event: this.#event, data: this.#data };
    this.#start = this.#scanned;
    this.#data = this.#event = undefined;
    this.#atStreamStart = false;
    return taken;
  }

  /** Reads `data` and `event` lines; the gateway needs no others. */
  #readLine(lineStart: number, end: number): void {
    const marked =
      this.#atStreamStart && lineStart === this.#start && hasBytesAt(this.#buffer, BYTE_ORDER_MARK, lineStart, end);
    const start = marked ? lineStart + BYTE_ORDER_MARK.length : lineStart;
    const data = this.#valueOf(DATA, start, end);
    if (data !== undefined) this.#data = this.#data === undefined ? data : `${this.#data}\n${data}`;
    else this.#event = this.#valueOf(EVENT, start, end) ?? this.#event;
  }

  /** The line's value, if its field has this name; a line without a colon is a name with an empty value. */
  #valueOf(name: Buffer, start: number, end: number): string | undefined {
    if (!hasBytesAt(this.#buffer, name, start, end)) return undefined;
    const colon = start + name.length;
    if (colon === end) return '';
    if (this.#buffer[colon] !== COLON) return undefined;
    const valueStart = this.#buffer[colon + 1] === SPACE && colon + 1 < end ? colon + 2 : colon + 1;
    return this.#buffer.toString('utf8', valueStart, end);
  }
}

/** An event as bytes; data of several lines takes as many data lines. */
export function writeEvent(data: string, event?: string): Buffer {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data;
  return Buffer.from(event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`);
}

function hasBytesAt(buffer: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (start + bytes.length > end) return false;
  for (let offset = 0; offset < bytes.length; offset++) if (buffer[start + offset] !== bytes[offset]) return false;
  return true;
}

/** True if whole events hold nothing but comments, blank lines and Anthropic's pings. */
export function holdsOnlyPings(events: Uint8Array): boolean {
  const framer = new SseFramer(events.length);
  framer.append(events);
  for (let event = framer.next(); event; event = framer.next())
    if (event.data !== undefined && event.event !== 'ping') return false;
  return framer.end()?.data === undefined;
}

const EVENT_STREAM = /^text\/event-stream\b/i;

/** Media types are case-insensitive (RFC 9110, 8.3.1). */
export function isEventStream(contentType: string | undefined): boolean {
  return contentType !== undefined && EVENT_STREAM.test(contentType);
}

const DATA_LINE = '\ndata: ';

/** The data of the last of these events, which has one line of it after the line with its type; undefined: none has. */
export function lastEventData(events: Uint8Array): Uint8Array | undefined {
  const text = asBuffer(events);
  const line = text.lastIndexOf(DATA_LINE);
  if (line < 0) return undefined;
  const start = line + DATA_LINE.length;
  return text.subarray(start, text.indexOf('\n', start));
}

/**
 * Server-sent events, cut out of bytes that come in pieces of any size (WHATWG HTML, 9.2). Each event keeps its own bytes, so that
 * it can be passed on exactly; joined in order they are the stream. Lines end in LF, CRLF or CR; a piece may end anywhere,
 * within a character too.
 */
import { asBuffer } from './bytes.ts';

export interface SseEvent {
  /** The event's bytes with the blank line that ends it, comments and all. */
  readonly raw: Uint8Array;
  /** Undefined: the event has no such line. */
  readonly event: string | undefined;
  /** Lines joined by LF. Undefined: comments, an id, or blank lines only. */
  readonly data: string | undefined;
}

/** Takes whole events off the front of bytes that begin with one, without anybody reading them as events. */
export interface Skimmer {
  /** Bytes from `from` to `to` are there; returns where the first event begins that it leaves. */
  skim(store: Buffer, from: number, to: number): number;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from('data');
const EVENT = Buffer.from('event');
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const NOTHING = Buffer.alloc(0);

/** Where an event's bytes are; they are cut out only where somebody asks for them. */
export class FramedEvent implements SseEvent {
  readonly store: Buffer;
  readonly from: number;
  readonly to: number;
  readonly event: string | undefined;
  readonly data: string | undefined;

  constructor(store: Buffer, [from, to]: readonly [number, number], { event, data }: Omit<SseEvent, 'raw'>) {
    this.store = store;
    this.from = from;
    this.to = to;
    this.event = event;
    this.data = data;
  }

  get raw(): Buffer {
    return this.store.subarray(this.from, this.to);
  }
}

/** Append bytes, then take events until there are none; bytes of earlier pieces are copied only where an event began in them. */
export class SseFramer {
  #overflowed = false;
  /** Bytes from #from to #to are not taken yet. */
  #store: Buffer = NOTHING;
  #from = 0;
  #to = 0;
  /** The store is this framer's own: what is behind #to may be written to. */
  #owned = false;
  /** How far the pending event was looked at, and where its current line began; what its lines so far have said. */
  #seen = 0;
  #lineStart = 0;
  #data: string | undefined;
  #event: string | undefined;
  #first = true;
  readonly #maxEventBytes: number;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** An event was longer than allowed: nothing comes out any more. */
  get overflowed(): boolean {
    return this.#overflowed;
  }

  append(chunk: Uint8Array): void {
    if (this.#overflowed || chunk.length === 0) return;
    this.#add(asBuffer(chunk));
  }

  /** The next event that is there whole. */
  next(): FramedEvent | undefined {
    if (this.#from === this.#to) return this.#letGo();
    const end = this.#findEnd();
    if (end >= 0) return this.#take(end);
    this.#overflowed = this.#to - this.#from > this.#maxEventBytes;
    return this.#overflowed ? this.#letGo() : undefined;
  }

  /** Where an event is about to begin, lets the skimmer take what it knows. */
  skim(skimmer: Skimmer): void {
    if (this.#seen !== this.#from || this.#from === this.#to) return;
    const at = skimmer.skim(this.#store, this.#from, this.#to);
    if (at === this.#from) return;
    this.#from = this.#seen = this.#lineStart = at;
    this.#first = false;
  }

  /** What was left without a blank line when the stream ended, as an event; many providers leave the last one out. */
  end(): SseEvent | undefined {
    if (this.#overflowed || this.#from === this.#to) return undefined;
    const left = this.#store.subarray(this.#from, this.#to);
    const lineEnd = left.at(-1) === CR ? this.#to - 1 : this.#to;
    if (lineEnd > this.#lineStart) this.#readLine(this.#lineStart, lineEnd);
    const raw = Buffer.concat([left, Buffer.from(left.at(-1) === LF ? '\n' : '\n\n')]);
    this.#from = this.#to;
    return { raw, event: this.#event, data: this.#data };
  }

  /** Grows by doubling: an event of many megabytes may come in pieces of a few bytes. */
  #add(chunk: Buffer): void {
    const pending = this.#to - this.#from;
    if (pending === 0) {
      this.#store = chunk;
      this.#from = this.#seen = this.#lineStart = 0;
      this.#to = chunk.length;
      this.#owned = false;
      return;
    }
    if (!this.#owned || this.#to + chunk.length > this.#store.length) this.#move(pending, chunk.length);
    chunk.copy(this.#store, this.#to);
    this.#to += chunk.length;
  }

  #move(pending: number, more: number): void {
    const store = Buffer.allocUnsafe(Math.max(1024, (pending + more) * 2));
    this.#store.copy(store, 0, this.#from, this.#to);
    this.#seen -= this.#from;
    this.#lineStart -= this.#from;
    this.#store = store;
    this.#from = 0;
    this.#to = pending;
    this.#owned = true;
  }

  /** A stream that waits for its next event holds no bytes. */
  #letGo(): undefined {
    this.#store = NOTHING;
    this.#from = this.#to = this.#seen = this.#lineStart = 0;
    this.#owned = false;
  }

  /** After the blank line that ends the pending event, or -1. */
  #findEnd(): number {
    for (let at = this.#findLineEnd(); at >= 0; at = this.#findLineEnd()) {
      const start = this.#lineStart;
      this.#seen = this.#lineStart = this.#store[at] === CR && at + 1 < this.#to && this.#store[at + 1] === LF ? at + 2 : at + 1;
      if (at === start) return this.#seen;
      this.#readLine(start, at);
    }
    return -1;
  }

  /** At the next CR or LF, or -1. A CR at the very end waits: an LF may belong to it. */
  #findLineEnd(): number {
    const bytes = this.#store;
    const to = this.#to;
    let at = this.#seen;
    while (at < to && bytes[at] !== LF && bytes[at] !== CR) at++;
    this.#seen = at;
    return at === to || (bytes[at] === CR && at + 1 === to) ? -1 : at;
  }

  #take(end: number): FramedEvent {
    const taken = new FramedEvent(this.#store, [this.#from, end], { event: this.#event, data: this.#data });
    this.#from = end;
    this.#data = this.#event = undefined;
    this.#first = false;
    return taken;
  }

  /** Fields other than these two change nothing for anybody here. */
  #readLine(start: number, end: number): void {
    const from = this.#first && start === this.#from && hasBytes(this.#store, BYTE_ORDER_MARK, start, end) ? start + BYTE_ORDER_MARK.length : start;
    const data = this.#valueOf(DATA, from, end);
    if (data !== undefined) this.#data = this.#data === undefined ? data : `${this.#data}\n${data}`;
    else this.#event = this.#valueOf(EVENT, from, end) ?? this.#event;
  }

  /** The line's value if its field has this name; a line without a colon is all name. */
  #valueOf(name: Buffer, from: number, end: number): string | undefined {
    const colon = from + name.length;
    if (!hasBytes(this.#store, name, from, end)) return undefined;
    if (colon === end) return '';
    if (this.#store[colon] !== COLON) return undefined;
    return this.#store.toString('utf8', this.#store[colon + 1] === SPACE && colon + 1 < end ? colon + 2 : colon + 1, end);
  }
}

/** An event; data of several lines takes as many. */
export function writeEvent(data: string, event?: string): Buffer {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data;
  return Buffer.from(event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`);
}

/** `words` stand at `from`, and end by `end`. */
function hasBytes(store: Buffer, words: Buffer, from: number, end: number): boolean {
  if (from + words.length > end) return false;
  for (let at = 0; at < words.length; at++) if (store[from + at] !== words[at]) return false;
  return true;
}

const EVENT_STREAM = /^text\/event-stream\b/i;

/** By its content type, however a provider writes it: media types have no case (RFC 9110, 8.3.1). */
export function isEventStream(contentType: string | undefined): boolean {
  return contentType !== undefined && EVENT_STREAM.test(contentType);
}

/**
 * Server-sent events, cut out of bytes that come in pieces of any size (WHATWG HTML, 9.2). Each event keeps its own bytes, so that
 * it can be passed on exactly; joined in order they are the stream. Lines end in LF, CRLF or CR; a piece may end anywhere,
 * within a character too.
 */

export interface SseEvent {
  /** The event's bytes with the blank line that ends it, comments and all. */
  readonly raw: Uint8Array;
  /** Undefined: the event has no such line. */
  readonly event: string | undefined;
  /** Lines joined by LF. Undefined: comments, an id, or blank lines only. */
  readonly data: string | undefined;
}

const LF = 0x0a;
const CR = 0x0d;
const BYTE_ORDER_MARK = '\ufeff';

export class SseFramer {
  #overflowed = false;
  /** Bytes from #from to #to are the event that has begun. */
  #store: Buffer = Buffer.alloc(0);
  #from = 0;
  #to = 0;
  /** The store is this framer's own: what is behind #to may be written to. */
  #owned = false;
  /** How far the pending bytes were looked at, and where their current line began. */
  #seen = 0;
  #lineStart = 0;
  #first = true;
  readonly #maxEventBytes: number;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** An event was longer than allowed: nothing comes out any more. */
  get overflowed(): boolean {
    return this.#overflowed;
  }

  /** The events that these bytes complete. */
  push(chunk: Uint8Array): SseEvent[] {
    if (this.#overflowed || chunk.length === 0) return [];
    this.#append(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    const events: SseEvent[] = [];
    for (let end = this.#findEnd(); end >= 0; end = this.#findEnd()) events.push(this.#take(end));
    this.#overflowed = this.#to - this.#from > this.#maxEventBytes;
    return events;
  }

  /** What was left without a blank line when the stream ended, as an event; many providers leave the last one out. */
  end(): SseEvent | undefined {
    if (this.#overflowed || this.#from === this.#to) return undefined;
    const left = this.#store.subarray(this.#from, this.#to);
    this.#from = this.#to;
    const raw = Buffer.concat([left, Buffer.from(left.at(-1) === LF ? '\n' : '\n\n')]);
    return { raw, ...readLines(left.toString('utf8'), this.#first) };
  }

  /** Grows by doubling: an event of many megabytes may come in pieces of a few bytes. */
  #append(chunk: Buffer): void {
    const pending = this.#to - this.#from;
    if (pending === 0) {
      [this.#store, this.#from, this.#to, this.#owned] = [chunk, 0, chunk.length, false];
      [this.#seen, this.#lineStart] = [0, 0];
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
    [this.#store, this.#from, this.#to, this.#owned] = [store, 0, pending, true];
  }

  /** After the blank line that ends the pending event, or -1. */
  #findEnd(): number {
    for (let at = this.#findLineEnd(); at >= 0; at = this.#findLineEnd()) {
      const blank = at === this.#lineStart;
      this.#seen = this.#store[at] === CR && at + 1 < this.#to && this.#store[at + 1] === LF ? at + 2 : at + 1;
      this.#lineStart = this.#seen;
      if (blank) return this.#seen;
    }
    return -1;
  }

  /** At the next CR or LF, or -1. A CR at the very end waits: an LF may belong to it. */
  #findLineEnd(): number {
    const bytes = this.#store;
    let at = this.#seen;
    while (at < this.#to && bytes[at] !== LF && bytes[at] !== CR) at++;
    this.#seen = at;
    return at === this.#to || (bytes[at] === CR && at + 1 === this.#to) ? -1 : at;
  }

  #take(end: number): SseEvent {
    const raw = this.#store.subarray(this.#from, end);
    this.#from = end;
    const lines = readLines(raw.toString('utf8'), this.#first);
    this.#first = false;
    return { raw, ...lines };
  }
}

/** An event; data of several lines takes as many. */
export function writeEvent(data: string, event?: string): Buffer {
  const lines = data.replaceAll('\n', '\ndata: ');
  return Buffer.from(event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`);
}

function readLines(text: string, first: boolean): { data: string | undefined; event: string | undefined } {
  const fields = (first && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text).split(/\r\n|\n|\r/).map(readField);
  const data = fields.filter(([name]) => name === 'data').map(([, value]) => value);
  return { data: data.length > 0 ? data.join('\n') : undefined, event: fields.findLast(([name]) => name === 'event')?.[1] };
}

/** Name and value of a line; a comment has an empty name. */
function readField(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  if (colon < 0) return [line, ''];
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)];
}

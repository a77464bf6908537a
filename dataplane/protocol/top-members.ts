/**
 * Reads members of a JSON object that comes in pieces and is too large to hold. Only the object's own members count:
 * within them may be what a client wrote.
 */
import { Buffer } from 'node:buffer';
import { asBuffer } from './bytes.ts';
import type { JsonRecord } from './fields.ts';
import { readObjectAt } from './read-object.ts';

/** A larger member is skipped: no usage is that long. */
const MAX_MEMBER_BYTES = 64 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

export class TopMembers {
  readonly #names: ReadonlySet<string>;
  readonly #found = new Map<string, unknown>();
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The current member so far; undefined: it is too large. */
  #member: Buffer[] | undefined = [];
  #memberBytes = 0;

  constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  /** The members of these names that have come whole. */
  get found(): JsonRecord {
    return Object.fromEntries(this.#found);
  }

  add(piece: Uint8Array): void {
    const bytes = asBuffer(piece);
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (this.#inString) this.#readInString(byte);
      else if (byte === QUOTE) this.#inString = true;
      else if (isOpening(byte)) start = ++this.#depth === 1 ? at + 1 : start;
      else if (isEnd(byte)) start = this.#endAt(bytes, start, at);
    }
    if (this.#depth > 0) this.#keep(bytes.subarray(start));
  }

  /** Returns where the next member starts, or the current one goes on from. */
  #endAt(bytes: Buffer, start: number, at: number): number {
    const isMember = this.#depth === 1;
    if (bytes[at] !== COMMA) this.#depth = Math.max(0, this.#depth - 1);
    if (!isMember) return start;
    this.#keep(bytes.subarray(start, at));
    this.#endMember();
    return at + 1;
  }

  #readInString(byte: number | undefined): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) this.#inString = false;
  }

  #keep(bytes: Buffer): void {
    this.#memberBytes += bytes.length;
    if (this.#memberBytes > MAX_MEMBER_BYTES) this.#member = undefined;
    // a copy: the rest of the piece is not kept
    this.#member?.push(Buffer.from(bytes));
  }

  #endMember(): void {
    const parts = this.#member;
    this.#member = [];
    this.#memberBytes = 0;
    if (!parts) return;
    const member = readObjectAt(Buffer.concat([Buffer.from('{'), ...parts, Buffer.from('}')]), 0);
    for (const [name, value] of Object.entries(member ?? {})) if (this.#names.has(name)) this.#found.set(name, value);
  }
}

function isOpening(byte: number | undefined): boolean {
  return byte === OPEN_BRACE || byte === OPEN_BRACKET;
}

/** Of a member: a closing bracket ends what holds it, too. */
function isEnd(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
}

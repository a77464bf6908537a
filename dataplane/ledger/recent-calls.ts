/**
 * Settled calls that the file does not have yet: where each stands in the journal. They are read from there when somebody asks,
 * which is seldom, so that nothing of a settled call has to stay in memory but a number.
 */
import { readSync } from 'node:fs';
import type { RecentCalls, SettledCall } from './books.ts';
import { CallOffsets, numberOf } from './call-offsets.ts';
import { RECORD_HEADER_BYTES } from './journal-format.ts';
import { readRecords } from './journal-reader.ts';
import { asRefunded } from './ledger-core.ts';

/** A segment whose records can be read. */
export interface ReadableSegment {
  readonly number: number;
  readonly fd: number;
  readonly names: readonly string[];
  /** Bytes that are not in the file yet, from this offset on. */
  unwritten(offset: number): Buffer | undefined;
}

interface Generation {
  readonly segment: ReadableSegment;
  readonly offsets: CallOffsets;
  /** Calls whose cost was given back. */
  readonly refunded: Set<string>;
}

/** What the last process settled and the file does not have yet. */
export interface LeftCalls {
  readonly settled: Map<string, SettledCall>;
  readonly refunded: Set<string>;
}

const READ_BYTES = 1024;

export class JournaledCalls implements RecentCalls {
  #current: Generation;
  /** Of earlier segments, the latest first: mostly one. */
  #earlier: Generation[] = [];

  #left: LeftCalls;
  /** Taken in with the first segment of this process. */
  readonly #leftUntil: number;

  constructor(segment: ReadableSegment, left: LeftCalls) {
    this.#current = generationOf(segment);
    this.#left = left;
    this.#leftUntil = segment.number;
  }

  /** Asked for each call, which is hardly ever known: told by numbers alone in nearly all cases. */
  has(callId: string): boolean {
    const number = numberOf(callId);
    if (hasCall(this.#current, number, callId)) return true;
    for (const generation of this.#earlier) if (hasCall(generation, number, callId)) return true;
    // a look into a map makes an entry of V8's own for a text that is new
    return this.#left.settled.size > 0 && this.#left.settled.has(callId);
  }

  get(callId: string): SettledCall | undefined {
    for (const generation of [this.#current, ...this.#earlier]) {
      const found = find(generation, callId);
      if (found) return this.corrected(found);
    }
    const left = this.#left.settled.get(callId);
    return left && this.corrected(left);
  }

  add(callId: string, offset: number): void {
    this.#current.offsets.add(callId, offset);
  }

  refund(callId: string): void {
    this.#current.refunded.add(callId);
  }

  /** A settled call, from here or from the file, as it is after refunds that the file does not have yet. */
  corrected(call: SettledCall): SettledCall {
    const { callId } = call.record;
    return [this.#current, ...this.#earlier, this.#left].some(({ refunded }) => refunded.has(callId)) ? asRefunded(call) : call;
  }

  /** Another segment began: the calls so far are kept until the file has them. */
  turnTo(segment: ReadableSegment): void {
    this.#earlier.unshift(this.#current);
    this.#current = generationOf(segment, this.#current.offsets.size);
  }

  /** The file has the calls of the segments up to this one. */
  folded(to: number): void {
    this.#earlier = this.#earlier.filter(({ segment }) => segment.number > to);
    if (to >= this.#leftUntil) this.#left = noLeftCalls();
  }
}

export function noLeftCalls(): LeftCalls {
  return { settled: new Map(), refunded: new Set() };
}

/** `expected`: about so many calls will be settled in it. */
function generationOf(segment: ReadableSegment, expected = 0): Generation {
  return { segment, offsets: new CallOffsets(expected), refunded: new Set() };
}

function hasCall(generation: Generation, number: number, callId: string): boolean {
  return generation.offsets.has(number) && find(generation, callId) !== undefined;
}

function find({ segment, offsets }: Generation, callId: string): SettledCall | undefined {
  let found: SettledCall | undefined;
  offsets.find(callId, (offset) => {
    const there = readSettled(segment, offset);
    if (there.record.callId === callId) found = there;
    return found !== undefined;
  });
  return found;
}

function readSettled(segment: ReadableSegment, offset: number): SettledCall {
  let found: SettledCall | undefined;
  const bytes = segment.unwritten(offset) ?? readRecordAt(segment.fd, offset);
  const to = RECORD_HEADER_BYTES + bytes.readUInt32LE(1);
  readRecords(bytes, { from: 0, to, names: [...segment.names] }, { settled: (call) => { found = call; } });
  if (!found) throw new Error('the journal has another record where a settlement was written');
  return found;
}

function readRecordAt(fd: number, offset: number): Buffer {
  const head = Buffer.alloc(READ_BYTES);
  const read = readSync(fd, head, 0, READ_BYTES, offset);
  const length = RECORD_HEADER_BYTES + head.readUInt32LE(1);
  if (length <= read) return head;
  const whole = Buffer.alloc(length);
  readSync(fd, whole, 0, length, offset);
  return whole;
}

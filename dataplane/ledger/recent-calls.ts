/**
 * Settled calls that the file does not have yet: where each stands in the journal. They are read from there when somebody asks,
 * which is seldom, so that nothing of a settled call has to stay in memory but its id.
 */
import { readSync } from 'node:fs';
import type { RecentCalls, SettledCall } from './books.ts';
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
  readonly offsets: Map<string, number>;
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

  has(callId: string): boolean {
    if (this.#current.offsets.has(callId)) return true;
    for (const { offsets } of this.#earlier) if (offsets.has(callId)) return true;
    return this.#left.settled.has(callId);
  }

  get(callId: string): SettledCall | undefined {
    for (const { segment, offsets } of [this.#current, ...this.#earlier]) {
      const offset = offsets.get(callId);
      if (offset !== undefined) return this.corrected(readSettled(segment, offset));
    }
    const left = this.#left.settled.get(callId);
    return left && this.corrected(left);
  }

  add(callId: string, offset: number): void {
    this.#current.offsets.set(callId, offset);
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
    this.#current = generationOf(segment);
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

function generationOf(segment: ReadableSegment): Generation {
  return { segment, offsets: new Map(), refunded: new Set() };
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

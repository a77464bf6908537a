/**
 * Settled calls that the file does not have yet, by id: only where their records stand in the journal. While the file
 * lags, the journal may have millions of them.
 */
import type { RecentCalls, SettledCall } from '../balances.ts';
import { asRefunded } from '../ledger-core.ts';
import { RECORD_HEADER_BYTES } from './journal-format.ts';
import { readSettlement, recordLength } from './journal-reader.ts';

/** A segment whose records can be read. */
export interface ReadableSegment {
  readonly number: number;
  /** By number. */
  readonly names: readonly string[];
  read(offset: number, length: number): Buffer;
}

/** What the last process settled and the file does not have yet. */
export interface LeftCalls {
  readonly settled: ReadonlyMap<string, SettledCall>;
  /** Calls whose cost was given back. */
  readonly refunded: ReadonlySet<string>;
}

interface SegmentCalls {
  readonly segment: ReadableSegment;
  /** Where the records of settled calls stand, by call id. */
  readonly offsets: Map<string, number>;
  readonly refunded: Set<string>;
}

interface UnwrittenCall {
  readonly call: SettledCall;
  /** Counted from where the next write begins. */
  readonly offset: number;
}

export class SettledCalls implements RecentCalls {
  #left: LeftCalls | undefined;
  /** The file takes it in with this process's first segment. */
  readonly #leftUntil: number;
  #current: SegmentCalls;
  /** The latest first. */
  #earlier: SegmentCalls[] = [];
  readonly #unwritten = new Map<string, UnwrittenCall>();

  constructor(segment: ReadableSegment, left: LeftCalls) {
    this.#current = callsOf(segment);
    this.#left = left;
    this.#leftUntil = segment.number;
  }

  has(callId: string): boolean {
    return this.#unwritten.has(callId) || this.#segments().some(({ offsets }) => offsets.has(callId))
      || this.#left?.settled.has(callId) === true;
  }

  get(callId: string): SettledCall | undefined {
    const call = this.#unwritten.get(callId)?.call ?? this.#read(callId) ?? this.#left?.settled.get(callId);
    return call && this.corrected(call);
  }

  /** A settled call, from here or from the file, as it is after refunds that the file does not have yet. */
  corrected(call: SettledCall): SettledCall {
    const { callId } = call.record;
    const isRefunded = [...this.#segments(), this.#left].some((part) => part?.refunded.has(callId));
    return isRefunded ? asRefunded(call) : call;
  }

  add(call: SettledCall, offset: number): void {
    this.#unwritten.set(call.record.callId, { call, offset });
  }

  refund(callId: string): void {
    this.#current.refunded.add(callId);
  }

  /** What was added is in the segment, in a write that began there. */
  written(start: number): void {
    for (const [callId, { offset }] of this.#unwritten) this.#current.offsets.set(callId, start + offset);
    this.#unwritten.clear();
  }

  /** Another segment begins. The calls so far are kept until the file has them. */
  beginSegment(segment: ReadableSegment): void {
    this.#earlier.unshift(this.#current);
    this.#current = callsOf(segment);
  }

  /** The file has the segments up to this one. */
  checkpointed(to: number): void {
    this.#earlier = this.#earlier.filter(({ segment }) => segment.number > to);
    if (to >= this.#leftUntil) this.#left = undefined;
  }

  #segments(): SegmentCalls[] {
    return [this.#current, ...this.#earlier];
  }

  #read(callId: string): SettledCall | undefined {
    for (const { segment, offsets } of this.#segments()) {
      const offset = offsets.get(callId);
      if (offset === undefined) continue;
      const length = recordLength(segment.read(offset, RECORD_HEADER_BYTES), 0);
      return readSettlement(segment.read(offset, length), segment.names);
    }
    return undefined;
  }
}

function callsOf(segment: ReadableSegment): SegmentCalls {
  return { segment, offsets: new Map(), refunded: new Set() };
}

/**
 * Indexes settled calls that are not in the file yet, from call id to the record's offset in the journal. While the
 * file lags behind, the journal may contain millions of them.
 */
import type { Hold, RecentCalls, SettledCall } from '../balances.ts';
import { correctedBy } from '../ledger-core.ts';
import type { JobBill } from '../ledger.ts';
import { RECORD_HEADER_BYTES } from './journal-format.ts';
import { readSettlement, recordLength } from './journal-reader.ts';

/** A segment whose records can be read. */
export interface ReadableSegment {
  readonly number: number;
  /** The segment's names by reference number. */
  readonly names: readonly string[];
  read(offset: number, length: number): Buffer;
}

/** Calls that the previous process settled and that are not in the file yet. */
export interface RecoveredCalls {
  readonly settled: ReadonlyMap<string, SettledCall>;
  readonly corrections: Corrections;
}

/** Bills of ended jobs by call id; undefined: the call was refunded. */
export type Corrections = ReadonlyMap<string, JobBill | undefined>;

interface SegmentCalls {
  readonly segment: ReadableSegment;
  /** Offsets of the records of settled calls, by call id. */
  readonly offsets: Map<string, number>;
  readonly corrections: Map<string, JobBill | undefined>;
}

/** The windows of a call's admission. */
export type CallWindows = Pick<Hold, 'day' | 'month'>;

export interface UnwrittenCall {
  readonly call: SettledCall;
  readonly windows: CallWindows;
  /** Counted from the start of the next write. */
  readonly offset: number;
}

export class SettledCalls implements RecentCalls {
  #recovered: RecoveredCalls | undefined;
  /** The file contains the recovered calls once this segment has been applied. */
  readonly #recoveredUntil: number;
  #current: SegmentCalls;
  /** Latest first. */
  #earlier: SegmentCalls[] = [];
  readonly #unwritten = new Map<string, UnwrittenCall>();

  constructor(segment: ReadableSegment, recovered: RecoveredCalls) {
    this.#current = callsOf(segment);
    this.#recovered = recovered;
    this.#recoveredUntil = segment.number;
  }

  has(callId: string): boolean {
    return (
      this.#unwritten.has(callId) ||
      this.#segments().some(({ offsets }) => offsets.has(callId)) ||
      this.#recovered?.settled.has(callId) === true
    );
  }

  get(callId: string): SettledCall | undefined {
    const call = this.#unwritten.get(callId)?.call ?? this.#read(callId) ?? this.#recovered?.settled.get(callId);
    return call && this.corrected(call);
  }

  /** Applies the refund or the bill of the call's job, if the file does not have it yet. */
  corrected(call: SettledCall): SettledCall {
    const { callId } = call.record;
    const part = [...this.#segments(), this.#recovered].find((each) => each?.corrections.has(callId));
    return part ? correctedBy(call, part.corrections.get(callId)) : call;
  }

  add(unwritten: UnwrittenCall): void {
    this.#unwritten.set(unwritten.call.record.callId, unwritten);
  }

  /** A call whose record is not in the journal yet. */
  unwritten(callId: string): UnwrittenCall | undefined {
    return this.#unwritten.get(callId);
  }

  correct(callId: string, bill: JobBill | undefined): void {
    this.#current.corrections.set(callId, bill);
  }

  /** Records that the calls added so far were written at this offset of the current segment. */
  written(start: number): void {
    for (const [callId, { offset }] of this.#unwritten) this.#current.offsets.set(callId, start + offset);
    this.#unwritten.clear();
  }

  /** Starts a new segment; the indexes of earlier ones are kept until `checkpointed`. */
  beginSegment(segment: ReadableSegment): void {
    this.#earlier.unshift(this.#current);
    this.#current = callsOf(segment);
  }

  /** Drops the indexes of segments that are in the file. */
  checkpointed(to: number): void {
    this.#earlier = this.#earlier.filter(({ segment }) => segment.number > to);
    if (to >= this.#recoveredUntil) this.#recovered = undefined;
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
  return { segment, offsets: new Map(), corrections: new Map() };
}

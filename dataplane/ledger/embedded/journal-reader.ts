/**
 * Reads a journal segment. Its last frame may be torn if the process or machine stopped during the write: its records
 * were never acknowledged, or were lost with the machine. Damage before the last frame is an error.
 */
import { decodeLines } from '../../price/bill.ts';
import type { JobBill, JobState, QuotaPeriod } from '../ledger.ts';
import { CALL_STATUSES, USAGE_SOURCES } from '../../usage/record.ts';
import type { CallOrigin, CallProgress, UsageRecord } from '../../usage/record.ts';
import {
  FRAME_HEADER_BYTES,
  FRAME_MAGIC,
  frameEnd,
  JOB_STATES,
  KIND,
  PERIODS,
  RECORD_HEADER_BYTES,
  SEGMENT_HEADER_BYTES,
} from './journal-format.ts';

export interface HeldRecord {
  readonly origin: CallOrigin;
  readonly progress: CallProgress;
  readonly grantedNanoUsd: bigint;
  readonly dayStartMs: number;
  readonly monthStartMs: number;
  readonly keyLimitNanoUsd: bigint | null;
  readonly period: QuotaPeriod;
  readonly accountCreditNanoUsd: bigint;
  readonly renewedMs: number;
}

export interface RenewedRecord {
  readonly callId: string;
  readonly progress: CallProgress;
  readonly renewedMs: number;
}

export interface SettledRecord {
  readonly record: UsageRecord;
  readonly keySpentNanoUsd: bigint;
  readonly keyRemainingNanoUsd: bigint | null;
  readonly settledMs: number;
  readonly dayStartMs: number;
  readonly monthStartMs: number;
}

export interface JobStateRecord {
  readonly jobId: string;
  readonly origin: CallOrigin;
  readonly terms: string | undefined;
  readonly costNanoUsd: bigint;
  readonly dayStartMs: number;
  readonly monthStartMs: number;
  readonly state: JobState;
  readonly bill: JobBill | undefined;
  readonly pollMs: number;
  readonly endedMs: number | null;
}

export interface WindowState {
  readonly kind: 'Day' | 'Month';
  readonly startMs: number;
  readonly spentNanoUsd: bigint;
}

export interface JournaledKey {
  readonly uid: string;
  readonly totalSpentNanoUsd: bigint;
  readonly lastUsedMs: number | null;
  readonly day: WindowState;
  readonly month: WindowState;
  readonly past: readonly WindowState[];
}

export interface JournaledAccount {
  readonly id: string;
  readonly spentNanoUsd: bigint;
}

/** Its methods are called for each record in order. Records of a kind without a method are skipped. */
export interface RecordVisitor {
  held?(record: HeldRecord): void;
  withdrawn?(callId: string): void;
  renewed?(record: RenewedRecord): void;
  settled?(record: SettledRecord): void;
  job?(record: JobStateRecord): void;
  key?(state: JournaledKey): void;
  account?(state: JournaledAccount): void;
}

export interface SegmentEnd {
  /** The length of the intact part. */
  readonly bytes: number;
  /** The intact part is followed by bytes that are not a complete frame. */
  readonly torn: boolean;
  /** Those bytes are followed by complete frames: the segment is damaged, not torn. */
  readonly damaged: boolean;
}

/** Reads the frames after the header, up to the first incomplete one. */
export function readFrames(bytes: Buffer, visitor: RecordVisitor): SegmentEnd {
  const names: string[] = [];
  let at = SEGMENT_HEADER_BYTES;
  for (let end = frameEnd(bytes, at); end !== undefined; end = frameEnd(bytes, at)) {
    for (let record = at + FRAME_HEADER_BYTES; record < end; record += recordLength(bytes, record))
      readRecord(bytes, { at: record, names }, visitor);
    at = end;
  }
  const torn = at < bytes.length;
  return { bytes: at, torn, damaged: torn && hasFrameAfter(bytes, at) };
}

const FRAME_MARK = Buffer.alloc(4);
FRAME_MARK.writeUInt32LE(FRAME_MAGIC);

function hasFrameAfter(bytes: Buffer, after: number): boolean {
  for (let at = bytes.indexOf(FRAME_MARK, after + 1); at >= 0; at = bytes.indexOf(FRAME_MARK, at + 1))
    if (frameEnd(bytes, at) !== undefined) return true;
  return false;
}

/** The length of the record at an offset, including its header. */
export function recordLength(bytes: Buffer, at: number): number {
  return RECORD_HEADER_BYTES + bytes.readUInt32LE(at + 1);
}

/** Reads one settlement record. */
export function readSettlement(bytes: Buffer, names: readonly string[]): SettledRecord {
  if (bytes.readUInt8(0) !== KIND.settled)
    throw new Error('the journal has another record where a settlement was written');
  return readSettled(new FieldReader(bytes, RECORD_HEADER_BYTES, names));
}

type Visit = (read: FieldReader, visitor: RecordVisitor) => void;

const VISITS: Readonly<Record<number, Visit>> = {
  [KIND.held]: (read, visitor) => visitor.held?.(readHeld(read)),
  [KIND.withdrawn]: (read, visitor) => visitor.withdrawn?.(read.text()),
  [KIND.renewed]: (read, visitor) => visitor.renewed?.(readRenewed(read)),
  [KIND.settled]: (read, visitor) => visitor.settled?.(readSettled(read)),
  [KIND.job]: (read, visitor) => visitor.job?.(readJob(read)),
  [KIND.key]: (read, visitor) => visitor.key?.(readKey(read)),
  [KIND.account]: (read, visitor) => visitor.account?.({ id: read.name(), spentNanoUsd: read.amount() }),
};

/** Visits a record, or adds the name that it defines to `names`. */
function readRecord(bytes: Buffer, { at, names }: { at: number; names: string[] }, visitor: RecordVisitor): void {
  const kind = bytes.readUInt8(at);
  const read = new FieldReader(bytes, at + RECORD_HEADER_BYTES, names);
  if (kind === KIND.name) {
    names.push(read.text());
    return;
  }
  const visit = VISITS[kind];
  if (!visit) throw new Error(`a record of unknown kind ${kind}: the journal was written by a newer program`);
  visit(read, visitor);
}

function readHeld(read: FieldReader): HeldRecord {
  const held = {
    origin: readOrigin(read),
    progress: readProgress(read),
    grantedNanoUsd: read.amount(),
    dayStartMs: read.number(),
    monthStartMs: read.number(),
    keyLimitNanoUsd: read.amountOrNull(),
    period: read.word(PERIODS),
    accountCreditNanoUsd: read.amountOrNull() ?? 0n,
    renewedMs: read.number(),
  };
  const lines = readLines(read);
  const session = readSession(read);
  const progress = { ...held.progress, ...lines, ...readUpstream(read) };
  return { ...held, progress, origin: { ...held.origin, ...session, ...readKeyName(read) } };
}

function readRenewed(read: FieldReader): RenewedRecord {
  const renewed = { callId: read.text(), progress: readProgress(read), renewedMs: read.number() };
  return { ...renewed, progress: { ...renewed.progress, ...readLines(read), ...readUpstream(read) } };
}

/** Reads the session, which follows the lines; records of earlier versions end before it. */
function readSession(read: FieldReader): Pick<CallOrigin, 'session'> {
  const session = read.isAtEnd ? '' : read.text();
  return session === '' ? {} : { session };
}

/** Reads key name and labels, which are the last fields; records of earlier versions end before them. */
function readKeyName(read: FieldReader): Pick<CallOrigin, 'keyName' | 'labels'> {
  if (read.isAtEnd) return {};
  const [keyName, labels] = [read.name(), read.name()];
  return { ...(keyName !== '' && { keyName }), ...(labels !== '' && { labels }) };
}

/** Reads the upstream cost, which follows lines and session; records of earlier versions end before it. */
function readUpstream(read: FieldReader): Pick<CallProgress, 'upstreamCostNanoUsd'> {
  const text = read.isAtEnd ? '' : read.text();
  return text === '' ? {} : { upstreamCostNanoUsd: BigInt(text) };
}

/** Reads the lines, which follow the original fields; records of earlier versions end before them. */
function readLines(read: FieldReader): Pick<CallProgress, 'lines'> {
  const lines = read.isAtEnd ? undefined : decodeLines(read.text());
  return lines ? { lines } : {};
}

function readSettled(read: FieldReader): SettledRecord {
  const record = {
    ...readOrigin(read),
    ...readProgress(read),
    status: read.word(CALL_STATUSES),
    unbilledNanoUsd: read.amount(),
    durationMs: read.number(),
  };
  const settled = {
    keySpentNanoUsd: read.amount(),
    keyRemainingNanoUsd: read.amountOrNull(),
    settledMs: read.number(),
    dayStartMs: read.number(),
    monthStartMs: read.number(),
  };
  const later = { ...readLines(read), ...readSession(read), ...readUpstream(read), ...readKeyName(read) };
  return { ...settled, record: { ...record, ...later } };
}

function readJob(read: FieldReader): JobStateRecord {
  const job = {
    origin: readOrigin(read),
    jobId: read.text(),
    costNanoUsd: read.amount(),
    dayStartMs: read.number(),
    monthStartMs: read.number(),
    state: read.word(JOB_STATES),
    pollMs: read.number(),
    endedMs: read.momentOrNull(),
  };
  // records of earlier versions end here
  const terms = read.isAtEnd ? '' : read.text();
  return { ...job, terms: terms === '' ? undefined : terms, bill: read.isAtEnd ? undefined : readBill(read) };
}

function readBill(read: FieldReader): JobBill {
  const [progress, status] = [readProgress(read), read.word(CALL_STATUSES)];
  return { status, progress: { ...progress, ...readLines(read), ...readUpstream(read) } };
}

function readKey(read: FieldReader): JournaledKey {
  return {
    uid: read.name(),
    totalSpentNanoUsd: read.amount(),
    lastUsedMs: read.momentOrNull(),
    day: readWindow(read),
    month: readWindow(read),
    past: Array.from({ length: read.integer() }, () => readWindow(read)),
  };
}

function readWindow(read: FieldReader): WindowState {
  return { kind: read.byte() === 0 ? 'Day' : 'Month', startMs: read.number(), spentNanoUsd: read.amount() };
}

function readOrigin(read: FieldReader): CallOrigin {
  return {
    callId: read.text(),
    keyUid: read.name(),
    account: read.name(),
    createdMs: read.number(),
    group: read.name(),
    model: read.name(),
    channel: read.name(),
    catalog: read.name(),
  };
}

function readProgress(read: FieldReader): CallProgress {
  const costNanoUsd = read.amount();
  const [input, cached, cacheWrite5m] = [read.number(), read.number(), read.number()];
  const [cacheWrite1h, output] = [read.number(), read.number()];
  const tokens = { input, cached, cacheWrite5m, cacheWrite1h, output };
  return { costNanoUsd, tokens, usageSource: read.word(USAGE_SOURCES) };
}

/** Reads fields in the order in which journal-encoder.ts writes them. */
class FieldReader {
  readonly #bytes: Buffer;
  readonly #names: readonly string[];
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, at: number, names: readonly string[]) {
    this.#bytes = bytes;
    this.#at = at;
    this.#names = names;
    this.#end = at + bytes.readUInt32LE(at - RECORD_HEADER_BYTES + 1);
  }

  /** True if the record has no further field. */
  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  byte(): number {
    return this.#bytes.readUInt8(this.#skip(1));
  }

  integer(): number {
    return this.#bytes.readUInt32LE(this.#skip(4));
  }

  number(): number {
    return this.#bytes.readDoubleLE(this.#skip(8));
  }

  momentOrNull(): number | null {
    const moment = this.number();
    return moment < 0 ? null : moment;
  }

  amount(): bigint {
    return this.#bytes.readBigInt64LE(this.#skip(8));
  }

  amountOrNull(): bigint | null {
    const isNull = this.byte() === 0;
    const amount = this.amount();
    return isNull ? null : amount;
  }

  text(): string {
    const length = this.integer();
    const start = this.#skip(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  name(): string {
    const name = this.#names[this.integer()];
    if (name === undefined) throw new Error('a record of the journal refers to an unknown name');
    return name;
  }

  word<T extends string>(words: readonly T[]): T {
    const word = words[this.byte()];
    if (word === undefined) throw new Error('the journal has an unknown word: it was written by a newer program');
    return word;
  }

  /** Returns the offset of the field. */
  #skip(length: number): number {
    const start = this.#at;
    this.#at += length;
    return start;
  }
}

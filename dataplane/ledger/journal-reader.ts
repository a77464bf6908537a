/**
 * [P] Reads a segment of the journal. Its last frame may be torn, where a process or a machine ended while it was written: what
 * was in it was never acknowledged, or was lost with the machine. Damage before that is an error.
 */
import { FRAME_HEADER_BYTES, FRAME_MAGIC, JOB_STATES, KIND, PERIODS, RECORD_HEADER_BYTES, SEGMENT_HEADER_BYTES, SEGMENT_MAGIC, SOURCES, STATUSES } from './journal-format.ts';
import type { SegmentHeader } from './journal-format.ts';
import type { Checksum } from './journal-encoder.ts';
import type { JobState, QuotaPeriod } from './ledger.ts';
import type { CallOrigin, CallProgress, UsageRecord } from './usage-record.ts';

/** A hold as it was granted. */
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
  readonly costNanoUsd: bigint;
  readonly dayStartMs: number;
  readonly monthStartMs: number;
  readonly state: JobState;
  readonly pollMs: number;
  readonly endedMs: number | null;
}

export interface WindowState {
  readonly kind: 'Day' | 'Month';
  readonly startMs: number;
  readonly spentNanoUsd: bigint;
}

export interface KeyState {
  readonly uid: string;
  readonly totalSpentNanoUsd: bigint;
  readonly lastUsedMs: number | null;
  readonly day: WindowState;
  readonly month: WindowState;
  readonly past: readonly WindowState[];
}

export interface AccountState {
  readonly id: string;
  readonly spentNanoUsd: bigint;
}

/** Told of the records in their order; what is left out is skipped without being read. */
export interface RecordVisitor {
  held?(record: HeldRecord): void;
  gone?(callId: string): void;
  renewed?(record: { readonly callId: string; readonly progress: CallProgress; readonly renewedMs: number }): void;
  settled?(record: SettledRecord): void;
  job?(record: JobStateRecord): void;
  key?(state: KeyState): void;
  account?(state: AccountState): void;
}

/** The header, or undefined where it is not whole: the process ended before it was written. */
export function readHeader(bytes: Buffer, checksum: Checksum): SegmentHeader | undefined {
  if (bytes.length < SEGMENT_HEADER_BYTES || bytes.readBigUInt64LE(0) !== SEGMENT_MAGIC) return undefined;
  const sum = checksum(bytes.subarray(0, SEGMENT_HEADER_BYTES - 4));
  if (bytes.readUInt32LE(SEGMENT_HEADER_BYTES - 4) !== sum) return undefined;
  return { number: bytes.readDoubleLE(8), ledgerId: bytes.toString('hex', 16, 24), whole: bytes.readUInt8(24) === 1 };
}

export interface SegmentEnd {
  /** Up to there it is whole. */
  readonly bytes: number;
  /** Something follows that is no frame. */
  readonly torn: boolean;
  /** A frame follows that: it is not the end of a segment that is torn, but damage within. */
  readonly damaged: boolean;
}

/** Reads the frames after the header, up to the first that is not whole. */
export function readFrames(bytes: Buffer, visitor: RecordVisitor, checksum: Checksum): SegmentEnd {
  const names: string[] = [];
  let at = SEGMENT_HEADER_BYTES;
  for (let end = frameEnd(bytes, at, checksum); end !== undefined; end = frameEnd(bytes, at, checksum)) {
    readRecords(bytes, { from: at + FRAME_HEADER_BYTES, to: end, names }, visitor);
    at = end;
  }
  const torn = at < bytes.length;
  return { bytes: at, torn, damaged: torn && hasFrameAfter(bytes, at, checksum) };
}

function frameEnd(bytes: Buffer, at: number, checksum: Checksum): number | undefined {
  if (at + FRAME_HEADER_BYTES > bytes.length || bytes.readUInt32LE(at) !== FRAME_MAGIC) return undefined;
  const end = at + FRAME_HEADER_BYTES + bytes.readUInt32LE(at + 4);
  if (end > bytes.length) return undefined;
  return checksum(bytes.subarray(at + FRAME_HEADER_BYTES, end)) === bytes.readUInt32LE(at + 8) ? end : undefined;
}

const FRAME_MARK = Buffer.from('FRME', 'latin1');

function hasFrameAfter(bytes: Buffer, after: number, checksum: Checksum): boolean {
  for (let at = bytes.indexOf(FRAME_MARK, after + 1); at >= 0; at = bytes.indexOf(FRAME_MARK, at + 1))
    if (frameEnd(bytes, at, checksum) !== undefined) return true;
  return false;
}

/** Reads whole records; the names that they define are added. */
export function readRecords(bytes: Buffer, { from, to, names }: { from: number; to: number; names: string[] }, visitor: RecordVisitor): void {
  const read = new FieldReader(bytes, names);
  for (let at = from; at < to;) {
    const kind = bytes.readUInt8(at);
    read.at = at + RECORD_HEADER_BYTES;
    if (kind === KIND.name) names.push(read.text());
    else visit(kind, read, visitor);
    at += RECORD_HEADER_BYTES + bytes.readUInt32LE(at + 1);
  }
}

const VISITS: Readonly<Record<number, (read: FieldReader, visitor: RecordVisitor) => void>> = {
  [KIND.held]: (read, visitor) => visitor.held?.(readHeld(read)),
  [KIND.gone]: (read, visitor) => visitor.gone?.(read.text()),
  [KIND.renewed]: (read, visitor) => visitor.renewed?.({ callId: read.text(), progress: readProgress(read), renewedMs: read.number() }),
  [KIND.settled]: (read, visitor) => visitor.settled?.(readSettled(read)),
  [KIND.job]: (read, visitor) => visitor.job?.(readJob(read)),
  [KIND.key]: (read, visitor) => visitor.key?.(readKey(read)),
  [KIND.account]: (read, visitor) => visitor.account?.({ id: read.name(), spentNanoUsd: read.amount() }),
};

function visit(kind: number, read: FieldReader, visitor: RecordVisitor): void {
  const reading = VISITS[kind];
  if (!reading) throw new Error(`a record of unknown kind ${kind}: the journal was written by a newer program`);
  reading(read, visitor);
}

function readHeld(read: FieldReader): HeldRecord {
  return {
    origin: readOrigin(read), progress: readProgress(read), grantedNanoUsd: read.amount(), dayStartMs: read.number(), monthStartMs: read.number(),
    keyLimitNanoUsd: read.amountOrNull(), period: read.word(PERIODS), accountCreditNanoUsd: read.amountOrNull() ?? 0n, renewedMs: read.number(),
  };
}

function readSettled(read: FieldReader): SettledRecord {
  const { callId, keyUid, account, createdMs, group, model, channel, catalog } = readOrigin(read);
  const { costNanoUsd, tokens, usageSource } = readProgress(read);
  const record = {
    callId, keyUid, account, createdMs, group, model, channel, catalog, costNanoUsd, tokens, usageSource,
    status: read.word(STATUSES), unbilledNanoUsd: read.amount(), durationMs: read.number(),
  };
  return {
    record, keySpentNanoUsd: read.amount(), keyRemainingNanoUsd: read.amountOrNull(), settledMs: read.number(),
    dayStartMs: read.number(), monthStartMs: read.number(),
  };
}

function readJob(read: FieldReader): JobStateRecord {
  return {
    origin: readOrigin(read), jobId: read.text(), costNanoUsd: read.amount(), dayStartMs: read.number(), monthStartMs: read.number(),
    state: read.word(JOB_STATES), pollMs: read.number(), endedMs: read.momentOrNull(),
  };
}

function readKey(read: FieldReader): KeyState {
  return {
    uid: read.name(), totalSpentNanoUsd: read.amount(), lastUsedMs: read.momentOrNull(), day: readWindow(read), month: readWindow(read),
    past: Array.from({ length: read.integer() }, () => readWindow(read)),
  };
}

function readWindow(read: FieldReader): WindowState {
  return { kind: read.byte() === 0 ? 'Day' : 'Month', startMs: read.number(), spentNanoUsd: read.amount() };
}

function readOrigin(read: FieldReader): CallOrigin {
  return {
    callId: read.text(), keyUid: read.name(), account: read.name(), createdMs: read.number(),
    group: read.name(), model: read.name(), channel: read.name(), catalog: read.name(),
  };
}

function readProgress(read: FieldReader): CallProgress {
  return {
    costNanoUsd: read.amount(),
    tokens: { input: read.number(), cached: read.number(), cacheWrite5m: read.number(), cacheWrite1h: read.number(), output: read.number() },
    usageSource: read.word(SOURCES),
  };
}

/** Fields one after the other, as journal-encoder.ts writes them. */
class FieldReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #names: readonly string[];
  at = 0;

  constructor(bytes: Buffer, names: readonly string[]) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#names = names;
  }

  byte(): number {
    return this.#view.getUint8(this.at++);
  }

  integer(): number {
    this.at += 4;
    return this.#view.getUint32(this.at - 4, true);
  }

  number(): number {
    this.at += 8;
    return this.#view.getFloat64(this.at - 8, true);
  }

  momentOrNull(): number | null {
    const moment = this.number();
    return moment < 0 ? null : moment;
  }

  amount(): bigint {
    this.at += 8;
    return this.#view.getBigInt64(this.at - 8, true);
  }

  amountOrNull(): bigint | null {
    const isNull = this.byte() === 0;
    const amount = this.amount();
    return isNull ? null : amount;
  }

  text(): string {
    const length = this.integer();
    this.at += length;
    return this.#bytes.toString('utf8', this.at - length, this.at);
  }

  name(): string {
    const name = this.#names[this.integer()];
    if (name === undefined) throw new Error('a record of the journal names what was never named');
    return name;
  }

  word<T extends string>(words: readonly T[]): T {
    const word = words[this.byte()];
    if (word === undefined) throw new Error('the journal has an unknown word: it was written by a newer program');
    return word;
  }
}

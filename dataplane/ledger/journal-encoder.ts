/**
 * [P] Writes movements as records of the journal, into one buffer that is used again and again. `crc32` comes from outside.
 */
import { MAX_NANO_USD, wholeNumber } from './amounts.ts';
import type { AccountBook, Hold, KeyBook, SettledCall, Window } from './books.ts';
import type { Job } from './jobs.ts';
import { FRAME_HEADER_BYTES, FRAME_MAGIC, JOB_STATES, KIND, PERIODS, RECORD_HEADER_BYTES, SEGMENT_HEADER_BYTES, SEGMENT_MAGIC, SOURCES, STATUSES } from './journal-format.ts';
import type { SegmentHeader } from './journal-format.ts';
import type { CallOrigin, CallProgress } from './usage-record.ts';

export type Checksum = (bytes: Uint8Array) => number;

const FIRST_BYTES = 1 << 16;
/** More than all fields of fixed width of any record but a key's. */
const RECORD_BYTES = 256;
const WINDOW_BYTES = 17;

/** Records in frames: those that are sealed and wait to be written, and an open one. */
export class JournalEncoder {
  readonly #checksum: Checksum;
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #view = viewOf(this.#bytes);
  #at = FRAME_HEADER_BYTES;
  #frameStart = 0;
  #recordStart = 0;
  #references = new Map<string, number>();
  #names: string[] = [];

  constructor(checksum: Checksum) {
    this.#checksum = checksum;
  }

  /** The names of this segment so far, by number. */
  get names(): readonly string[] {
    return this.#names;
  }

  get isEmpty(): boolean {
    return this.#frameStart === 0 && this.#at === FRAME_HEADER_BYTES;
  }

  /** Where the record that was begun last stands in the buffer. */
  get recordStart(): number {
    return this.#recordStart;
  }

  /** The bytes from there on, as long as nothing is added. */
  bytesFrom(start: number): Buffer {
    return this.#bytes.subarray(start, this.#at);
  }

  /** Ends the open frame, and gives all that waits to be written: the same bytes again, and what came since, until `written`. */
  seal(): Uint8Array {
    const length = this.#at - this.#frameStart - FRAME_HEADER_BYTES;
    if (length > 0) {
      this.#view.setUint32(this.#frameStart, FRAME_MAGIC, true);
      this.#view.setUint32(this.#frameStart + 4, length, true);
      this.#view.setUint32(this.#frameStart + 8, this.#checksum(this.#bytes.subarray(this.#frameStart + FRAME_HEADER_BYTES, this.#at)), true);
      this.#frameStart = this.#at;
      this.#reserve(FRAME_HEADER_BYTES);
      this.#at += FRAME_HEADER_BYTES;
    }
    return this.#bytes.subarray(0, this.#frameStart);
  }

  /** What was sealed is in the segment. */
  written(): void {
    this.#frameStart = 0;
    this.#at = FRAME_HEADER_BYTES;
  }

  held(hold: Hold): void {
    const { origin, limits } = hold;
    this.#beginCall(KIND.held, origin);
    this.#progress(hold.progress);
    this.#amount(hold.grantedNanoUsd);
    this.#number(hold.day.startMs);
    this.#number(hold.month.startMs);
    this.#amountOrNull(bounded(limits.keyLimitNanoUsd));
    this.#byte(PERIODS.indexOf(limits.period));
    this.#amountOrNull(bounded(limits.accountCreditNanoUsd));
    this.#number(hold.renewedMs);
    this.#end();
  }

  gone(callId: string): void {
    this.#begin(KIND.gone, callId.length);
    this.#text(callId);
    this.#end();
  }

  renewed({ origin, progress, renewedMs }: Hold): void {
    this.#begin(KIND.renewed, origin.callId.length);
    this.#text(origin.callId);
    this.#progress(progress);
    this.#number(renewedMs);
    this.#end();
  }

  settled({ record, keySpentNanoUsd, keyRemainingNanoUsd, settledMs }: SettledCall, { day, month }: Pick<Hold, 'day' | 'month'>): void {
    this.#beginCall(KIND.settled, record);
    this.#progress(record);
    this.#byte(STATUSES.indexOf(record.status));
    this.#amount(record.unbilledNanoUsd);
    this.#number(record.durationMs);
    this.#amount(keySpentNanoUsd);
    this.#amountOrNull(keyRemainingNanoUsd);
    this.#number(settledMs);
    this.#number(day.startMs);
    this.#number(month.startMs);
    this.#end();
  }

  job({ jobId, origin, costNanoUsd, dayStartMs, monthStartMs, state, pollMs, endedMs }: Job): void {
    this.#beginCall(KIND.job, origin, jobId.length);
    this.#text(jobId);
    this.#amount(costNanoUsd);
    this.#number(dayStartMs);
    this.#number(monthStartMs);
    this.#byte(JOB_STATES.indexOf(state));
    this.#number(pollMs);
    this.#number(endedMs ?? -1);
    this.#end();
  }

  key({ uid, total, day, month, past, lastUsedMs }: KeyBook): void {
    const reference = this.#reference(uid);
    this.#begin(KIND.key, (past.length + 2) * WINDOW_BYTES);
    this.#integer(reference);
    this.#amount(total.spentNanoUsd);
    this.#number(lastUsedMs ?? -1);
    this.#window(day);
    this.#window(month);
    this.#integer(past.length);
    for (const window of past) this.#window(window);
    this.#end();
  }

  account({ id, spentNanoUsd }: AccountBook): void {
    const reference = this.#reference(id);
    this.#begin(KIND.account, 0);
    this.#integer(reference);
    this.#amount(spentNanoUsd);
    this.#end();
  }

  #beginCall(kind: number, origin: CallOrigin, textLength = 0): void {
    const keyUid = this.#reference(origin.keyUid);
    const account = this.#reference(origin.account);
    const group = this.#reference(origin.group);
    const model = this.#reference(origin.model);
    const channel = this.#reference(origin.channel);
    const catalog = this.#reference(origin.catalog);
    this.#begin(kind, origin.callId.length + textLength);
    this.#text(origin.callId);
    this.#integer(keyUid);
    this.#integer(account);
    this.#number(wholeNumber(origin.createdMs));
    this.#integer(group);
    this.#integer(model);
    this.#integer(channel);
    this.#integer(catalog);
  }

  /** A name is a record of its own, before the first that needs it. */
  #reference(name: string): number {
    const known = this.#references.get(name);
    if (known !== undefined) return known;
    const reference = this.#names.push(name) - 1;
    this.#references.set(name, reference);
    this.#begin(KIND.name, name.length);
    this.#text(name);
    this.#end();
    return reference;
  }

  #begin(kind: number, textLength: number): void {
    // a character takes at most three bytes
    this.#reserve(RECORD_BYTES + 3 * textLength);
    this.#recordStart = this.#at;
    this.#bytes[this.#at] = kind;
    this.#at += RECORD_HEADER_BYTES;
  }

  #end(): void {
    this.#view.setUint32(this.#recordStart + 1, this.#at - this.#recordStart - RECORD_HEADER_BYTES, true);
  }

  #progress({ costNanoUsd, tokens, usageSource }: CallProgress): void {
    this.#amount(costNanoUsd);
    this.#number(tokens.input);
    this.#number(tokens.cached);
    this.#number(tokens.cacheWrite5m);
    this.#number(tokens.cacheWrite1h);
    this.#number(tokens.output);
    this.#byte(SOURCES.indexOf(usageSource));
  }

  #window({ kind, startMs, spentNanoUsd }: Window): void {
    this.#byte(kind === 'Day' ? 0 : 1);
    this.#number(startMs);
    this.#amount(spentNanoUsd);
  }

  #byte(value: number): void {
    this.#bytes[this.#at++] = value;
  }

  #integer(value: number): void {
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
  }

  #number(value: number): void {
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  #amount(value: bigint): void {
    this.#view.setBigInt64(this.#at, value, true);
    this.#at += 8;
  }

  #amountOrNull(value: bigint | null): void {
    this.#byte(value === null ? 0 : 1);
    this.#amount(value ?? 0n);
  }

  /** UTF-8; by hand where it is ASCII, which ids are. */
  #text(text: string): void {
    const lengthAt = this.#at;
    let at = lengthAt + 4;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code > 127) {
        at = lengthAt + 4 + this.#bytes.write(text, lengthAt + 4, 'utf8');
        break;
      }
      this.#bytes[at++] = code;
    }
    this.#view.setUint32(lengthAt, at - lengthAt - 4, true);
    this.#at = at;
  }

  #reserve(more: number): void {
    const needed = this.#at + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 ** Math.ceil(Math.log2(needed)));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
    this.#view = viewOf(larger);
  }
}

/** A segment's first bytes. */
export function encodeHeader({ number, ledgerId, whole }: SegmentHeader, checksum: Checksum): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
  bytes.writeBigUInt64LE(SEGMENT_MAGIC, 0);
  bytes.writeDoubleLE(number, 8);
  bytes.write(ledgerId, 16, 8, 'hex');
  bytes.writeUInt8(whole ? 1 : 0, 24);
  bytes.writeUInt32LE(checksum(bytes.subarray(0, SEGMENT_HEADER_BYTES - 4)), SEGMENT_HEADER_BYTES - 4);
  return bytes;
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function bounded(amount: bigint | null): bigint | null {
  if (amount === null) return null;
  if (amount > MAX_NANO_USD) return MAX_NANO_USD;
  return amount < -MAX_NANO_USD ? -MAX_NANO_USD : amount;
}

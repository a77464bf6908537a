/**
 * Encodes movements as journal records and buffers them until they are written.
 */
import { MAX_NANO_USD, wholeNumber } from '../amounts.ts';
import { encodeLines } from '../../price/bill.ts';
import type { AccountBalance, Hold, KeyBalance, SettledCall, Window } from '../balances.ts';
import type { Job } from '../jobs.ts';
import type { JobBill } from '../ledger.ts';
import { CALL_STATUSES, USAGE_SOURCES } from '../../usage/record.ts';
import type { CallOrigin, CallProgress } from '../../usage/record.ts';
import type { CallWindows, UnwrittenCall } from './settled-calls.ts';
import { encodeFrame, FRAME_HEADER_BYTES, JOB_STATES, KIND, PERIODS, RECORD_HEADER_BYTES } from './journal-format.ts';

/**
 * Buffers unwritten records as one frame, of which the journal contains all or nothing. If a hold is withdrawn before
 * it could be written, recovery therefore never finds the hold without its withdrawal.
 */
export class JournalEncoder {
  /** The names of this segment; a name's reference number is its index. */
  readonly names: string[] = [];
  readonly #references = new Map<string, number>();
  #records: Buffer[] = [];
  #recordsLength = 0;

  get isEmpty(): boolean {
    return this.#records.length === 0;
  }

  /**
   * Returns the frame to write; empty if there are no records. After a failed write, the next frame repeats the
   * records.
   */
  frame(): Buffer {
    return this.isEmpty ? Buffer.alloc(0) : encodeFrame(this.#records);
  }

  /** Drops the records after they have been written. */
  written(): void {
    this.#records = [];
    this.#recordsLength = 0;
  }

  held({ origin, limits, progress, grantedNanoUsd, day, month, renewedMs }: Hold): void {
    const record = this.#beginCall(KIND.held, origin);
    writeProgress(record, progress);
    record.amount(grantedNanoUsd);
    record.number(day.startMs);
    record.number(month.startMs);
    record.amountOrNull(bounded(limits.keyLimitNanoUsd));
    record.byte(PERIODS.indexOf(limits.period));
    record.amountOrNull(bounded(limits.accountCreditNanoUsd));
    record.number(renewedMs);
    record.text(encodeLines(progress.lines));
    record.text(origin.session ?? '');
    record.text(formatUpstream(progress));
    this.#endCall(record, origin);
    this.#add(record);
  }

  withdrawn(callId: string): void {
    const record = new RecordWriter(KIND.withdrawn);
    record.text(callId);
    this.#add(record);
  }

  renewed({ origin, progress, renewedMs }: Hold): void {
    const record = new RecordWriter(KIND.renewed);
    record.text(origin.callId);
    writeProgress(record, progress);
    record.number(renewedMs);
    record.text(encodeLines(progress.lines));
    record.text(formatUpstream(progress));
    this.#add(record);
  }

  /** Returns the record's offset from the start of the next write. */
  settled(call: SettledCall, windows: CallWindows): number {
    return this.#add(this.#encodeSettled(call, windows));
  }

  /** Replaces a settled call's record, which is not written yet, by one of the same length. */
  replaceSettled({ call, windows, offset }: UnwrittenCall): void {
    let at = FRAME_HEADER_BYTES;
    this.#records = this.#records.map((bytes) => {
      const isReplaced = at === offset;
      at += bytes.length;
      return isReplaced ? this.#encodeSettled(call, windows).end() : bytes;
    });
  }

  #encodeSettled(call: SettledCall, { day, month }: CallWindows): RecordWriter {
    const { record: usage, keySpentNanoUsd, keyRemainingNanoUsd, settledMs } = call;
    const record = this.#beginCall(KIND.settled, usage);
    writeProgress(record, usage);
    record.byte(CALL_STATUSES.indexOf(usage.status));
    record.amount(usage.unbilledNanoUsd);
    record.number(usage.durationMs);
    record.amount(keySpentNanoUsd);
    record.amountOrNull(keyRemainingNanoUsd);
    record.number(settledMs);
    record.number(day.startMs);
    record.number(month.startMs);
    record.text(encodeLines(usage.lines));
    record.text(usage.session ?? '');
    record.text(formatUpstream(usage));
    this.#endCall(record, usage);
    return record;
  }

  job({ jobId, origin, terms, costNanoUsd, dayStartMs, monthStartMs, state, bill, pollMs, endedMs }: Job): void {
    const record = this.#beginCall(KIND.job, origin);
    record.text(jobId);
    record.amount(costNanoUsd);
    record.number(dayStartMs);
    record.number(monthStartMs);
    record.byte(JOB_STATES.indexOf(state));
    record.number(pollMs);
    record.number(endedMs ?? -1);
    record.text(state === 'Running' ? (terms ?? '') : '');
    if (bill) writeBill(record, bill);
    this.#add(record);
  }

  /** The totals of a key after all movements so far. */
  key({ uid, total, day, month, past, lastUsedMs }: KeyBalance): void {
    const record = new RecordWriter(KIND.key);
    record.integer(this.#reference(uid));
    record.amount(total.spentNanoUsd);
    record.number(lastUsedMs ?? -1);
    writeWindow(record, day);
    writeWindow(record, month);
    record.integer(past.length);
    for (const window of past) writeWindow(record, window);
    this.#add(record);
  }

  /** The totals of an account after all movements so far. */
  account({ id, spentNanoUsd }: AccountBalance): void {
    const record = new RecordWriter(KIND.account);
    record.integer(this.#reference(id));
    record.amount(spentNanoUsd);
    this.#add(record);
  }

  #beginCall(kind: number, origin: CallOrigin): RecordWriter {
    const record = new RecordWriter(kind);
    record.text(origin.callId);
    record.integer(this.#reference(origin.keyUid));
    record.integer(this.#reference(origin.account));
    record.number(wholeNumber(origin.createdMs));
    record.integer(this.#reference(origin.group));
    record.integer(this.#reference(origin.model));
    record.integer(this.#reference(origin.channel));
    record.integer(this.#reference(origin.catalog));
    return record;
  }

  /** Writes the fields that later versions added to an origin. */
  #endCall(record: RecordWriter, { keyName = '', labels = '' }: CallOrigin): void {
    record.integer(this.#reference(keyName));
    record.integer(this.#reference(labels));
  }

  /** The reference number of a name; adds a name record before its first use. */
  #reference(name: string): number {
    const known = this.#references.get(name);
    if (known !== undefined) return known;
    const reference = this.names.push(name) - 1;
    this.#references.set(name, reference);
    const record = new RecordWriter(KIND.name);
    record.text(name);
    this.#add(record);
    return reference;
  }

  #add(record: RecordWriter): number {
    const offset = FRAME_HEADER_BYTES + this.#recordsLength;
    const bytes = record.end();
    this.#records.push(bytes);
    this.#recordsLength += bytes.length;
    return offset;
  }
}

function writeProgress(record: RecordWriter, { costNanoUsd, tokens, usageSource }: CallProgress): void {
  record.amount(costNanoUsd);
  record.number(tokens.input);
  record.number(tokens.cached);
  record.number(tokens.cacheWrite5m);
  record.number(tokens.cacheWrite1h);
  record.number(tokens.output);
  record.byte(USAGE_SOURCES.indexOf(usageSource));
}

function writeBill(record: RecordWriter, { progress, status }: JobBill): void {
  writeProgress(record, progress);
  record.byte(CALL_STATUSES.indexOf(status));
  record.text(encodeLines(progress.lines));
  record.text(formatUpstream(progress));
}

function writeWindow(record: RecordWriter, { kind, startMs, spentNanoUsd }: Window): void {
  record.byte(kind === 'Day' ? 0 : 1);
  record.number(startMs);
  record.amount(spentNanoUsd);
}

/** The upstream cost as text; empty: unknown. */
function formatUpstream({ upstreamCostNanoUsd }: CallProgress): string {
  return upstreamCostNanoUsd === undefined ? '' : String(upstreamCostNanoUsd);
}

/** Clamps an amount to 64 bits. */
function bounded(amount: bigint | null): bigint | null {
  if (amount === null) return null;
  if (amount > MAX_NANO_USD) return MAX_NANO_USD;
  return amount < -MAX_NANO_USD ? -MAX_NANO_USD : amount;
}

class RecordWriter {
  #bytes = Buffer.allocUnsafe(256);
  #at = RECORD_HEADER_BYTES;

  constructor(kind: number) {
    this.#bytes.writeUInt8(kind, 0);
  }

  /** Writes the length and returns the record. */
  end(): Buffer {
    this.#bytes.writeUInt32LE(this.#at - RECORD_HEADER_BYTES, 1);
    return this.#bytes.subarray(0, this.#at);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#at = this.#bytes.writeUInt8(value, this.#at);
  }

  integer(value: number): void {
    this.#reserve(4);
    this.#at = this.#bytes.writeUInt32LE(value, this.#at);
  }

  number(value: number): void {
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  amount(value: bigint): void {
    this.#reserve(8);
    this.#at = this.#bytes.writeBigInt64LE(value, this.#at);
  }

  amountOrNull(value: bigint | null): void {
    this.byte(value === null ? 0 : 1);
    this.amount(value ?? 0n);
  }

  /** Appends UTF-8 text, preceded by its length in bytes. */
  text(text: string): void {
    const length = Buffer.byteLength(text);
    this.integer(length);
    this.#reserve(length);
    this.#at += this.#bytes.write(text, this.#at);
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    this.#bytes = Buffer.concat([this.#bytes.subarray(0, this.#at)], 2 * (this.#at + length));
  }
}

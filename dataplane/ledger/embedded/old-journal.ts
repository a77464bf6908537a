/**
 * Takes over the journal of an earlier version, whose ledger had a write-ahead log of its own beside the file. A segment
 * `<ledger>.journal-<number>` is a header and frames, one per write, each with a length and a checksum. A record is a
 * kind, a length and fields of fixed width, little-endian; a name is written once per segment and then referred to by
 * number. Only segments after the last checkpoint, which the file names, are read.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { basename, dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { newWindow, NONE_SEEN } from '../balances.ts';
import type { Balances, KeyBalance, Window } from '../balances.ts';
import { addJob, jobOfChannel } from '../jobs.ts';
import type { Job } from '../jobs.ts';
import { endJob } from '../ledger-core.ts';
import { JOB_STATES } from '../ledger.ts';
import type { JobBill } from '../ledger.ts';
import { createMarks } from '../marks.ts';
import { decodeLines } from '#price/bill.ts';
import { CALL_STATUSES, USAGE_SOURCES } from '#usage/record.ts';
import type { CallOrigin, CallProgress } from '#usage/record.ts';
import type { Changes } from './changes.ts';
import { forgetHold, restoreHold, restoreSettlement } from './restore.ts';
import { limitsInList } from './rows.ts';
import type { Settlement, StoredHold } from './rows.ts';

/** "MGWJRNL1" */
const SEGMENT_MAGIC = 0x314c4e524a57474dn;
/** Bytes: magic 8, number 8, ledger id 8, whole 1, reserved 3, checksum of the preceding bytes 4. */
const SEGMENT_HEADER_BYTES = 32;
const CHECKSUM_AT = SEGMENT_HEADER_BYTES - 4;
/** "FRME" */
const FRAME_MAGIC = 0x454d5246;
/** Bytes: magic 4, length of the rest 4, checksum of the rest 4. */
const FRAME_HEADER_BYTES = 12;
/** Bytes: kind 1, length of the fields 4. */
const RECORD_HEADER_BYTES = 5;
const KIND = { name: 1, held: 2, withdrawn: 3, renewed: 4, settled: 5, job: 6, key: 7, account: 8 } as const;
/** Words are stored as indexes into these lists and those of usage/record.ts. */
const PERIODS = ['Never', 'Daily', 'Monthly'] as const;

/** How far the journal was applied to the file. */
interface Checkpoint {
  readonly ledgerId: string;
  /** The last segment that is in the file. */
  readonly segment: number;
}

interface Segment {
  readonly number: number;
  /** Identifies the ledger's file, 16 hexadecimal digits. */
  readonly ledgerId: string;
  /** The segment begins with all balances and supersedes everything before it. */
  readonly whole: boolean;
  readonly path: string;
  readonly bytes: Buffer;
}

interface Renewed {
  readonly callId: string;
  readonly progress: CallProgress;
  readonly renewedMs: number;
}

/** An earlier version's journal, which the file does not have yet. */
export interface OldJournal {
  /** The file belongs to an earlier ledger: the journal alone has all balances. */
  readonly supersedesFile: boolean;
  /** Applies the journal to balances, and notes everything for the next commit. */
  replay(balances: Balances, changes: Changes, nowMs: number): void;
  /** Within the transaction of that commit, before the rest. */
  take(db: DatabaseSync): void;
}

/** Reads the journal of a ledger; undefined: it has none. Throws with advice if it is damaged or another ledger's. */
export function readOldJournal(path: string, db: DatabaseSync): OldJournal | undefined {
  const checkpoint = readCheckpoint(db);
  const segments = segmentsAfter(path, checkpoint);
  const [first, last] = [segments[0], segments.at(-1)];
  if (!first || !last) return undefined;
  const supersedesFile = first.ledgerId !== checkpoint.ledgerId;
  return {
    supersedesFile,
    replay: (balances, changes, nowMs) => {
      for (const segment of segments) visitSegment(segment, segment === last, { balances, changes, nowMs });
      for (const key of balances.keys.values()) balances.changedKeys.add(key);
      for (const account of balances.accounts.values()) balances.changedAccounts.add(account);
    },
    take: (file) => {
      if (supersedesFile)
        file.exec(
          "DELETE FROM calls; DELETE FROM keys; DELETE FROM accounts; DELETE FROM jobs WHERE state = 'Running'",
        );
      file.prepare('UPDATE journal SET ledger_id = ?, folded = ?').run(last.ledgerId, last.number);
    },
  };
}

/** Deletes the segments once the file has them. */
export function removeOldJournal(path: string): void {
  for (const number of listSegments(path)) rmSync(segmentPath(path, number), { force: true });
}

function readCheckpoint(db: DatabaseSync): Checkpoint {
  const row = db.prepare('SELECT ledger_id, folded FROM journal').get();
  if (!row) throw new Error('its checkpoint is missing');
  return { ledgerId: String(row['ledger_id']), segment: Number(row['folded']) };
}

const DIGITS = 12;

function segmentPath(ledgerPath: string, number: number): string {
  return `${ledgerPath}.journal-${String(number).padStart(DIGITS, '0')}`;
}

/** The numbers of the ledger's segments, ascending. */
function listSegments(ledgerPath: string): number[] {
  const prefix = `${basename(ledgerPath)}.journal-`;
  return readdirSync(dirname(ledgerPath))
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((a, b) => a - b);
}

/** The segments after a checkpoint, in order. Throws with advice if they do not continue the checkpoint. */
function segmentsAfter(ledgerPath: string, checkpoint: Checkpoint): Segment[] {
  const segments = listSegments(ledgerPath)
    .map((number) => loadSegment(ledgerPath, number))
    .filter((segment) => segment !== undefined);
  // after a segment with all balances, neither the file nor earlier segments are needed
  const [base] = segments.slice(
    Math.max(
      0,
      segments.findLastIndex(({ whole }) => whole),
    ),
  );
  const isReplaced = base?.whole && base.ledgerId !== checkpoint.ledgerId;
  const { ledgerId, segment: last } = isReplaced ? { ledgerId: base.ledgerId, segment: base.number - 1 } : checkpoint;
  const following = segments.filter(({ number }) => number > last);
  for (const [index, segment] of following.entries()) {
    if (segment.ledgerId !== ledgerId)
      throw new Error(`the journal ${segment.path} belongs to another file. ${remedy(segment.path)}`);
    if (segment.number === last + index + 1) continue;
    throw new Error(
      `the journal continues at ${segment.path}, and the file ends at segment ${last + index}: ` +
        `one of them is not of this ledger or not complete. ${remedy(segment.path)}`,
    );
  }
  return following;
}

/** Returns undefined if the process ended before it wrote the header. */
function loadSegment(ledgerPath: string, number: number): Segment | undefined {
  const path = segmentPath(ledgerPath, number);
  const bytes = readFileSync(path);
  const isComplete =
    bytes.length >= SEGMENT_HEADER_BYTES &&
    bytes.readBigUInt64LE(0) === SEGMENT_MAGIC &&
    bytes.readUInt32LE(CHECKSUM_AT) === crc32(bytes.subarray(0, CHECKSUM_AT)) &&
    bytes.readDoubleLE(8) === number;
  if (isComplete)
    return { number, ledgerId: bytes.toString('hex', 16, 24), whole: bytes.readUInt8(24) === 1, path, bytes };
  if (bytes.length >= SEGMENT_HEADER_BYTES && bytes.some((byte) => byte !== 0))
    throw new Error(`the journal ${path} is damaged at its beginning. ${remedy(path)}`);
  return undefined;
}

interface Target {
  readonly balances: Balances;
  readonly changes: Changes;
  readonly nowMs: number;
}

/** Replays the records of a segment. Throws if it is damaged, or torn without being the last. */
function visitSegment({ bytes, path }: Segment, isLast: boolean, target: Target): void {
  const names: string[] = [];
  let at = SEGMENT_HEADER_BYTES;
  for (let end = frameEnd(bytes, at); end !== undefined; end = frameEnd(bytes, at)) {
    for (let record = at + FRAME_HEADER_BYTES; record < end;) {
      const read = new FieldReader(bytes, record + RECORD_HEADER_BYTES, names);
      replayRecord(bytes.readUInt8(record), read, { ...target, names });
      record += RECORD_HEADER_BYTES + bytes.readUInt32LE(record + 1);
    }
    at = end;
  }
  // an incomplete frame at the very end is of a process that was interrupted
  if (at === bytes.length || (isLast && !hasFrameAfter(bytes, at))) return;
  throw new Error(
    `the journal ${path} is damaged at byte ${at} of ${bytes.length}, and goes on after that. ` + remedy(path),
  );
}

/** The end of the frame at an offset; undefined if there is no frame or it is incomplete. */
function frameEnd(bytes: Buffer, at: number): number | undefined {
  const start = at + FRAME_HEADER_BYTES;
  if (start > bytes.length || bytes.readUInt32LE(at) !== FRAME_MAGIC) return undefined;
  const end = start + bytes.readUInt32LE(at + 4);
  if (end > bytes.length) return undefined;
  return crc32(bytes.subarray(start, end)) === bytes.readUInt32LE(at + 8) ? end : undefined;
}

const FRAME_MARK = Buffer.alloc(4);
FRAME_MARK.writeUInt32LE(FRAME_MAGIC);

function hasFrameAfter(bytes: Buffer, after: number): boolean {
  for (let at = bytes.indexOf(FRAME_MARK, after + 1); at >= 0; at = bytes.indexOf(FRAME_MARK, at + 1))
    if (frameEnd(bytes, at) !== undefined) return true;
  return false;
}

function remedy(path: string): string {
  return (
    "Restore the ledger's file and its journal together from a backup; or, to go on without what the journal has " +
    `(the last seconds of that process), move all ${basename(path).replace(/\d+$/, '*')} away and start again.`
  );
}

function replayRecord(kind: number, read: FieldReader, target: Target & { readonly names: string[] }): void {
  switch (kind) {
    case KIND.name:
      target.names.push(read.text());
      return;
    case KIND.held:
      return replayHold(target, readHeld(read));
    case KIND.withdrawn:
      return replayWithdrawal(target, read.text());
    case KIND.renewed:
      return replayProgress(target, readRenewed(read));
    case KIND.settled:
      return replaySettlement(target, readSettled(read));
    case KIND.job:
      return replayJob(target, readJob(read));
    case KIND.key:
      return replayKey(target, readKey(read));
    case KIND.account:
      return replayAccount(target, read.name(), read.amount());
    default:
      throw new Error(`a record of unknown kind ${kind}: the journal was written by a newer program`);
  }
}

function replayHold({ balances, changes, nowMs }: Target, stored: StoredHold): void {
  restoreHold(balances, stored, nowMs);
  const hold = balances.holds.get(stored.origin.callId);
  if (hold) changes.held(hold);
}

function replayWithdrawal({ balances, changes }: Target, callId: string): void {
  forgetHold(balances, callId);
  changes.withdrawn(callId);
}

function replayProgress({ balances, changes }: Target, { callId, progress, renewedMs }: Renewed): void {
  const hold = balances.holds.get(callId);
  if (hold) changes.held(Object.assign(hold, { progress, renewedMs }));
}

function replaySettlement({ balances, changes, nowMs }: Target, settled: Settlement): void {
  restoreSettlement(balances, settled, nowMs);
  changes.restored(settled);
}

function replayJob({ balances, changes, nowMs }: Target, job: Job): void {
  const known = jobOfChannel(balances.jobs, job.origin.channel, job.jobId);
  if (known && job.state !== 'Running')
    endJob(balances, known, { state: job.state, bill: job.bill, nowMs: job.endedMs ?? nowMs });
  if (known) return changes.job(known);
  addJob(balances.jobs, job);
  changes.job(job);
}

/** Totals repeat the sum of earlier movements, except in a segment that begins with all balances. */
function replayKey({ balances }: Target, key: KeyBalance): void {
  if (!balances.keys.has(key.uid)) balances.keys.set(key.uid, key);
}

function replayAccount({ balances }: Target, id: string, spentNanoUsd: bigint): void {
  if (!balances.accounts.has(id))
    balances.accounts.set(id, { id, spentNanoUsd, heldNanoUsd: 0n, marks: createMarks(), seen: NONE_SEEN });
}

function readHeld(read: FieldReader): StoredHold {
  const origin = readOrigin(read);
  const held = {
    origin,
    progress: readProgress(read),
    grantedNanoUsd: read.amount(),
    dayStartMs: read.number(),
    monthStartMs: read.number(),
    limits: limitsInList(origin, {
      keyLimitNanoUsd: read.amountOrNull(),
      period: read.word(PERIODS),
      accountCreditNanoUsd: read.amountOrNull() ?? 0n,
    }),
    renewedMs: read.number(),
  };
  const lines = readLines(read);
  const session = readSession(read);
  const progress = { ...held.progress, ...lines, ...readUpstream(read) };
  return { ...held, progress, origin: { ...held.origin, ...session, ...readKeyName(read) } };
}

function readRenewed(read: FieldReader): Renewed {
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

function readSettled(read: FieldReader): Settlement {
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

function readJob(read: FieldReader): Job {
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
  return {
    ...job,
    admittedMs: job.origin.createdMs,
    terms: terms === '' ? undefined : terms,
    bill: read.isAtEnd ? undefined : readBill(read),
  };
}

function readBill(read: FieldReader): JobBill {
  const [progress, status] = [readProgress(read), read.word(CALL_STATUSES)];
  return { status, progress: { ...progress, ...readLines(read), ...readUpstream(read) } };
}

function readKey(read: FieldReader): KeyBalance {
  return {
    marks: createMarks(),
    seen: NONE_SEEN,
    uid: read.name(),
    total: { spentNanoUsd: read.amount(), heldNanoUsd: 0n },
    lastUsedMs: read.momentOrNull(),
    day: readWindow(read),
    month: readWindow(read),
    past: Array.from({ length: read.integer() }, () => readWindow(read)),
  };
}

function readWindow(read: FieldReader): Window {
  return newWindow(read.byte() === 0 ? 'Day' : 'Month', read.number(), read.amount());
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

/** Reads fields in the order of a record. */
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

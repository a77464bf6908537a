/**
 * The journal of the embedded ledger, as its main thread writes it: every movement is appended to a buffer, and the buffer to
 * the newest segment once per turn of the event loop. A write that failed is repeated at the same place with the same bytes, so
 * that it does not matter what of it was written.
 */
import { closeSync, fdatasync, fstatSync, ftruncateSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import type { AccountBook, Books, Hold, KeyBook, MovementLog, SettledCall } from './books.ts';
import { injectFault, isStalled } from './embedded-faults.ts';
import type { Job } from './jobs.ts';
import { encodeHeader, JournalEncoder } from './journal-encoder.ts';
import { segmentPath, syncFolder } from './journal-segments.ts';
import { JournaledCalls } from './recent-calls.ts';
import type { LeftCalls, ReadableSegment } from './recent-calls.ts';

export interface JournalSettings {
  /** Of the ledger's file. */
  readonly path: string;
  readonly ledgerId: string;
  /** Of the first segment. */
  readonly number: number;
  readonly faults: Int32Array | undefined;
}

const syncData = promisify(fdatasync);
const COPY_BYTES = 1 << 20;
const OWNER_ONLY = 0o600;

/** A segment that is written, or was and is kept for its readers. */
class OpenSegment implements ReadableSegment {
  readonly number: number;
  readonly path: string;
  readonly encoder = new JournalEncoder(crc32);
  #fd: number;
  /** Bytes that are in the file for certain. */
  #size = 0;
  /** Its name may not survive a loss of power yet. */
  #isNew = true;
  #isDoubtful = false;

  constructor(path: string, number: number) {
    this.number = number;
    this.path = path;
    this.#fd = openSync(path, 'w+', OWNER_ONLY);
  }

  get fd(): number {
    return this.#fd;
  }

  get names(): readonly string[] {
    return this.encoder.names;
  }

  get size(): number {
    return this.#size;
  }

  /** Where the record that was added last will stand. */
  get lastOffset(): number {
    return this.#size + this.encoder.recordStart;
  }

  get isGone(): boolean {
    return fstatSync(this.#fd).nlink === 0;
  }

  unwritten(offset: number): Buffer | undefined {
    return offset >= this.#size ? this.encoder.bytesFrom(offset - this.#size) : undefined;
  }

  /** After what is there for certain; again, if that was not `accepted`. */
  write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;) done += writeSync(this.#fd, bytes, done, bytes.length - done, this.#size + done);
  }

  accepted(bytes: Uint8Array): void {
    this.#size += bytes.length;
  }

  /** Writes the first half, as a process does that ends within a write. */
  tear(bytes: Uint8Array): void {
    writeSync(this.#fd, bytes, 0, Math.floor(bytes.length / 2), this.#size);
  }

  /** After a failure the disk may have forgotten what it was given, and say at the next try that all is well: it is written anew first. */
  async sync(retire: (fd: number) => void): Promise<void> {
    if (this.#isDoubtful) this.renew(retire);
    const isNew = this.#isNew;
    this.#isDoubtful = true;
    await syncData(this.#fd);
    this.#isDoubtful = false;
    if (!isNew) return;
    await syncFolder(this.path);
    this.#isNew = false;
  }

  /** Makes the file again from what was written: it was removed, or the disk does not keep it. */
  renew(retire: (fd: number) => void): void {
    const path = `${this.path}.new`;
    const fd = openSync(path, 'w+', OWNER_ONLY);
    try {
      copyBytes(this.#fd, fd, this.#size);
      renameSync(path, this.path);
    } catch (error) {
      closeSync(fd);
      rmSync(path, { force: true });
      throw error;
    }
    retire(this.#fd);
    this.#fd = fd;
    this.#isNew = true;
    this.#isDoubtful = false;
  }

  /** It is to be as if it had never been. */
  discard(): void {
    ftruncateSync(this.#fd, 0);
    closeSync(this.#fd);
    rmSync(this.path, { force: true });
  }
}

/** The segments that the file does not have, the newest of which grows. */
export class Journal implements MovementLog {
  readonly #settings: JournalSettings;
  readonly calls: JournaledCalls;
  #current: OpenSegment;
  /** Those before that the file does not have yet. */
  #earlier: OpenSegment[] = [];
  /** Jobs that ended in a segment that the file does not have yet. */
  #ended: { readonly job: Job; readonly number: number }[] = [];
  readonly #unsynced = new Set<OpenSegment>();
  /** Open files that nobody needs but a sync that is under way. */
  readonly #retired: number[] = [];
  #syncing = false;

  constructor(settings: JournalSettings, books: Books, left: LeftCalls) {
    this.#settings = settings;
    this.#current = this.#open(settings.number, books, false);
    this.calls = new JournaledCalls(this.#current, left);
    for (const job of books.jobs.ofChannels.values()) if (job.state !== 'Running') this.#ended.push({ job, number: settings.number });
  }

  get number(): number {
    return this.#current.number;
  }

  get size(): number {
    return this.#current.size;
  }

  /** Nothing waits to be written. */
  get isFlushed(): boolean {
    return this.#current.encoder.isEmpty;
  }

  /** A write would hang now; for tests. */
  get isStalled(): boolean {
    return isStalled(this.#settings.faults);
  }

  held(hold: Hold): void {
    this.#current.encoder.held(hold);
  }

  gone(callId: string): void {
    this.#current.encoder.gone(callId);
  }

  renewed(hold: Hold): void {
    this.#current.encoder.renewed(hold);
  }

  settled(call: SettledCall, hold: Hold): void {
    this.#current.encoder.settled(call, hold);
    this.calls.add(call.record.callId, this.#current.lastOffset);
  }

  job(job: Job): void {
    this.#current.encoder.job(job);
    if (job.state === 'Failed') this.calls.refund(job.origin.callId);
    if (job.state !== 'Running') this.#ended.push({ job, number: this.number });
  }

  /** What keys and accounts come to with all movements so far, for the file. */
  states(keys: Iterable<KeyBook>, accounts: Iterable<AccountBook>): void {
    for (const key of keys) this.#current.encoder.key(key);
    for (const account of accounts) this.#current.encoder.account(account);
  }

  /** Appends what was added. Throws where that fails; everything is kept for the next try. */
  flush(): void {
    if (this.isFlushed) return;
    const { faults } = this.#settings;
    const bytes = this.#current.encoder.seal();
    injectFault(faults, 'BeforeWrite', () => this.#current.tear(bytes));
    this.#unsynced.add(this.#current);
    this.#current.write(bytes);
    injectFault(faults, 'AfterWrite');
    this.#current.accepted(bytes);
    this.#current.encoder.written();
  }

  /** Everything that was flushed before survives a loss of power. One at a time. */
  async sync(): Promise<void> {
    const segments = [...this.#unsynced];
    this.#unsynced.clear();
    this.#syncing = true;
    try {
      for (const segment of segments) await segment.sync(this.#retire);
      injectFault(this.#settings.faults, 'AfterSync');
    } catch (error) {
      for (const segment of segments) if (segment === this.#current || this.#earlier.includes(segment)) this.#unsynced.add(segment);
      throw error;
    } finally {
      this.#syncing = false;
      for (const fd of this.#retired.splice(0)) closeSync(fd);
    }
  }

  /** Begins the next segment, with the holds that are open (whole: with all that the books know), and keeps this one for its readers. */
  rotate(books: Books, whole: boolean): void {
    const next = this.#open(this.#current.number + 1, books, whole);
    this.#earlier.push(this.#current);
    this.#current = next;
    this.#unsynced.add(next);
    this.calls.turnTo(next);
  }

  /** The file has the segments up to this one. Returns the jobs whose end it has with them. */
  folded(to: number): Job[] {
    this.calls.folded(to);
    for (const segment of this.#earlier) if (segment.number <= to) this.#leave(segment);
    this.#earlier = this.#earlier.filter(({ number }) => number > to);
    const ended = this.#ended.filter(({ number }) => number <= to).map(({ job }) => job);
    this.#ended = this.#ended.filter(({ number }) => number > to);
    return ended;
  }

  /** Makes segments again that somebody has removed, or (`all`) that the disk does not take writes to. */
  renew(all: boolean): void {
    for (const segment of [...this.#earlier, this.#current]) if (all || segment.isGone) segment.renew(this.#retire);
  }

  get isGone(): boolean {
    return this.#current.isGone || this.#earlier.some(({ isGone }) => isGone);
  }

  close(): void {
    for (const segment of [...this.#earlier, this.#current]) this.#leave(segment);
  }

  #open(number: number, books: Books, whole: boolean): OpenSegment {
    const { path, ledgerId } = this.#settings;
    const segment = new OpenSegment(segmentPath(path, number), number);
    try {
      const header = encodeHeader({ number, ledgerId, whole }, crc32);
      segment.write(header);
      segment.accepted(header);
      if (whole) {
        for (const key of books.keys.values()) segment.encoder.key(key);
        for (const account of books.accounts.values()) segment.encoder.account(account);
        for (const job of books.jobs.ofChannels.values()) segment.encoder.job(job);
      }
      for (const hold of books.holds.values()) segment.encoder.held(hold);
      const bytes = segment.encoder.seal();
      segment.write(bytes);
      segment.accepted(bytes);
      segment.encoder.written();
      return segment;
    } catch (error) {
      // half a segment beside one that goes on would be read as the end of it
      segment.discard();
      throw error;
    }
  }

  #leave(segment: OpenSegment): void {
    this.#unsynced.delete(segment);
    this.#retire(segment.fd);
  }

  readonly #retire = (fd: number): void => {
    if (this.#syncing) this.#retired.push(fd);
    else closeSync(fd);
  };
}

function copyBytes(from: number, to: number, length: number): void {
  const buffer = Buffer.allocUnsafe(COPY_BYTES);
  for (let at = 0; at < length;) {
    const read = readSync(from, buffer, 0, Math.min(COPY_BYTES, length - at), at);
    if (read === 0) throw new Error('the journal is shorter than it was');
    for (let done = 0; done < read;) done += writeSync(to, buffer, done, read - done, at + done);
    at += read;
  }
}

/**
 * The write-ahead journal of the embedded ledger. It encodes every movement immediately, and appends to the newest
 * segment in one write per turn of the event loop. It repeats a failed write at the same offset, so that a partial
 * write does no harm.
 */
import { closeSync } from 'node:fs';
import type { AccountBalance, Balances, Hold, KeyBalance, MovementLog, SettledCall } from '../balances.ts';
import { changesCall } from '../jobs.ts';
import type { Job } from '../jobs.ts';
import { injectFault, isStalled } from './faults.ts';
import { JournalEncoder } from './journal-encoder.ts';
import { encodeHeader } from './journal-format.ts';
import { SegmentFile } from './segment-file.ts';
import { segmentPath } from './segments.ts';
import { SettledCalls } from './settled-calls.ts';
import type { RecoveredCalls, ReadableSegment } from './settled-calls.ts';
import type { CallStatus } from '../../usage/record.ts';

export interface JournalSettings {
  /** Path of the ledger's file. */
  readonly path: string;
  readonly ledgerId: string;
  /** Number of the first segment. */
  readonly number: number;
  readonly faults: Int32Array | undefined;
}

interface OpenSegment extends ReadableSegment {
  readonly file: SegmentFile;
  readonly encoder: JournalEncoder;
}

interface EndedJob {
  readonly job: Job;
  /** The segment that contains the job's outcome. */
  readonly segment: number;
}

/** Owns the segments that are not in the ledger's file yet, and appends to the newest. */
export class Journal implements MovementLog {
  readonly #settings: JournalSettings;
  readonly calls: SettledCalls;
  #current: OpenSegment;
  /** Complete segments that are not in the file yet. */
  #earlier: OpenSegment[] = [];
  #endedJobs: EndedJob[] = [];
  readonly #unsynced = new Set<OpenSegment>();
  /** File descriptors to close after the sync. */
  readonly #retired: number[] = [];
  #syncing = false;

  constructor(settings: JournalSettings, balances: Balances, recovered: RecoveredCalls) {
    this.#settings = settings;
    this.#current = this.#open(settings.number, balances, false);
    this.calls = new SettledCalls(this.#current, recovered);
    const ended = [...balances.jobs.ofChannels.values()].filter(({ state }) => state !== 'Running');
    this.#endedJobs = ended.map((job) => ({ job, segment: settings.number }));
  }

  get number(): number {
    return this.#current.number;
  }

  get size(): number {
    return this.#current.file.size;
  }

  get isFlushed(): boolean {
    return this.#current.encoder.isEmpty;
  }

  /** For tests: true if a write would block now. */
  get isStalled(): boolean {
    return isStalled(this.#settings.faults);
  }

  held(hold: Hold): void {
    this.#current.encoder.held(hold);
  }

  withdrawn(callId: string): void {
    this.#current.encoder.withdrawn(callId);
  }

  renewed(hold: Hold): void {
    this.#current.encoder.renewed(hold);
  }

  settled(call: SettledCall, hold: Hold): void {
    const windows = { day: hold.day, month: hold.month };
    this.calls.add({ call, windows, offset: this.#current.encoder.settled(call, windows) });
  }

  /** Gives a settled call another status. Returns false if the journal has its record already. */
  changeStatus(callId: string, status: CallStatus): boolean {
    const unwritten = this.calls.unwritten(callId);
    if (!unwritten) return false;
    const changed = { ...unwritten, call: { ...unwritten.call, record: { ...unwritten.call.record, status } } };
    this.#current.encoder.replaceSettled(changed);
    this.calls.add(changed);
    return true;
  }

  job(job: Job): void {
    this.#current.encoder.job(job);
    if (changesCall(job)) this.calls.correct(job.origin.callId, job.bill);
    if (job.state !== 'Running') this.#endedJobs.push({ job, segment: this.number });
  }

  /** Appends, for the file, the totals of keys and accounts after all movements so far. */
  addTotals(keys: Iterable<KeyBalance>, accounts: Iterable<AccountBalance>): void {
    for (const key of keys) this.#current.encoder.key(key);
    for (const account of accounts) this.#current.encoder.account(account);
  }

  /** Appends the pending records. If that fails, throws and keeps them for the next try. */
  flush(): void {
    if (this.isFlushed) return;
    const { faults } = this.#settings;
    const { encoder, file } = this.#current;
    const bytes = encoder.frame();
    try {
      injectFault(faults, 'BeforeWrite', () => file.write(bytes.subarray(0, bytes.length / 2)));
      this.#unsynced.add(this.#current);
      file.write(bytes);
      injectFault(faults, 'AfterWrite');
    } catch (error) {
      file.discardRemains();
      throw error;
    }
    this.calls.written(file.size);
    file.accept(bytes.length);
    encoder.written();
  }

  /** Resolves when everything flushed so far survives a power failure. Only one sync may run at a time. */
  async sync(): Promise<void> {
    const segments = [...this.#unsynced];
    this.#unsynced.clear();
    this.#syncing = true;
    try {
      for (const { file } of segments) await file.sync();
      injectFault(this.#settings.faults, 'AfterSync');
    } catch (error) {
      for (const segment of segments) if (this.#segments().includes(segment)) this.#unsynced.add(segment);
      throw error;
    } finally {
      this.#syncing = false;
      for (const fd of this.#retired.splice(0)) closeSync(fd);
    }
  }

  /** Starts the next segment with the holds in flight (`whole`: with all balances). */
  rotate(balances: Balances, whole: boolean): void {
    const next = this.#open(this.#current.number + 1, balances, whole);
    this.#earlier.push(this.#current);
    this.#current = next;
    this.#unsynced.add(next);
    this.calls.beginSegment(next);
  }

  /** Closes the segments up to this one, which are in the file now. Returns the jobs whose outcome they contain. */
  checkpointed(to: number): Job[] {
    this.calls.checkpointed(to);
    for (const segment of this.#earlier) if (segment.number <= to) this.#closeSegment(segment);
    this.#earlier = this.#earlier.filter(({ number }) => number > to);
    const ended = this.#endedJobs.filter(({ segment }) => segment <= to).map(({ job }) => job);
    this.#endedJobs = this.#endedJobs.filter(({ segment }) => segment > to);
    return ended;
  }

  /** Rewrites segment files that were deleted, or all of them (`all`) after repeated write errors. */
  rewriteSegments(all: boolean): void {
    for (const { file } of this.#segments()) if (all || file.isDeleted) file.rewrite();
  }

  /** True if another program has deleted a segment. */
  get isDeleted(): boolean {
    return this.#segments().some(({ file }) => file.isDeleted);
  }

  close(): void {
    for (const segment of this.#segments()) this.#closeSegment(segment);
  }

  #segments(): OpenSegment[] {
    return [...this.#earlier, this.#current];
  }

  #open(number: number, balances: Balances, whole: boolean): OpenSegment {
    const { path, ledgerId } = this.#settings;
    const file = new SegmentFile(segmentPath(path, number), this.#retire);
    const encoder = new JournalEncoder();
    if (whole) {
      for (const key of balances.keys.values()) encoder.key(key);
      for (const account of balances.accounts.values()) encoder.account(account);
      for (const job of balances.jobs.ofChannels.values()) encoder.job(job);
    }
    for (const hold of balances.holds.values()) encoder.held(hold);
    try {
      const bytes = Buffer.concat([encodeHeader({ number, ledgerId, whole }), encoder.frame()]);
      file.write(bytes);
      file.accept(bytes.length);
      encoder.written();
    } catch (error) {
      // recovery would take half a segment next to a growing one for the journal's end
      file.discard();
      throw error;
    }
    return { number, file, encoder, names: encoder.names, read: (offset, length) => file.read(offset, length) };
  }

  #closeSegment(segment: OpenSegment): void {
    this.#unsynced.delete(segment);
    segment.file.close();
  }

  readonly #retire = (fd: number): void => {
    if (this.#syncing) this.#retired.push(fd);
    else closeSync(fd);
  };
}

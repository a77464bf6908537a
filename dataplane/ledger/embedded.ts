/**
 * The ledger of one machine: decided in memory, on one thread, so that every step is atomic without a lock; every movement is
 * appended to a journal, in one write per turn of the event loop, so that what was acknowledged survives; another thread takes
 * the journal into an SQLite file every two seconds. docs/design/ledger.md has the reasons.
 * The files are this process's alone. At the start, what a dead process held is settled at its last recorded progress.
 */
import { closeSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { createBooks, sumHeld } from './books.ts';
import type { Books, SettledCall } from './books.ts';
import { changesSince } from './changed-spending.ts';
import { within } from './deadlines.ts';
import { Committer } from './embedded-committer.ts';
import type { LedgerFault } from './embedded-committer.ts';
import { Folding } from './embedded-folding.ts';
import { Journal } from './embedded-journal.ts';
import { lockLedger } from './embedded-lock.ts';
import type { FileSettings, UsageRetention } from './embedded-messages.ts';
import { restore } from './embedded-restoring.ts';
import { decodeJob, decodeSettled } from './embedded-rows.ts';
import type { LedgerSync } from './embedded-schema.ts';
import { openFileThread } from './embedded-thread.ts';
import type { OpenFile } from './embedded-thread.ts';
import { claimDue, jobOfChannel, jobOfKey, recordOfJob } from './jobs.ts';
import type { Job } from './jobs.ts';
import { endJob, placeHold, readKeySpending, readRecord, recordProgress, settleCall } from './ledger-core.ts';
import { LedgerUnavailable } from './ledger.ts';
import type {
  AccountSpending, HoldRequest, HoldResult, JobRecord, KeySpending, Ledger, LedgerGauges, QuotaPeriod, Settlement, SettleResult, SlotLimit, SlotResult, SpendingChanges,
} from './ledger.ts';
import type { Row } from './row-reader.ts';
import { countSlots, createSlots, releaseSlots, takeSlots } from './slots.ts';
import type { Slots } from './slots.ts';
import type { CallProgress, UsageRecord } from './usage-record.ts';

export interface EmbeddedLedgerOptions {
  /** The file; its folder is made where it is missing, and the journal is kept beside it. */
  readonly path: string;
  /** What an acknowledged step survives: the end of the process (normal, default), or a loss of power too (full). */
  readonly sync?: LedgerSync;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** Told when the journal or the file begins to fail and when it works again. */
  readonly onFault?: (fault: LedgerFault) => void;
  /** What is kept of settled calls. Default: the latest million, for 35 days. */
  readonly retention?: Partial<UsageRetention>;
  /** A hold that is not in the journal by then is refused: nobody is to wait for a disk that hangs. Default 2000. */
  readonly timeoutMs?: number;
  /** So often the file takes in what has changed. Default 2000. */
  readonly foldEveryMs?: number;
  /** For tests: see embedded-faults.ts. */
  readonly faults?: Int32Array;
}

const DAY_MS = 86_400_000;
const DEFAULT_RETENTION: UsageRetention = { maxRecords: 1_000_000, maxAgeMs: 35 * DAY_MS };
const DEFAULT_PATIENCE_MS = 2_000;
const DEFAULT_FOLD_MS = 2_000;
const READ_PATIENCE_MS = 2_000;
/** So long opening and closing wait for a file that fails. */
const GRACE_MS = 5_000;

/** Opens the ledger, or says what is wrong with its files. */
export async function openEmbeddedLedger(options: EmbeddedLedgerOptions): Promise<Ledger> {
  const path = prepareFile(options.path);
  const unlock = lockLedger(path);
  try {
    return await openLocked(path, options, unlock);
  } catch (error) {
    unlock();
    throw new Error(`cannot open the ledger ${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

async function openLocked(path: string, options: EmbeddedLedgerOptions, unlock: () => void): Promise<Ledger> {
  const { sync = 'normal', clock: nowMs = Date.now, onFault = () => undefined, retention, faults, timeoutMs = DEFAULT_PATIENCE_MS } = options;
  const settings: FileSettings = { path, reading: true, retention: { ...DEFAULT_RETENTION, ...retention }, faults };
  const file = await openFileThread(settings);
  try {
    const books = createBooks();
    const { mark, lastSegment, left } = restore(books, path, { file, nowMs: nowMs() });
    const journal = new Journal({ path, ledgerId: mark.ledgerId, number: lastSegment + 1, faults }, books, left);
    books.log = journal;
    books.recent = journal.calls;
    const committer = new Committer({ books, journal, sync, onFault, timeoutMs });
    const reopen = (): Promise<OpenFile> => openFileThread({ ...settings, reading: false });
    const folding = new Folding({ books, journal, committer, nowMs, reopen, onFault, everyMs: options.foldEveryMs ?? DEFAULT_FOLD_MS }, file.thread, mark);
    const ledger = new EmbeddedLedger({ books, journal, committer, folding }, { nowMs, unlock });
    await ledger.settleAbandoned();
    return ledger;
  } catch (error) {
    await file.thread.kill();
    throw error;
  }
}

/** Only its owner may read it: it tells who called what. SQLite gives the files beside it the same mode. */
function prepareFile(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  closeSync(openSync(path, 'a', 0o600));
  return realpathSync(path);
}

interface Parts {
  readonly books: Books;
  readonly journal: Journal;
  readonly committer: Committer;
  readonly folding: Folding;
}

interface Life {
  readonly nowMs: () => number;
  readonly unlock: () => void;
}

class EmbeddedLedger implements Ledger {
  readonly #books: Books;
  readonly #journal: Journal;
  readonly #committer: Committer;
  readonly #folding: Folding;
  readonly #life: Life;
  readonly #slots: Slots = createSlots();
  #closing: Promise<void> | undefined;

  constructor({ books, journal, committer, folding }: Parts, life: Life) {
    this.#books = books;
    this.#journal = journal;
    this.#committer = committer;
    this.#folding = folding;
    this.#life = life;
  }

  /** Settles what a process that died has left. */
  async settleAbandoned(): Promise<void> {
    const left = [...this.#books.holds.values()].sort((a, b) => (a.origin.callId < b.origin.callId ? -1 : 1));
    for (const { origin, progress, renewedMs } of left)
      settleCall(this.#books, { callId: origin.callId, progress, status: 'Abandoned', durationMs: renewedMs - origin.createdMs }, this.#life.nowMs());
    if (left.length > 0 && !await within(GRACE_MS, this.#committer.durable(undefined))) {
      await this.#committer.stop(0);
      this.#folding.abandon();
      this.#journal.close();
      throw unavailable();
    }
    this.#folding.begin();
  }

  takeSlots(callId: string, slots: readonly SlotLimit[]): SlotResult | Promise<SlotResult> {
    if (this.#closing || this.#committer.failing) return this.#refuse();
    return takeSlots(this.#slots, callId, slots);
  }

  releaseSlots(callId: string, scopes?: readonly SlotLimit['scope'][]): void {
    releaseSlots(this.#slots, callId, scopes);
  }

  /** Neither this nor settle is asynchronous itself: each call waits for one promise. */
  hold(request: HoldRequest): Promise<HoldResult> {
    try {
      this.#assertPromising();
      const { result, pending } = placeHold(this.#books, request, this.#life.nowMs());
      return pending ? this.#committer.held(pending, result) : Promise.resolve(result);
    } catch (error) {
      return rejected(error);
    }
  }

  async recordProgress(progress: ReadonlyMap<string, CallProgress>): Promise<void> {
    this.#assertOpen();
    recordProgress(this.#books, progress, this.#life.nowMs());
    if (this.#committer.failing) {
      // it is written once that is possible
      this.#committer.touch();
      throw unavailable();
    }
    if (progress.size > 0) await this.#committer.renewed();
  }

  settle(settlement: Settlement): Promise<SettleResult> {
    try {
      this.#assertOpen();
      releaseSlots(this.#slots, settlement.callId);
      const settled = settleCall(this.#books, settlement, this.#life.nowMs());
      return settled ? this.#committer.durable(resultOf(settled)) : this.#settledBefore(settlement.callId);
    } catch (error) {
      return rejected(error);
    }
  }

  async #settledBefore(callId: string): Promise<SettleResult> {
    return resultOf(await this.#findSettled(callId) ?? refuseUnknown('no hold and no record of this call'));
  }

  async readJob(keyUid: string, jobId: string): Promise<JobRecord | undefined> {
    this.#assertOpen();
    const job = jobOfKey(this.#books.jobs, keyUid, jobId) ?? await this.#findJob('Key', keyUid, jobId);
    return job && recordOfJob(job);
  }

  async claimJobs(nowMs: number, againMs: number, limit: number): Promise<readonly JobRecord[]> {
    this.#assertOpen();
    return claimDue(this.#books.jobs, nowMs, { againMs, limit });
  }

  async finishJob({ jobId, origin }: Pick<JobRecord, 'jobId' | 'origin'>, state: 'Completed' | 'Failed'): Promise<JobRecord> {
    this.#assertOpen();
    const job = jobOfChannel(this.#books.jobs, origin.channel, jobId);
    if (!job) return recordOfJob(await this.#findJob('Channel', origin.channel, jobId) ?? refuseUnknown('nobody made this job'));
    endJob(this.#books, job, { state, nowMs: this.#life.nowMs() });
    return this.#committer.durable(recordOfJob(job));
  }

  async readUsage(keyUid: string, callId: string): Promise<UsageRecord | undefined> {
    this.#assertOpen();
    const record = readRecord(this.#books, callId, this.#life.nowMs()) ?? (await this.#findSettled(callId))?.record;
    return record?.keyUid === keyUid ? record : undefined;
  }

  async readKey(keyUid: string, period: QuotaPeriod): Promise<KeySpending> {
    this.#assertOpen();
    return readKeySpending(this.#books, keyUid, { period, nowMs: this.#life.nowMs() });
  }

  async readAccount(account: string): Promise<AccountSpending> {
    this.#assertOpen();
    const { spentNanoUsd = 0n, heldNanoUsd = 0n } = this.#books.accounts.get(account) ?? {};
    return { spentNanoUsd, heldNanoUsd };
  }

  async changesSince(mark: object | undefined): Promise<SpendingChanges> {
    this.#assertOpen();
    return changesSince(this.#books, mark);
  }

  gauges(): LedgerGauges {
    return { holds: this.#books.holds.size, heldNanoUsd: sumHeld(this.#books), slots: countSlots(this.#slots) };
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    await this.#committer.stop(GRACE_MS);
    await within(GRACE_MS, this.#folding.finish());
    const { thread } = this.#folding;
    const closed = await within(GRACE_MS, thread.close().catch(() => undefined));
    if (!closed) await within(GRACE_MS, thread.kill());
    this.#journal.close();
    this.#life.unlock();
  }

  async #findSettled(callId: string): Promise<SettledCall | undefined> {
    const row = await findInTime(this.#folding.thread.findCall(callId));
    return row && this.#journal.calls.corrected(decodeSettled(row));
  }

  async #findJob(by: 'Key' | 'Channel', of: string, jobId: string): Promise<Job | undefined> {
    const row = await findInTime(this.#folding.thread.findJob(by, of, jobId));
    return row && decodeJob(row);
  }

  #assertOpen(): void {
    if (this.#closing) throw new LedgerUnavailable('the ledger is closed');
  }

  async #refuse(): Promise<never> {
    this.#assertPromising();
    throw unavailable();
  }

  #assertPromising(): void {
    this.#assertOpen();
    if (this.#committer.failing) throw unavailable();
  }
}

async function findInTime(finding: Promise<Row | undefined>): Promise<Row | undefined> {
  let found: { readonly result: Row | undefined } | undefined;
  try {
    found = await within(READ_PATIENCE_MS, finding);
  } catch (error) {
    throw new LedgerUnavailable('the ledger\'s file cannot be read', { cause: error });
  }
  if (!found) throw unavailable();
  return found.result;
}

function resultOf({ record, keySpentNanoUsd, keyRemainingNanoUsd }: SettledCall): SettleResult {
  return { record, keySpentNanoUsd, keyRemainingNanoUsd };
}

async function rejected(error: unknown): Promise<never> {
  throw error;
}

function unavailable(): LedgerUnavailable {
  return new LedgerUnavailable('the ledger\'s files do not take anything now');
}

function refuseUnknown(what: string): never {
  throw new LedgerUnavailable(what);
}

/**
 * The thread that keeps the SQLite file: takes in segments of the journal, which it reads itself, and finds old records. Nobody
 * waits for it but those who ask for records, so that it gives way to the main thread where they share a core. A fold is one
 * transaction; what happens to it is answered, and trying again is the main thread's business (embedded-folding.ts).
 */
import { statSync } from 'node:fs';
import { platform, setPriority } from 'node:os';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { injectFault } from './embedded-faults.ts';
import type { FileAnswer, FileRequest, FileSettings, StoredBooks } from './embedded-messages.ts';
import { ACCOUNT_COLUMNS, JOB_COLUMNS, jobRow, KEY_COLUMNS, keyRow, USAGE_COLUMNS, usageRow } from './embedded-rows.ts';
import { openFile, prepareRows, readMark, readStoredBooks, rowsOf } from './embedded-schema.ts';
import type { JobStateRecord, RecordVisitor, SettledRecord } from './journal-reader.ts';
import { removeSegments, SegmentReader, visitSegment } from './journal-segments.ts';
import { readRow } from './row-reader.ts';
import type { Row, Value } from './row-reader.ts';
import { UsageIndex } from './usage-index.ts';

const settings: FileSettings = workerData;

/** Usage records removed per transaction beyond twice what it adds: pruning keeps up and never takes long. */
const PRUNE_STEP = 64;
/** A statement for so many rows costs a fifth less than one for each. */
const ROWS_AT_ONCE = 8;
/** A quarter of the main thread's share where both want the same core. */
const NICE = 5;
/**
 * What wants a core is given it for milliseconds at a time, for which every call waits where it is the main thread's. So this thread
 * rests for a moment after a part of a millisecond's work, unless a fold is so large that the file is behind.
 */
const ROWS_BETWEEN_RESTS = 192;
const REST_MS = 1;
const RESTED_ROWS = 50_000;
/** Nobody wakes it. */
const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4));
const NOTHING_STORED: StoredBooks = { keys: [], accounts: [], holds: [], jobs: [] };

/** A file with its statements. */
class LedgerFile {
  readonly #db: DatabaseSync;
  readonly #inode = statSync(settings.path).ino;
  readonly #replaceKey: StatementSync;
  readonly #replaceAccount: StatementSync;
  readonly #replaceJob: StatementSync;
  readonly #insertUsage: { readonly one: StatementSync; readonly several: StatementSync };
  /** Rows that are not inserted yet, one after the other. */
  #usageRows: Value[] = [];
  readonly #usageIndex: UsageIndex;
  readonly #refundUsage: StatementSync;
  readonly #mark: StatementSync;
  readonly #usageBounds: StatementSync;
  readonly #settledBefore: StatementSync;
  readonly #pruneUsage: StatementSync;
  readonly #pruneJobs: StatementSync;
  readonly #findUsage: StatementSync;
  readonly #findJob: Readonly<Record<'Key' | 'Channel', StatementSync>>;
  readonly #segments = new SegmentReader();

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#replaceKey = db.prepare(`REPLACE INTO keys ${valuesOf(KEY_COLUMNS)}`);
    this.#replaceAccount = db.prepare(`REPLACE INTO accounts ${valuesOf(ACCOUNT_COLUMNS)}`);
    this.#replaceJob = db.prepare(`REPLACE INTO jobs ${valuesOf(JOB_COLUMNS)}`);
    const insertUsage = (rows: number): StatementSync => db.prepare(`INSERT INTO usage ${valuesOf(USAGE_COLUMNS, rows)}`);
    this.#insertUsage = { one: insertUsage(1), several: insertUsage(ROWS_AT_ONCE) };
    this.#usageIndex = new UsageIndex(db);
    this.#refundUsage = db.prepare('UPDATE usage SET cost_nano_usd = 0, unbilled_nano_usd = 0, status = \'Refunded\' WHERE seq = ?');
    this.#mark = db.prepare('UPDATE journal SET ledger_id = ?, folded = ?');
    this.#usageBounds = prepareRows(db, 'SELECT seq, settled_ms, (SELECT max(seq) FROM usage) FROM usage ORDER BY seq LIMIT 1');
    this.#settledBefore = prepareRows(db, 'SELECT max(seq) FROM usage WHERE seq >= ? AND seq < ? AND settled_ms < ?');
    this.#pruneUsage = db.prepare('DELETE FROM usage WHERE seq <= ?');
    this.#pruneJobs = db.prepare('DELETE FROM jobs WHERE ended_ms < (SELECT settled_ms FROM usage ORDER BY seq LIMIT 1)');
    this.#findUsage = prepareRows(db, `SELECT ${USAGE_COLUMNS.join(', ')} FROM usage WHERE seq = ?`);
    const findJob = (column: string): StatementSync =>
      prepareRows(db, `SELECT ${JOB_COLUMNS.join(', ')} FROM jobs WHERE ${column} = ? AND job_id = ? ORDER BY created_ms DESC LIMIT 1`);
    this.#findJob = { Key: findJob('key_uid'), Channel: findJob('channel') };
  }

  /** Somebody has removed the file, or put another in its place: what is written here would be lost. */
  get isGone(): boolean {
    return statSync(settings.path, { throwIfNoEntry: false })?.ino !== this.#inode;
  }

  /** All of the segments, or (throwing) nothing. */
  fold({ from, to, ledgerId, nowMs }: Extract<FileRequest, { type: 'Fold' }>): void {
    this.#db.exec('BEGIN IMMEDIATE');
    this.#usageRows = [];
    try {
      const mark = readMark(this.#db);
      const first = mark.ledgerId === ledgerId ? Math.max(from, mark.folded + 1) : from;
      for (let number = first; number <= to; number++) this.#take(number, nowMs);
      this.#db.exec('DELETE FROM holds');
      this.#mark.run(ledgerId, to);
      injectFault(settings.faults, 'WithinFold');
      this.#db.exec('COMMIT');
    } catch (error) {
      // some errors have ended the transaction already
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
    removeSegments(settings.path, to);
  }

  #take(number: number, nowMs: number): void {
    const segment = this.#segments.read(settings.path, number);
    if (segment.whole) this.#db.exec('DELETE FROM keys; DELETE FROM accounts; DELETE FROM jobs WHERE state = \'Running\'');
    let added = 0;
    const visitor: RecordVisitor = {
      settled: (record) => {
        this.#addUsage(record);
        if (++added % ROWS_BETWEEN_RESTS === 0 && added < RESTED_ROWS) Atomics.wait(NEVER_WOKEN, 0, 0, REST_MS);
      },
      key: (state) => { this.#replaceKey.run(...keyRow(state)); },
      account: ({ id, spentNanoUsd }) => { this.#replaceAccount.run(id, spentNanoUsd); },
      job: (job) => this.#takeJob(job),
    };
    // its end may be torn if an earlier process wrote it; which one is the last was checked at the start
    visitSegment(segment, true, visitor);
    this.#insertRest();
    this.#prune(PRUNE_STEP + 2 * added, nowMs);
  }

  #addUsage(record: SettledRecord): void {
    usageRow(record, this.#usageRows);
    this.#usageIndex.add(record.record.callId);
    if (this.#usageRows.length < ROWS_AT_ONCE * USAGE_COLUMNS.length) return;
    this.#insertUsage.several.run(...this.#usageRows);
    this.#usageRows = [];
  }

  #insertRest(): void {
    const rows = this.#usageRows;
    this.#usageRows = [];
    for (let at = 0; at < rows.length; at += USAGE_COLUMNS.length) this.#insertUsage.one.run(...rows.slice(at, at + USAGE_COLUMNS.length));
  }

  #takeJob(job: JobStateRecord): void {
    this.#insertRest();
    this.#replaceJob.run(...jobRow(job));
    if (job.state === 'Failed') this.#refund(job.origin.callId);
  }

  #refund(callId: string): void {
    const seq = this.#usageIndex.find(callId);
    if (seq !== undefined) this.#refundUsage.run(seq);
  }

  /** Records leave in the order that they came in; sequence numbers have no large gaps, so that they count them. */
  #prune(most: number, nowMs: number): void {
    const [bounds] = rowsOf(this.#usageBounds.all());
    if (!bounds) return;
    const read = readRow(bounds);
    const [oldest, oldestMs, newest] = [read.count(), read.count(), read.count()];
    const reach = oldest + most;
    let last = Math.min(newest - settings.retention.maxRecords, reach - 1);
    const expiredMs = nowMs - settings.retention.maxAgeMs;
    if (oldestMs < expiredMs) {
      const [expired = []] = rowsOf(this.#settledBefore.all(oldest, reach, expiredMs));
      last = Math.max(last, readRow(expired).count());
    }
    if (last < oldest) return;
    this.#pruneUsage.run(last);
    this.#usageIndex.pruned();
    this.#pruneJobs.run();
  }

  findCall(callId: string): Row | undefined {
    const seq = this.#usageIndex.find(callId);
    return seq === undefined ? undefined : rowsOf(this.#findUsage.all(seq))[0];
  }

  findJob({ by, of, jobId }: Extract<FileRequest, { type: 'FindJob' }>): Row | undefined {
    return rowsOf(this.#findJob[by].all(of, jobId))[0];
  }

  close(): void {
    this.#db.close();
  }
}

function valuesOf(columns: readonly string[], rows = 1): string {
  const row = `(${columns.map(() => '?').join(', ')})`;
  return `(${columns.join(', ')}) VALUES ${Array.from({ length: rows }, () => row).join(', ')}`;
}

function serve(): void {
  if (!parentPort) throw new Error('the ledger\'s worker was started outside a worker thread');
  const port = parentPort;
  const db = openFile(settings.path);
  const opened: FileAnswer = { type: 'Opened', mark: readMark(db), stored: settings.reading ? readStoredBooks(db) : NOTHING_STORED };
  const file = new LedgerFile(db);
  port.on('message', (request: FileRequest) => {
    port.postMessage(perform(file, request));
    if (request.type === 'Close') port.close();
  });
  port.postMessage(opened);
  // somebody waits for a file that is being opened
  giveWay();
}

function perform(file: LedgerFile, request: FileRequest): FileAnswer {
  const { seq } = request;
  try {
    return { type: 'Done', seq, row: resultOf(file, request) };
  } catch (error) {
    return { type: 'Failed', seq, reason: reasonOf(error) };
  }
}

function resultOf(file: LedgerFile, request: FileRequest): Row | undefined {
  switch (request.type) {
    case 'FindCall': return file.findCall(request.callId);
    case 'FindJob': return file.findJob(request);
    case 'Fold': return fold(file, request);
    case 'Close':
      file.close();
      return undefined;
  }
}

function fold(file: LedgerFile, request: Extract<FileRequest, { type: 'Fold' }>): undefined {
  if (file.isGone) throw new Error('the file was removed, or another was put in its place');
  file.fold(request);
}

/** Of this thread alone, on Linux; elsewhere it would be the whole process's. */
function giveWay(): void {
  if (platform() !== 'linux') return;
  try {
    setPriority(NICE);
  } catch {
    // some sandboxes do not allow it: it only makes the process's answers more even
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

try {
  serve();
} catch (error) {
  parentPort?.postMessage({ type: 'NotOpened', reason: reasonOf(error) } satisfies FileAnswer, []);
}

/** The ledger's SQLite file and its statements: applies segments of the journal, finds old records, and prunes them. */
import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { changesCall } from '../jobs.ts';
import { correctedBy } from '../ledger-core.ts';
import { injectFault } from './faults.ts';
import type { JobStateRecord, SettledRecord } from './journal-reader.ts';
import { KeptConversations } from './kept-conversations.ts';
import {
  ACCOUNT_COLUMNS,
  decodeSettled,
  JOB_COLUMNS,
  jobRow,
  KEY_COLUMNS,
  keyRow,
  SETTLED_COLUMNS,
  settledRow,
} from './rows.ts';
import { CORRECTED_COLUMNS, correctedRow, RowReader } from '../../usage/rows.ts';
import type { Row } from '../../usage/rows.ts';
import { readCheckpoint, USAGE_BLOCK_BITS } from './schema.ts';
import { prepareRows, rowsOf } from '../../usage/sqlite.ts';
import { readSegment, removeSegments, visitSegment } from './segments.ts';

export interface UsageRetention {
  readonly maxRecords: number;
  readonly maxAgeMs: number;
}

export interface FileSettings {
  readonly path: string;
  readonly retention: UsageRetention;
  /** For tests: see faults.ts. */
  readonly faults: Int32Array | undefined;
}

export interface SegmentRange {
  readonly from: number;
  readonly to: number;
  readonly ledgerId: string;
  readonly nowMs: number;
}

/** Finds a job by the key that created it, or by its channel. */
export interface JobKey {
  readonly by: 'Key' | 'Channel';
  readonly owner: string;
  readonly jobId: string;
}

/**
 * Each segment prunes at most twice the records that it adds plus this many, so that pruning keeps up in small steps.
 */
const PRUNE_STEP = 64;

export class LedgerFile {
  readonly conversations: KeptConversations;
  readonly #settings: FileSettings;
  readonly #db: DatabaseSync;
  readonly #inode: number;
  readonly #replaceKey: StatementSync;
  readonly #replaceAccount: StatementSync;
  readonly #replaceJob: StatementSync;
  readonly #insertUsage: StatementSync;
  readonly #correctUsage: StatementSync;
  readonly #setCheckpoint: StatementSync;
  readonly #usageBounds: StatementSync;
  readonly #settledBefore: StatementSync;
  readonly #pruneUsage: StatementSync;
  readonly #pruneJobs: StatementSync;
  readonly #findSeq: StatementSync;
  readonly #findUsage: StatementSync;
  readonly #findJob: Readonly<Record<'Key' | 'Channel', StatementSync>>;

  constructor(db: DatabaseSync, settings: FileSettings) {
    this.#settings = settings;
    this.#db = db;
    this.#inode = statSync(settings.path).ino;
    this.conversations = new KeptConversations(db);
    this.#replaceKey = db.prepare(`REPLACE INTO keys ${valuesOf(KEY_COLUMNS)}`);
    this.#replaceAccount = db.prepare(`REPLACE INTO accounts ${valuesOf(ACCOUNT_COLUMNS)}`);
    this.#replaceJob = db.prepare(`REPLACE INTO jobs ${valuesOf(JOB_COLUMNS)}`);
    this.#insertUsage = db.prepare(`INSERT INTO usage ${valuesOf(SETTLED_COLUMNS)}`);
    this.#correctUsage = db.prepare(`UPDATE usage SET ${CORRECTED_COLUMNS.map((name) => `${name} = ?`).join(', ')}
      WHERE seq = ?`);
    this.#setCheckpoint = db.prepare('UPDATE journal SET ledger_id = ?, folded = ?');
    this.#usageBounds = prepareRows(
      db,
      `SELECT seq, settled_ms, (SELECT max(seq) FROM usage)
      FROM usage ORDER BY seq LIMIT 1`,
    );
    this.#settledBefore = prepareRows(db, 'SELECT max(seq) FROM usage WHERE seq >= ? AND seq < ? AND settled_ms < ?');
    this.#pruneUsage = db.prepare('DELETE FROM usage WHERE seq <= ?');
    this.#pruneJobs = db.prepare(`DELETE FROM jobs
      WHERE ended_ms < (SELECT settled_ms FROM usage ORDER BY seq LIMIT 1)`);
    this.#findSeq = db.prepare(`SELECT seq FROM usage WHERE seq >> ${USAGE_BLOCK_BITS} = ? AND call_id = ?`);
    this.#findUsage = prepareRows(db, `SELECT ${SETTLED_COLUMNS.join(', ')} FROM usage WHERE seq = ?`);
    const findJob = (column: string): StatementSync =>
      prepareRows(
        db,
        `SELECT ${JOB_COLUMNS.join(', ')} FROM jobs
      WHERE ${column} = ? AND job_id = ? ORDER BY created_ms DESC LIMIT 1`,
      );
    this.#findJob = { Key: findJob('key_uid'), Channel: findJob('channel') };
  }

  /** Applies the segments in one transaction and deletes them. If that fails, throws and applies nothing. */
  checkpoint({ from, to, ledgerId, nowMs }: SegmentRange): void {
    const { path, faults } = this.#settings;
    if (this.#isGone()) throw new Error('the file was removed, or another was put in its place');
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const last = readCheckpoint(this.#db);
      const first = last.ledgerId === ledgerId ? Math.max(from, last.segment + 1) : from;
      for (let number = first; number <= to; number++) this.#take(number, nowMs);
      this.#db.exec('DELETE FROM holds');
      this.#setCheckpoint.run(ledgerId, to);
      injectFault(faults, 'WithinCheckpoint');
      this.#db.exec('COMMIT');
    } catch (error) {
      // some errors end the transaction by themselves
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
    removeSegments(path, to);
  }

  findCall(callId: string): Row | undefined {
    const seq = this.#seqOf(callId);
    return seq === undefined ? undefined : rowsOf(this.#findUsage.all(seq))[0];
  }

  findJob({ by, owner, jobId }: JobKey): Row | undefined {
    return rowsOf(this.#findJob[by].all(owner, jobId))[0];
  }

  close(): void {
    this.#db.close();
  }

  /** True if the file was deleted or replaced, so that new data in it would be lost. */
  #isGone(): boolean {
    return statSync(this.#settings.path, { throwIfNoEntry: false })?.ino !== this.#inode;
  }

  #take(number: number, nowMs: number): void {
    const segment = readSegment(this.#settings.path, number);
    if (segment.whole)
      this.#db.exec("DELETE FROM keys; DELETE FROM accounts; DELETE FROM jobs WHERE state = 'Running'");
    let added = 0;
    // the last segment may be torn, by the process that wrote it; recovery has checked that no other is
    visitSegment(segment, true, {
      settled: (record: SettledRecord) => {
        this.#insertUsage.run(...settledRow(record));
        added++;
      },
      key: (state) => {
        this.#replaceKey.run(...keyRow(state));
      },
      account: ({ id, spentNanoUsd }) => {
        this.#replaceAccount.run(id, spentNanoUsd);
      },
      job: (job) => this.#takeJob(job),
    });
    this.#prune(PRUNE_STEP + 2 * added, nowMs);
  }

  #takeJob(job: JobStateRecord): void {
    this.#replaceJob.run(...jobRow(job));
    if (!changesCall(job)) return;
    const seq = this.#seqOf(job.origin.callId);
    const [row] = seq === undefined ? [] : rowsOf(this.#findUsage.all(seq));
    if (seq === undefined || !row) return;
    this.#correctUsage.run(...correctedRow(correctedBy(decodeSettled(row), job.bill).record), seq);
  }

  /** Searches the latest block first, because most lookups are for recent calls. */
  #seqOf(callId: string): number | undefined {
    const { oldest, newest } = this.#readBounds() ?? { oldest: 0, newest: -1 };
    for (let block = blockOf(newest); block >= blockOf(oldest); block--) {
      const seq = this.#findSeq.get(block, callId)?.['seq'];
      if (seq !== undefined) return Number(seq);
    }
    return undefined;
  }

  /** Deletes the oldest records. Their sequence numbers have no large gaps, so their range is about their number. */
  #prune(most: number, nowMs: number): void {
    const { maxRecords, maxAgeMs } = this.#settings.retention;
    const bounds = this.#readBounds();
    if (!bounds) return;
    const { oldest, oldestMs, newest } = bounds;
    const reach = oldest + most;
    let last = Math.min(newest - maxRecords, reach - 1);
    const expiredMs = nowMs - maxAgeMs;
    if (oldestMs < expiredMs) {
      const [expired = []] = rowsOf(this.#settledBefore.all(oldest, reach, expiredMs));
      last = Math.max(last, new RowReader(expired).count());
    }
    if (last < oldest) return;
    this.#pruneUsage.run(last);
    this.#pruneJobs.run();
  }

  /** The range of sequence numbers; undefined if there are no records. */
  #readBounds(): { readonly oldest: number; readonly oldestMs: number; readonly newest: number } | undefined {
    const [row] = rowsOf(this.#usageBounds.all());
    if (!row) return undefined;
    const read = new RowReader(row);
    return { oldest: read.count(), oldestMs: read.count(), newest: read.count() };
  }
}

/** Computes `seq >> USAGE_BLOCK_BITS`, for which JavaScript's shift has too few bits. */
function blockOf(seq: number): number {
  return Math.floor(seq / 2 ** USAGE_BLOCK_BITS);
}

function valuesOf(columns: readonly string[]): string {
  return `(${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
}

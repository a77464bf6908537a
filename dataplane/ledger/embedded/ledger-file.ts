/**
 * The ledger's SQLite file, which is its log and its store. A commit takes everything that has changed in memory in one
 * transaction. The main thread owns the file; checkpoints are made beside it (checkpointer.ts).
 */
import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { promisify } from 'node:util';
import type { Balances, SettledCall } from '../balances.ts';
import { CallMap } from '../call-map.ts';
import type { Job } from '../jobs.ts';
import { prepareRows, rowsOf } from '#usage/sqlite.ts';
import type { Changes } from './changes.ts';
import { injectFault, isStalled } from './faults.ts';
import { copyDatabase, inodeOf, logOf, putCopyInPlace } from './file-copy.ts';
import { KeptConversations } from './kept-conversations.ts';
import {
  ACCOUNT_COLUMNS,
  accountRow,
  CALL_COLUMNS,
  decodeJob,
  encodeHold,
  encodeSettlement,
  JOB_COLUMNS,
  jobRow,
  KEY_COLUMNS,
  keyRow,
} from './rows.ts';
import type { StoredCall } from './rows.ts';
import { isBusy, openFile, valuesOf } from './schema.ts';
import { UsageRows } from './usage-rows.ts';
import type { UsageRetention } from './usage-rows.ts';

export interface FileSettings {
  readonly path: string;
  readonly retention: UsageRetention;
  readonly nowMs: () => number;
  /** For tests: see faults.ts. */
  readonly faults: Int32Array | undefined;
}

/** Finds a job by the key that created it, or by its channel. */
export interface JobKey {
  readonly by: 'Key' | 'Channel';
  readonly owner: string;
  readonly jobId: string;
}

/** Somebody else has the file locked, or it is paused: nothing was written, and the next try may succeed. */
export class FileBusy extends Error {
  override readonly name = 'FileBusy';
}

export interface CommitOptions {
  /** File everything. */
  readonly files?: boolean;
  /** Changes the file before the rest, in the same transaction. */
  readonly first?: ((db: DatabaseSync) => void) | undefined;
}

const syncData = promisify(fdatasync);
/** How many records closing the file deletes at most. */
const LAST_PRUNE = 10_000;

/** The statements of one open connection. */
interface Connection {
  readonly db: DatabaseSync;
  /** Of the file, its log and the log's index. */
  readonly inodes: readonly (number | undefined)[];
  readonly usage: UsageRows;
  readonly conversations: KeptConversations;
  readonly begin: StatementSync;
  readonly commit: StatementSync;
  readonly replaceCall: StatementSync;
  readonly deleteCall: StatementSync;
  readonly replaceKey: StatementSync;
  readonly replaceAccount: StatementSync;
  readonly replaceJob: StatementSync;
  readonly findJob: Readonly<Record<JobKey['by'], StatementSync>>;
}

export class LedgerFile {
  readonly #settings: FileSettings;
  #connection: Connection;
  /** The ids of the rows of calls that are running or not filed; a row may be missing. */
  readonly #callIds = new CallMap<number>();
  #lastCallId = 0;
  #log: number | undefined;
  #commits = 0;
  /** While it is true, commits are FileBusy. */
  paused = false;

  constructor(settings: FileSettings, db: DatabaseSync) {
    this.#settings = settings;
    this.#connection = connect(db, settings);
  }

  /** The number of transactions so far. */
  get commits(): number {
    return this.#commits;
  }

  /** The rows of the previous process's calls. */
  adoptCalls(calls: readonly StoredCall[]): void {
    for (const call of calls) {
      const { callId } = 'running' in call ? call.running.origin : call.settled.record;
      this.#callIds.set(callId, call.id);
      this.#lastCallId = Math.max(this.#lastCallId, call.id);
    }
  }

  /**
   * Writes everything that has changed, in one transaction. Files settled calls too if there are many, or if `files`: a
   * row of a call is written with each step, and the dozen other pages of a settlement (its record, indexes, balances,
   * sums) once for many calls. If the transaction fails, throws (FileBusy if it may succeed soon), has written nothing,
   * and the changes stay.
   */
  commit(balances: Balances, changes: Changes, { files = false, first }: CommitOptions = {}): void {
    if (!first && (files ? changes.isFiled : changes.isEmpty)) return;
    const isFiling = files || changes.needsFiling;
    this.#transaction(() => {
      first?.(this.#connection.db);
      this.#writeRunning(changes);
      if (isFiling) this.#file(balances, changes);
      else this.#writeSettled(changes);
    });
    this.#forgetIds(changes, isFiling);
    changes.written(isFiling);
    this.#commits++;
  }

  /** Forgets the ids of rows that were deleted. */
  #forgetIds({ holds, unfiled, settlements }: Changes, isFiling: boolean): void {
    for (const [callId, hold] of holds) if (!hold) this.#callIds.delete(callId);
    const filed = isFiling ? [unfiled, settlements] : [];
    for (const calls of filed) for (const callId of calls.keys()) this.#callIds.delete(callId);
  }

  /** From now on commits are synced by `sync` alone. */
  syncApart(): void {
    this.#connection.db.exec('PRAGMA synchronous = NORMAL');
  }

  /** Resolves when what was committed so far survives a power failure. */
  async sync(): Promise<void> {
    await syncData((this.#log ??= openSync(logOf(this.#settings.path), 'r')));
    injectFault(this.#settings.faults, 'AfterSync');
  }

  /** Throws if the file cannot be read. */
  findCall(callId: string): SettledCall | undefined {
    return this.#connection.usage.find(callId);
  }

  /** Throws if the file cannot be read. */
  findJob({ by, owner, jobId }: JobKey): Job | undefined {
    const [row] = rowsOf(this.#connection.findJob[by].all(owner, jobId));
    return row && decodeJob(row);
  }

  /** Changes conversations in a transaction of its own. Throws as `commit` does. */
  changeConversations<T>(change: (conversations: KeptConversations) => T): T {
    const result = this.#transaction(() => change(this.#connection.conversations));
    this.#commits++;
    return result;
  }

  /** True if a part was deleted or replaced, so that what is written would be lost with the process. */
  get isGone(): boolean {
    const { inodes } = this.#connection;
    return inodesOf(this.#settings.path).some((inode, index) => inode !== inodes[index]);
  }

  get isOpen(): boolean {
    return this.#connection.db.isOpen;
  }

  get inode(): number | undefined {
    return this.#connection.inodes[0];
  }

  /** Copies the file as it is open, although it may have no name any more. */
  copy(): void {
    copyDatabase(this.#connection.db, this.#settings.path);
  }

  /** Closes the connection, puts the copy in the place of the file, and opens that. */
  takeCopy(): void {
    const { path } = this.#settings;
    // this deletes the log by its name, so the copy comes after it; what a sync is running for is in the copy
    if (this.isOpen) this.#close();
    putCopyInPlace(path);
    this.#connection = connect(openFile(path), this.#settings);
    this.syncApart();
  }

  close(): void {
    const { nowMs } = this.#settings;
    try {
      this.#transaction(() => this.#connection.usage.prune(LAST_PRUNE, nowMs()));
    } catch {
      // the next start deletes them
    }
    this.#close();
  }

  #close(): void {
    if (this.#log !== undefined) closeSync(this.#log);
    this.#log = undefined;
    this.#connection.db.close();
  }

  #transaction<T>(work: () => T): T {
    const { db, usage, begin, commit } = this.#connection;
    const { faults } = this.#settings;
    if (this.paused) throw new FileBusy("the ledger's file is paused");
    if (isStalled(faults)) throw new FileBusy('injected: the file is locked');
    try {
      begin.run();
      const result = work();
      injectFault(faults, 'WithinCommit');
      commit.run();
      return result;
    } catch (error) {
      // some errors end the transaction by themselves
      if (db.isTransaction) db.exec('ROLLBACK');
      usage.rolledBack();
      if (isBusy(error)) throw new FileBusy('another program has the file locked', { cause: error });
      throw error;
    }
  }

  #writeRunning({ holds }: Changes): void {
    const { replaceCall, deleteCall } = this.#connection;
    for (const [callId, hold] of holds) {
      const id = this.#callIds.get(callId);
      if (hold) replaceCall.run(id ?? this.#newId(callId), encodeHold(hold), null);
      else if (id !== undefined) deleteCall.run(id);
    }
  }

  #writeSettled({ settlements }: Changes): void {
    const { replaceCall } = this.#connection;
    for (const [callId, settlement] of settlements)
      replaceCall.run(this.#callIds.get(callId) ?? this.#newId(callId), null, encodeSettlement(settlement));
  }

  /** Moves settled calls to the usage records, and brings the balances up to date. */
  #file({ changedKeys, changedAccounts }: Balances, changes: Changes): void {
    const { usage, deleteCall, replaceKey, replaceAccount, replaceJob } = this.#connection;
    for (const calls of [changes.unfiled, changes.settlements]) {
      for (const callId of calls.keys()) {
        const id = this.#callIds.get(callId);
        if (id !== undefined) deleteCall.run(id);
      }
    }
    usage.add([...changes.unfiled.values(), ...changes.settlements.values()], this.#settings.nowMs());
    for (const key of changedKeys) replaceKey.run(...keyRow(key));
    for (const account of changedAccounts) replaceAccount.run(...accountRow(account));
    for (const [callId, bill] of changes.corrections) usage.correct(callId, bill);
    for (const job of changes.jobs) replaceJob.run(...jobRow(job));
  }

  #newId(callId: string): number {
    const id = ++this.#lastCallId;
    this.#callIds.set(callId, id);
    return id;
  }
}

function connect(db: DatabaseSync, { path, retention }: FileSettings): Connection {
  // the main thread never waits for a lock: the committer tries again
  db.exec('PRAGMA busy_timeout = 0');
  const findJob = (column: string): StatementSync =>
    prepareRows(
      db,
      `SELECT ${JOB_COLUMNS.join(', ')} FROM jobs
      WHERE ${column} = ? AND job_id = ? ORDER BY created_ms DESC LIMIT 1`,
    );
  return {
    db,
    inodes: inodesOf(path),
    usage: new UsageRows(db, retention),
    conversations: new KeptConversations(db),
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    replaceCall: db.prepare(`REPLACE INTO calls ${valuesOf(CALL_COLUMNS)}`),
    deleteCall: db.prepare('DELETE FROM calls WHERE id = ?'),
    replaceKey: db.prepare(`REPLACE INTO keys ${valuesOf(KEY_COLUMNS)}`),
    replaceAccount: db.prepare(`REPLACE INTO accounts ${valuesOf(ACCOUNT_COLUMNS)}`),
    replaceJob: db.prepare(`REPLACE INTO jobs ${valuesOf(JOB_COLUMNS)}`),
    findJob: { Key: findJob('key_uid'), Channel: findJob('channel') },
  };
}

function inodesOf(path: string): (number | undefined)[] {
  return [path, logOf(path), `${path}-shm`].map(inodeOf);
}

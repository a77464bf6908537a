/**
 * The thread that writes the file, so that a slow disk never stops the main thread. One message is one transaction; what
 * happens to it is answered, and trying again is the main thread's business (embedded-committer.ts).
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { FileAnswer, FileRequest, FileSettings } from './embedded-messages.ts';
import { injectFault } from './embedded-faults.ts';
import { ACCOUNT_COLUMNS, HOLD_COLUMNS, KEY_COLUMNS, PROGRESS_COLUMNS, USAGE_COLUMNS } from './embedded-rows.ts';
import type { Batch } from './embedded-rows.ts';
import { openFile, prepareRows, readStoredBooks, rowsOf } from './embedded-schema.ts';
import { readRow } from './row-reader.ts';
import type { Row, Value } from './row-reader.ts';

const settings: FileSettings = workerData;

interface Statement {
  readonly prepared: StatementSync;
  readonly width: number;
}

/** Usage records removed per transaction beyond twice what it adds: pruning keeps up and never takes long. */
const PRUNE_STEP = 64;

/** A file with its statements. */
class LedgerFile {
  readonly #db: DatabaseSync;
  readonly #upsertKey: Statement;
  readonly #upsertAccount: Statement;
  readonly #upsertHold: Statement;
  readonly #updateProgress: Statement;
  readonly #deleteHold: Statement;
  readonly #insertUsage: Statement;
  readonly #findUsage: StatementSync;
  readonly #usageBounds: StatementSync;
  readonly #settledBefore: StatementSync;
  readonly #pruneUsage: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#upsertKey = this.#replaceIn('keys', KEY_COLUMNS);
    this.#upsertAccount = this.#replaceIn('accounts', ACCOUNT_COLUMNS);
    this.#upsertHold = this.#replaceIn('holds', HOLD_COLUMNS);
    // a record is never changed: a batch that is tried again finds it there
    this.#insertUsage = {
      prepared: db.prepare(`INSERT INTO usage ${valuesOf(USAGE_COLUMNS)} ON CONFLICT (call_id) DO NOTHING`),
      width: USAGE_COLUMNS.length,
    };
    this.#updateProgress = {
      prepared: db.prepare(`UPDATE holds SET ${PROGRESS_COLUMNS.map((column) => `${column} = ?`).join(', ')} WHERE call_id = ?`),
      width: PROGRESS_COLUMNS.length + 1,
    };
    this.#deleteHold = { prepared: db.prepare('DELETE FROM holds WHERE call_id = ?'), width: 1 };
    this.#findUsage = prepareRows(db, `SELECT ${USAGE_COLUMNS.join(', ')} FROM usage WHERE call_id = ?`);
    this.#usageBounds = prepareRows(db, `SELECT seq, settled_ms, (SELECT max(seq) FROM usage) FROM usage ORDER BY seq LIMIT 1`);
    this.#settledBefore = prepareRows(db, 'SELECT max(seq) FROM usage WHERE seq >= ? AND seq < ? AND settled_ms < ?');
    this.#pruneUsage = db.prepare('DELETE FROM usage WHERE seq <= ?');
  }

  #replaceIn(table: string, columns: readonly string[]): Statement {
    return { prepared: this.#db.prepare(`REPLACE INTO ${table} ${valuesOf(columns)}`), width: columns.length };
  }

  /** All of a batch, or (throwing) nothing. */
  commit(batch: Batch): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      this.#write(batch);
      injectFault(settings.faults, 'BeforeCommit');
      this.#db.exec('COMMIT');
    } catch (error) {
      // some errors have ended the transaction already
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
    injectFault(settings.faults, 'AfterCommit');
  }

  #write(batch: Batch): void {
    if (batch.whole) this.#db.exec('DELETE FROM keys; DELETE FROM accounts; DELETE FROM holds');
    runAll(this.#upsertKey, batch.keys);
    runAll(this.#upsertAccount, batch.accounts);
    runAll(this.#upsertHold, batch.holds);
    runAll(this.#updateProgress, batch.progress);
    runAll(this.#deleteHold, batch.gone);
    runAll(this.#insertUsage, batch.settled);
    this.#prune(PRUNE_STEP + 2 * batch.settled.length / USAGE_COLUMNS.length, batch.nowMs);
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
    if (last >= oldest) this.#pruneUsage.run(last);
  }

  find(callId: string): Row | undefined {
    return rowsOf(this.#findUsage.all(callId))[0];
  }

  close(): void {
    this.#db.close();
  }
}

function valuesOf(columns: readonly string[]): string {
  return `(${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
}

function runAll({ prepared, width }: Statement, values: readonly Value[]): void {
  for (let start = 0; start < values.length; start += width) prepared.run(...values.slice(start, start + width));
}

function serve(): void {
  if (!parentPort) throw new Error('the ledger\'s worker was started outside a worker thread');
  const port = parentPort;
  const answer = (message: FileAnswer): void => port.postMessage(message);
  const db = openFile(settings.path, settings.sync);
  const stored = readStoredBooks(db);
  const file = new LedgerFile(db);
  port.on('message', (request: FileRequest) => {
    answer(perform(file, request));
    if (request.type === 'Close') port.close();
  });
  answer({ type: 'Opened', stored });
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
  if (request.type === 'Find') return file.find(request.callId);
  if (request.type === 'Commit') file.commit(request.batch);
  else file.close();
  return undefined;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

try {
  serve();
} catch (error) {
  parentPort?.postMessage({ type: 'NotOpened', reason: reasonOf(error) } satisfies FileAnswer, []);
}

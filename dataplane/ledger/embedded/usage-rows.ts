/**
 * The records of settled calls in the ledger's file: adds, corrects, finds and deletes them, and keeps the sums by day.
 * Its methods that write run within the caller's transaction.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { SettledCall } from '../balances.ts';
import { correctedBy } from '../ledger-core.ts';
import type { JobBill } from '../ledger.ts';
import { CORRECTED_COLUMNS, correctedRow, RowReader } from '#usage/rows.ts';
import { SUM_DAYS } from '#usage/schema.ts';
import { prepareRows, rowsOf } from '#usage/sqlite.ts';
import { decodeSettled, SETTLED_COLUMNS, settledRow } from './rows.ts';
import { USAGE_BLOCK_BITS, valuesOf } from './schema.ts';

export interface UsageRetention {
  readonly maxRecords: number;
  readonly maxAgeMs: number;
}

/** After so many new records the oldest are deleted: at most as many, and twice the number of new ones besides. */
const PRUNE_STEP = 64;

export class UsageRows {
  readonly #retention: UsageRetention;
  readonly #insert: StatementSync;
  readonly #correct: StatementSync;
  readonly #nameKey: StatementSync;
  readonly #sumDays: StatementSync;
  readonly #dropEmptyDays: StatementSync;
  readonly #oldest: StatementSync;
  readonly #newest: StatementSync;
  readonly #settledBefore: StatementSync;
  readonly #prune: StatementSync;
  readonly #pruneJobs: StatementSync;
  readonly #findSeq: StatementSync;
  readonly #find: StatementSync;
  /** Keys whose names are in the file. */
  readonly #named = new Set<string>();
  #addedSincePrune = 0;

  constructor(db: DatabaseSync, retention: UsageRetention) {
    this.#retention = retention;
    this.#insert = db.prepare(`INSERT INTO usage ${valuesOf(SETTLED_COLUMNS)}`);
    this.#correct = db.prepare(`UPDATE usage SET ${CORRECTED_COLUMNS.map((name) => `${name} = ?`).join(', ')}
      WHERE seq = ?`);
    this.#nameKey = db.prepare('INSERT INTO key_names VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
    this.#sumDays = db.prepare(SUM_DAYS);
    this.#dropEmptyDays = db.prepare('DELETE FROM usage_days WHERE calls = 0');
    this.#oldest = prepareRows(db, 'SELECT seq, settled_ms FROM usage ORDER BY seq LIMIT 1');
    this.#newest = prepareRows(db, 'SELECT seq FROM usage ORDER BY seq DESC LIMIT 1');
    this.#settledBefore = prepareRows(db, 'SELECT max(seq) FROM usage WHERE seq >= ? AND seq < ? AND settled_ms < ?');
    this.#prune = db.prepare('DELETE FROM usage WHERE seq <= ?');
    this.#pruneJobs = db.prepare(`DELETE FROM jobs
      WHERE ended_ms < (SELECT settled_ms FROM usage ORDER BY seq LIMIT 1)`);
    this.#findSeq = db.prepare(`SELECT seq FROM usage WHERE seq >> ${USAGE_BLOCK_BITS} = ? AND call_id = ?`);
    this.#find = prepareRows(db, `SELECT ${SETTLED_COLUMNS.join(', ')} FROM usage WHERE seq = ?`);
  }

  /** Adds records, and deletes as many old ones where there are too many. */
  add(calls: Iterable<SettledCall>, nowMs: number): void {
    let [from, to, count] = [0, 0, 0];
    for (const call of calls) {
      to = Number(this.#insert.run(...settledRow(call)).lastInsertRowid);
      if (count++ === 0) from = to;
      this.#name(call);
    }
    if (count === 0) return;
    this.#sumDays.run({ by: 1n, from, to });
    this.#addedSincePrune += count;
    if (this.#addedSincePrune < PRUNE_STEP) return;
    this.prune(PRUNE_STEP + 2 * this.#addedSincePrune, nowMs);
    this.#addedSincePrune = 0;
  }

  #name({ record: { account, keyUid, keyName } }: SettledCall): void {
    if (keyName === undefined || this.#named.has(keyUid)) return;
    this.#nameKey.run(account, keyUid, keyName);
    this.#named.add(keyUid);
  }

  /** Replaces a record by that after its job's end. Does nothing if the record was deleted. */
  correct(callId: string, bill: JobBill | undefined): void {
    const seq = this.#seqOf(callId);
    const call = seq === undefined ? undefined : this.#read(seq);
    if (seq === undefined || !call) return;
    this.#sumDays.run({ by: -1n, from: seq, to: seq });
    this.#correct.run(...correctedRow(correctedBy(call, bill).record), seq);
    this.#sumDays.run({ by: 1n, from: seq, to: seq });
    this.#dropEmptyDays.run();
  }

  find(callId: string): SettledCall | undefined {
    const seq = this.#seqOf(callId);
    return seq === undefined ? undefined : this.#read(seq);
  }

  /** Deletes the oldest records. Their sequence numbers have no large gaps, so their range is about their number. */
  prune(most: number, nowMs: number): void {
    const { maxRecords, maxAgeMs } = this.#retention;
    const [oldestRow] = rowsOf(this.#oldest.all());
    if (!oldestRow) return;
    const read = new RowReader(oldestRow);
    const [oldest, oldestMs] = [read.count(), read.count()];
    const reach = oldest + most;
    let last = Math.min(this.#newestSeq() - maxRecords, reach - 1);
    const expiredMs = nowMs - maxAgeMs;
    if (oldestMs < expiredMs) {
      const [expired = []] = rowsOf(this.#settledBefore.all(oldest, reach, expiredMs));
      last = Math.max(last, new RowReader(expired).count());
    }
    if (last < oldest) return;
    this.#sumDays.run({ by: -1n, from: oldest, to: last });
    this.#dropEmptyDays.run();
    this.#prune.run(last);
    this.#pruneJobs.run();
  }

  /** Called when a transaction was rolled back, and with it names of keys. */
  rolledBack(): void {
    this.#named.clear();
  }

  #read(seq: number): SettledCall | undefined {
    const [row] = rowsOf(this.#find.all(seq));
    return row && decodeSettled(row);
  }

  #newestSeq(): number {
    const [row] = rowsOf(this.#newest.all());
    return row ? new RowReader(row).count() : -1;
  }

  /** Searches the latest block first, because most lookups are for recent calls. */
  #seqOf(callId: string): number | undefined {
    const [oldestRow] = rowsOf(this.#oldest.all());
    if (!oldestRow) return undefined;
    const oldestBlock = blockOf(new RowReader(oldestRow).count());
    for (let block = blockOf(this.#newestSeq()); block >= oldestBlock; block--) {
      const seq = this.#findSeq.get(block, callId)?.['seq'];
      if (seq !== undefined) return Number(seq);
    }
    return undefined;
  }
}

/** Computes `seq >> USAGE_BLOCK_BITS`, for which JavaScript's shift has too few bits. */
function blockOf(seq: number): number {
  return Math.floor(seq / 2 ** USAGE_BLOCK_BITS);
}

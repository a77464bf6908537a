/**
 * The conversations that providers keep for accounts, in a table of the ledger's file. They cost no money and change
 * rarely, so memory has none of them. The methods run within the caller's transaction.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { ConversationLimits, KeptConversation } from '../ledger.ts';
import { RowReader } from '#usage/rows.ts';
import { prepareRows, rowsOf } from '#usage/sqlite.ts';

export interface Keeping {
  readonly kept: KeptConversation;
  readonly limits: ConversationLimits;
  readonly nowMs: number;
}

export class KeptConversations {
  readonly #expire: StatementSync;
  readonly #sum: StatementSync;
  readonly #find: StatementSync;
  readonly #replace: StatementSync;
  readonly #delete: StatementSync;

  constructor(db: DatabaseSync) {
    this.#expire = db.prepare('DELETE FROM conversations WHERE account = ? AND until_ms <= ?');
    this.#sum = prepareRows(db, 'SELECT count(*), coalesce(sum(bytes), 0) FROM conversations WHERE account = ?');
    this.#find = prepareRows(db, 'SELECT bytes FROM conversations WHERE account = ? AND id = ?');
    this.#replace = db.prepare('REPLACE INTO conversations (account, id, bytes, until_ms) VALUES (?, ?, ?, ?)');
    this.#delete = db.prepare('DELETE FROM conversations WHERE account = ? AND id = ?');
  }

  /** False: it would exceed the limits, and nothing has changed. */
  keep({ kept: { account, id, bytes, untilMs }, limits, nowMs }: Keeping): boolean {
    this.#expire.run(account, nowMs);
    const [sum = []] = rowsOf(this.#sum.all(account));
    const read = new RowReader(sum);
    const [count, total] = [read.count(), read.count()];
    const [found] = rowsOf(this.#find.all(account, id));
    const before = found ? new RowReader(found).count() : 0;
    const fits = count + (found ? 0 : 1) <= limits.count && total + bytes <= limits.bytes;
    if (fits) this.#replace.run(account, id, before + bytes, untilMs ?? null);
    return fits;
  }

  forget(account: string, id: string): void {
    this.#delete.run(account, id);
  }
}

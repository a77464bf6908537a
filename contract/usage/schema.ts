/**
 * [P] The tables of usage records in a ledger's file and in a usage mirror: columns, the index for pages, and sums by
 * UTC day, which triggers maintain.
 */

export const CALL_COLUMNS = `
  key_uid TEXT NOT NULL, account TEXT NOT NULL, created_ms INTEGER NOT NULL,
  group_name TEXT NOT NULL, model TEXT NOT NULL, channel TEXT NOT NULL, catalog TEXT NOT NULL,
  cost_nano_usd INTEGER NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL, cache_write_5m INTEGER NOT NULL,
  cache_write_1h INTEGER NOT NULL, output INTEGER NOT NULL, usage_source TEXT NOT NULL`;

export const DAY_MS = 86_400_000;
const DAY_KEY = 'account, day, key_uid, model, status';
const dayKeyOf = (row: string): string =>
  `${row}account, ${row}created_ms / ${DAY_MS}, ${row}key_uid, ${row}model, ${row}status`;
const inputOf = (row: string): string => `${row}input + ${row}cached + ${row}cache_write_5m + ${row}cache_write_1h`;

const ADD_NEW = `INSERT INTO usage_days
    VALUES (${dayKeyOf('NEW.')}, 1, NEW.cost_nano_usd, ${inputOf('NEW.')}, NEW.output)
    ON CONFLICT (${DAY_KEY}) DO UPDATE SET calls = calls + 1, cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd,
      input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens;`;
const TAKE_OLD = `UPDATE usage_days SET calls = calls - 1, cost_nano_usd = cost_nano_usd - OLD.cost_nano_usd,
      input_tokens = input_tokens - (${inputOf('OLD.')}), output_tokens = output_tokens - OLD.output
    WHERE (${DAY_KEY}) = (${dayKeyOf('OLD.')});
  DELETE FROM usage_days WHERE (${DAY_KEY}) = (${dayKeyOf('OLD.')}) AND calls = 0;`;

/**
 * Adds the records of a range of sequence numbers to the sums (`by` 1n), or takes them off (-1n), in one statement. A
 * number would make amounts inexact, because SQLite takes it for a real. Sums of no calls are left, and have to be
 * deleted.
 */
export const SUM_DAYS = `INSERT INTO usage_days
  SELECT ${dayKeyOf('')}, :by * count(*), :by * sum(cost_nano_usd), :by * sum(${inputOf('')}), :by * sum(output)
  FROM usage WHERE seq >= :from AND seq <= :to GROUP BY 1, 2, 3, 4, 5
  ON CONFLICT (${DAY_KEY}) DO UPDATE SET calls = calls + excluded.calls,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd, input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens`;

/**
 * Adds the names of keys, which outlive their ApiKeys, to a database with a table `usage`. This is a published migration
 * of the ledger's file and is never edited.
 */
export const KEY_NAMES = `
  CREATE TABLE key_names (account TEXT NOT NULL, key_uid TEXT NOT NULL, key_name TEXT NOT NULL,
    PRIMARY KEY (account, key_uid)) STRICT, WITHOUT ROWID;
  CREATE TRIGGER usage_named AFTER INSERT ON usage WHEN NEW.key_name <> '' BEGIN
    INSERT INTO key_names VALUES (NEW.account, NEW.key_uid, NEW.key_name) ON CONFLICT DO NOTHING;
  END;`;

/**
 * Adds the sums to a database with a table `usage`. `day` counts days since the epoch. This is a published migration of
 * the ledger's file and is never edited.
 */
export const USAGE_SUMS = `
  CREATE INDEX usage_by_account ON usage (account, created_ms, call_id);
  CREATE TABLE usage_days (account TEXT NOT NULL, day INTEGER NOT NULL, key_uid TEXT NOT NULL, model TEXT NOT NULL,
    status TEXT NOT NULL, calls INTEGER NOT NULL, cost_nano_usd INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, PRIMARY KEY (${DAY_KEY})) STRICT, WITHOUT ROWID;
  INSERT INTO usage_days SELECT ${dayKeyOf('')}, count(*), sum(cost_nano_usd), sum(${inputOf('')}), sum(output)
    FROM usage GROUP BY 1, 2, 3, 4, 5;
  CREATE TRIGGER usage_added AFTER INSERT ON usage BEGIN ${ADD_NEW} END;
  CREATE TRIGGER usage_changed AFTER UPDATE ON usage BEGIN ${TAKE_OLD} ${ADD_NEW} END;
  CREATE TRIGGER usage_removed AFTER DELETE ON usage BEGIN ${TAKE_OLD} END;`;

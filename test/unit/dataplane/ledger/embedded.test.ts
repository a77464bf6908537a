import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'vitest';
import { openEmbeddedLedger } from '../../../../dataplane/ledger/embedded.ts';
import type { EmbeddedLedgerOptions } from '../../../../dataplane/ledger/embedded.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { Ledger } from '../../../../dataplane/ledger/ledger.ts';
import { DAY_MS, holdRequest, settlement, testClock } from './calls.ts';
import { ledgerContract } from './contract.ts';
import { copyLedger, openSubject, LONG_TIMEOUT, tempFolder } from './embedded/subject.ts';

ledgerContract('embedded, normal', (clock) => openSubject(clock));

type Open = (options?: Partial<EmbeddedLedgerOptions>) => Promise<Ledger>;

/** A path in a folder of its own, and ledgers on it that are closed in the end, whatever happens. */
async function inFolder(body: (path: string, open: Open) => Promise<void>): Promise<void> {
  const folder = tempFolder();
  const path = join(folder.path, 'data', 'ledger.db');
  const ledgers: Ledger[] = [];
  try {
    await body(path, async (options) => {
      const ledger = await openEmbeddedLedger({ path, ...LONG_TIMEOUT, ...options });
      ledgers.push(ledger);
      return ledger;
    });
  } finally {
    for (const ledger of ledgers) await ledger.close();
    folder.remove();
  }
}

describe('the file', () => {
  test('and all files beside it are private, also those of a folder in use', () =>
    inFolder(async (path, open) => {
      const modes = (): readonly string[] =>
        readdirSync(dirname(path)).map((name) => {
          const mode = statSync(join(dirname(path), name)).mode & 0o777;
          return `${name} ${mode.toString(8)}`;
        });
      const ledger = await open();
      assert.deepEqual(
        modes().filter((mode) => !mode.endsWith(' 600')),
        [],
      );
      await ledger.close();
      for (const name of readdirSync(dirname(path))) chmodSync(join(dirname(path), name), 0o644);
      await open();
      assert.deepEqual(
        modes().filter((mode) => !mode.endsWith(' 600')),
        [],
      );
    }));
  test('is private to its owner, like its folder, and contains plain integers', () =>
    inFolder(async (path, open) => {
      const ledger = await open({ sync: 'full' });
      await ledger.admit(holdRequest('a', 9_000_000_000_000_000_001n, { limits: { accountCreditNanoUsd: 2n ** 70n } }));
      await ledger.settle(settlement('a', 9_000_000_000_000_000_001n));
      await ledger.close();
      assert.equal(statSync(path).mode & 0o777, 0o600);
      const db = new DatabaseSync(path, { readOnly: true, readBigInts: true });
      assert.deepEqual(
        { ...db.prepare('SELECT id, spent_nano_usd FROM accounts').get() },
        {
          id: 'team-a/team-a',
          spent_nano_usd: 9_000_000_000_000_000_001n,
        },
      );
      assert.equal(db.prepare('SELECT typeof(cost_nano_usd) AS type FROM usage').get()?.['type'], 'integer');
      assert.equal(db.prepare('PRAGMA user_version').get()?.['user_version'], 12n);
      db.close();
    }));

  test('is locked by one process, also within that process, until it is closed', () =>
    inFolder(async (_path, open) => {
      const first = await open();
      await assert.rejects(open(), /in use by another process/);
      await first.admit(holdRequest('a', 1n));
      await first.settle(settlement('a', 1n));
      await first.close();
      const second = await open();
      assert.equal((await second.readUsage('key-1', 'a'))?.costNanoUsd, 1n);
      await second.close();
    }));

  test('of a newer version is refused, and unchanged', () =>
    inFolder(async (path, open) => {
      await (await open()).close();
      const db = new DatabaseSync(path);
      db.exec('PRAGMA user_version = 99');
      db.close();
      await assert.rejects(
        open(),
        /cannot open the ledger .*version 99, and this program knows only 12: it was written by a newer one/,
      );
      await assert.rejects(open(), /version 99/, 'the lock is free again');
    }));

  test('that is not a ledger is refused', () =>
    inFolder(async (path, open) => {
      await (await open()).close();
      writeFileSync(path, 'not a database, but long enough that SQLite looks for its header in it '.repeat(20));
      await assert.rejects(open(), /cannot open the ledger .*not a database/);
    }));

  test('that is missing beside its log is not begun anew, and a copy of it is taken', () =>
    inFolder(async (path, open) => {
      const ledger = await open({ checkpointEveryMs: 3_600_000 });
      await ledger.admit(holdRequest('a', 1n));
      await ledger.settle(settlement('a', 1n));
      const copy = copyLedger(path);
      await ledger.close();
      const whole = readFileSync(path);
      rmSync(copy.path);
      await assert.rejects(
        open({ path: copy.path }),
        /the file is missing, and its log .*-wal is there.* move all ledger/,
      );
      // a process was killed while it replaced its file
      writeFileSync(`${copy.path}.copy`, whole);
      const next = await open({ path: copy.path });
      assert.equal((await next.readUsage('key-1', 'a'))?.costNanoUsd, 1n);
      await next.close();
      copy.folder.remove();
    }));

  test('of another program is refused', () =>
    inFolder(async (path, open) => {
      await (await open({ path: `${path}.other` })).close();
      const db = new DatabaseSync(path);
      db.exec('CREATE TABLE customers (name TEXT)');
      db.close();
      await assert.rejects(open(), /an SQLite file, but not a ledger/);
    }));

  test('that is damaged is refused', () =>
    inFolder(async (path, open) => {
      const ledger = await open();
      await Promise.all(
        Array.from({ length: 500 }, (_, n) =>
          ledger.admit(holdRequest(`call-${n}`, 1n, { origin: { keyUid: `key-${n}` } })),
        ),
      );
      await Promise.all(Array.from({ length: 500 }, (_, n) => ledger.settle(settlement(`call-${n}`, 1n))));
      await ledger.close();
      const db = new DatabaseSync(path);
      const { rootpage, size } = db
        .prepare(
          'SELECT rootpage, (SELECT page_size FROM pragma_page_size) AS size FROM ' +
            "sqlite_schema WHERE name = 'keys'",
        )
        .get() as { rootpage: number; size: number };
      db.close();
      const file = openSync(path, 'r+');
      writeSync(file, Buffer.alloc(size, 0x5a), 0, size, (rootpage - 1) * size);
      closeSync(file);
      await assert.rejects(open(), /cannot open the ledger .*(damaged|malformed)/);
    }));
});

test('reports to a reader whose spending changed, but not from a closed ledger', () =>
  inFolder(async (_path, open) => {
    const ledger = await open({ checkpointEveryMs: 1 });
    const first = await ledger.changesSince?.(undefined);
    assert.equal(first?.keys, undefined);
    await ledger.admit(holdRequest('a', 1n));
    await ledger.settle(settlement('a', 1n));
    await ledger.readUsage('key-1', "nobody's"); // from the file's thread, which does one thing after the other
    const second = await ledger.changesSince?.(first?.mark);
    assert.deepEqual([second?.keys, second?.accounts], [['key-1'], ['team-a/team-a']]);
    await ledger.close();
    await assert.rejects(async () => ledger.changesSince?.(second?.mark), LedgerUnavailable);
  }));

for (const sync of ['normal', 'full'] as const) {
  test(`begins its log anew while calls go on, and loses nothing, ${sync}`, () =>
    inFolder(async (path, open) => {
      const ledger = await open({ sync, checkpointEveryMs: 5, logPages: 40 });
      const reader = new DatabaseSync(path, { readOnly: true });
      const begun = (): number => Number(reader.prepare('SELECT begun FROM log').get()?.['begun']);
      let calls = 0;
      for (const first = begun(); begun() < first + 4; calls++) {
        await ledger.admit(holdRequest(`call-${calls}`, 2n));
        await ledger.settle(settlement(`call-${calls}`, 2n));
      }
      reader.close();
      const copy = copyLedger(path);
      await ledger.close();
      const next = await open({ path: copy.path });
      assert.equal((await next.readAccount('team-a/team-a')).spentNanoUsd, BigInt(calls) * 2n);
      for (let n = 0; n < calls; n += 7) assert.equal((await next.readUsage('key-1', `call-${n}`))?.costNanoUsd, 2n);
      await next.close();
      copy.folder.remove();
    }));
}

describe('retention', () => {
  test('keeps the latest records, and all balances', () =>
    inFolder(async (_path, open) => {
      const ledger = await open({ retention: { maxRecords: 10 } });
      for (let n = 0; n < 60; n++) {
        await ledger.admit(holdRequest(`call-${n}`, 2n));
        await ledger.settle(settlement(`call-${n}`, 2n));
      }
      await ledger.close();
      const again = await open();
      const kept = [];
      for (let n = 0; n < 60; n++) if (await again.readUsage('key-1', `call-${n}`)) kept.push(n);
      assert.deepEqual(kept, [50, 51, 52, 53, 54, 55, 56, 57, 58, 59]);
      assert.equal((await again.readKey('key-1', 'Never')).spentNanoUsd, 120n);
      await again.close();
    }));

  test("deletes old records by the ledger's clock, in batches", () =>
    inFolder(async (path, open) => {
      const clock = testClock();
      const ledger = await open({ clock: () => clock.nowMs, retention: { maxAgeMs: 3 * DAY_MS } });
      const settle = async (ids: readonly string[]): Promise<void> => {
        await Promise.all(ids.map((id) => ledger.admit(holdRequest(id, 2n))));
        await Promise.all(ids.map((id) => ledger.settle(settlement(id, 2n))));
      };
      await settle(Array.from({ length: 100 }, (_, n) => `old-${n}`));
      clock.nowMs += 2 * DAY_MS;
      await settle(['young']);
      clock.nowMs += 2 * DAY_MS;
      for (const id of ['new-1', 'new-2']) await settle([id]);
      await ledger.close();
      const db = new DatabaseSync(path, { readOnly: true });
      assert.deepEqual(
        db
          .prepare('SELECT call_id FROM usage ORDER BY seq')
          .all()
          .map((row) => row['call_id']),
        ['young', 'new-1', 'new-2'],
      );
      db.close();
    }));

  test('answers a repeated settlement that memory has dropped', () =>
    inFolder(async (_path, open) => {
      const ledger = await open();
      await ledger.admit(holdRequest('first', 2n));
      const first = await ledger.settle(settlement('first', 1n));
      const ids = Array.from({ length: 5000 }, (_, n) => `call-${n}`);
      await Promise.all(ids.map((id) => ledger.admit(holdRequest(id, 2n))));
      await Promise.all(ids.map((id) => ledger.settle(settlement(id, 2n))));
      assert.deepEqual(await ledger.settle(settlement('first', 2n)), first);
      assert.equal((await ledger.readKey('key-1', 'Never')).spentNanoUsd, 10_001n);
      await ledger.close();
    }));
});

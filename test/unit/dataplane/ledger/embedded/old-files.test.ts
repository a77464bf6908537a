/**
 * Folders of earlier versions: testdata/old-journal is what a process left that was killed, with a file, a journal and
 * SQLite's log; and a file of the version without a journal.
 */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { describe, test } from 'vitest';
import { openEmbeddedLedger } from '../../../../../dataplane/ledger/embedded.ts';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { NOON_MS, settlement } from '../calls.ts';
import { LONG_TIMEOUT, tempFolder } from './subject.ts';

const RECORDED = join(import.meta.dirname, 'testdata', 'old-journal');
const [HEADER_BYTES, FRAME_HEADER_BYTES] = [32, 12];

interface Folder {
  readonly path: string;
  readonly segment: string;
}

async function inCopy(body: (folder: Folder) => Promise<void>): Promise<void> {
  const folder = tempFolder();
  cpSync(RECORDED, folder.path, { recursive: true });
  try {
    await body({
      path: join(folder.path, 'ledger.db'),
      segment: join(folder.path, 'ledger.db.journal-000000000002'),
    });
  } finally {
    folder.remove();
  }
}

async function opened<T>(path: string, body: (ledger: Ledger) => Promise<T>): Promise<T> {
  const ledger = await openEmbeddedLedger({ path, ...LONG_TIMEOUT, clock: () => NOON_MS });
  try {
    return await body(ledger);
  } finally {
    await ledger.close();
  }
}

/** The ends of the segment's frames. */
function frameEnds(bytes: Buffer): number[] {
  const ends: number[] = [];
  for (let at = HEADER_BYTES; at < bytes.length; at = ends.at(-1)!)
    ends.push(at + FRAME_HEADER_BYTES + bytes.readUInt32LE(at + 4));
  return ends;
}

/** Everything that the recorded process had acknowledged. */
async function assertTakenOver(ledger: Ledger): Promise<void> {
  assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 39n, heldNanoUsd: 0n });
  assert.deepEqual(await ledger.readAccount('team-b/team-b'), { spentNanoUsd: 7n, heldNanoUsd: 0n });
  assert.equal((await ledger.readKey('key-1', 'Daily')).spentNanoUsd, 39n);
  assert.equal((await ledger.readKey('key-2', 'Monthly')).spentNanoUsd, 7n);
  const found = [];
  for (const [key, id] of [
    ['key-1', 'filed'],
    ['key-1', 'recent'],
    ['key-1', 'plain'],
    ['key-2', 'running'],
    ['key-1', 'last'],
    ['key-1', 'withdrawn'],
  ] as const) {
    const record = await ledger.readUsage(key, id);
    found.push([id, record?.status, record?.costNanoUsd]);
  }
  assert.deepEqual(found, [
    ['filed', 'Refunded', 0n],
    ['recent', 'Succeeded', 22n],
    ['plain', 'Succeeded', 15n],
    ['running', 'Abandoned', 7n],
    ['last', 'Abandoned', 2n],
    ['withdrawn', undefined, undefined],
  ]);
  const { session, keyName, labels, upstreamCostNanoUsd } = (await ledger.readUsage('key-1', 'filed')) ?? {};
  assert.deepEqual([session, keyName, labels, upstreamCostNanoUsd], ['s-1', 'ci', 'cost-center=4711', 0n]);
  assert.deepEqual((await ledger.readUsage('key-2', 'running'))?.lines, [
    { dimension: 'input', quantity: 10, rateUsd: '2.5' },
  ]);
  assert.equal((await ledger.readJob('key-1', 'film-1'))?.state, 'Failed');
  assert.equal((await ledger.readJob('key-1', 'film-2'))?.state, 'Completed');
  const job = await ledger.readJob('key-1', 'film-3');
  assert.deepEqual([job?.state, job?.terms], ['Running', 'by the second']);
  const limits = { count: 1, bytes: 1_000 };
  const kept = { account: 'team-a/team-a', bytes: 1, untilMs: undefined };
  assert.equal(await ledger.keepConversation({ ...kept, id: 'conv_2' }, limits), false, 'there is one already');
  assert.equal((await ledger.settle(settlement('recent', 1n))).record.costNanoUsd, 22n);
}

/** The sums by day are those of the records. */
function assertSummed(path: string): void {
  const db = new DatabaseSync(path, { readOnly: true });
  const sums = db.prepare('SELECT sum(calls) AS calls, sum(cost_nano_usd) AS cost FROM usage_days').get();
  assert.deepEqual({ ...sums }, { calls: 5, cost: 46 });
  db.close();
}

describe('a folder with the journal of an earlier version', () => {
  test('is taken over with everything in it, and its journal is deleted', () =>
    inCopy(async ({ path, segment }) => {
      const journal = readFileSync(segment);
      await opened(path, assertTakenOver);
      assert.deepEqual(readdirSync(join(path, '..')).sort(), ['ledger.db', 'ledger.db.lock']);
      assertSummed(path);
      await opened(path, assertTakenOver);
      // as if the process had been killed before it deleted the journal
      writeFileSync(segment, journal);
      await opened(path, assertTakenOver);
      assert.ok(!readdirSync(join(path, '..')).includes('ledger.db.journal-000000000002'));
      assertSummed(path);
    }));

  test('loses only a last frame that was not complete', () =>
    inCopy(async ({ path, segment }) => {
      const bytes = readFileSync(segment);
      const [, before = 0] = frameEnds(bytes).toReversed();
      writeFileSync(segment, bytes.subarray(0, before + 20));
      await opened(path, async (ledger) => {
        assert.equal(await ledger.readUsage('key-1', 'last'), undefined);
        assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 37n);
      });
    }));
});

describe('a journal of an earlier version that cannot be trusted', () => {
  const refused = async ({ path }: Folder, words: RegExp): Promise<void> => {
    await assert.rejects(
      opened(path, async () => undefined),
      (error: Error) => {
        assert.match(error.message, words);
        assert.match(error.message, /from a backup; or, .* move all ledger\.db\.journal-\* away and start again/);
        return true;
      },
    );
  };

  test('is refused if it is damaged before its end; without it, the file opens', () =>
    inCopy(async (folder) => {
      const bytes = readFileSync(folder.segment);
      const at = frameEnds(bytes)[1]! + FRAME_HEADER_BYTES + 20;
      bytes.writeUInt8(bytes[at]! ^ 0xff, at);
      writeFileSync(folder.segment, bytes);
      await refused(folder, /is damaged at byte \d+ of \d+, and goes on after that/);
      await refused(folder, /is damaged/);
      rmSync(folder.segment);
      await opened(folder.path, async (ledger) => {
        assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 40n);
      });
    }));

  test('is refused with a damaged header', () =>
    inCopy(async (folder) => {
      const bytes = readFileSync(folder.segment);
      bytes.writeUInt8(0xff, 3);
      writeFileSync(folder.segment, bytes);
      await refused(folder, /is damaged at its beginning/);
    }));

  for (const [what, words] of [
    ['another segment', /one of them is not of this ledger or not complete/],
    ["another ledger's", /belongs to another file/],
  ] as const) {
    test(`is refused if it is ${what}`, () =>
      inCopy(async (folder) => {
        const bytes = readFileSync(folder.segment);
        if (what === 'another segment') bytes.writeDoubleLE(4, 8);
        else bytes.write('0011223344556677', 16, 8, 'hex');
        bytes.writeUInt32LE(crc32(bytes.subarray(0, HEADER_BYTES - 4)), HEADER_BYTES - 4);
        rmSync(folder.segment);
        writeFileSync(what === 'another segment' ? folder.segment.replace(/2$/, '4') : folder.segment, bytes);
        await refused(folder, words);
      }));
  }
});

describe('a file of the version without a journal', () => {
  const VERSION_1 = `
    CREATE TABLE keys (uid TEXT PRIMARY KEY, day_start_ms INTEGER NOT NULL, day_spent_nano_usd INTEGER NOT NULL,
      month_start_ms INTEGER NOT NULL, month_spent_nano_usd INTEGER NOT NULL, total_spent_nano_usd INTEGER NOT NULL,
      last_used_ms INTEGER, past_windows TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE accounts (id TEXT PRIMARY KEY, spent_nano_usd INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE holds (call_id TEXT PRIMARY KEY, key_uid TEXT NOT NULL, account TEXT NOT NULL,
      created_ms INTEGER NOT NULL,
      group_name TEXT NOT NULL, model TEXT NOT NULL, channel TEXT NOT NULL, catalog TEXT NOT NULL,
      cost_nano_usd INTEGER NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL, cache_write_5m INTEGER NOT NULL,
      cache_write_1h INTEGER NOT NULL, output INTEGER NOT NULL, usage_source TEXT NOT NULL,
      held_nano_usd INTEGER NOT NULL,
      day_start_ms INTEGER NOT NULL, month_start_ms INTEGER NOT NULL, key_limit_nano_usd INTEGER, period TEXT NOT NULL,
      credit_nano_usd INTEGER NOT NULL, renewed_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE usage (seq INTEGER PRIMARY KEY, call_id TEXT NOT NULL UNIQUE, key_uid TEXT NOT NULL,
      account TEXT NOT NULL, created_ms INTEGER NOT NULL,
      group_name TEXT NOT NULL, model TEXT NOT NULL, channel TEXT NOT NULL, catalog TEXT NOT NULL,
      cost_nano_usd INTEGER NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL, cache_write_5m INTEGER NOT NULL,
      cache_write_1h INTEGER NOT NULL, output INTEGER NOT NULL, usage_source TEXT NOT NULL, status TEXT NOT NULL,
      unbilled_nano_usd INTEGER NOT NULL, duration_ms INTEGER NOT NULL, key_spent_nano_usd INTEGER NOT NULL,
      key_remaining_nano_usd INTEGER, settled_ms INTEGER NOT NULL) STRICT;
    PRAGMA application_id = 1296521036; PRAGMA user_version = 1;`;
  const DAY = Date.UTC(2026, 10, 20);
  const MONTH = Date.UTC(2026, 10, 1);
  const CALL =
    `'key-1', 'team-a/team-a', ${NOON_MS}, 'auto-a', 'claude-sonnet-4-5', 'anthropic/direct', ` +
    `'model-gateway/anthropic@1'`;

  test('opens and keeps its balances, its records and running calls', async () => {
    const folder = tempFolder();
    const path = join(folder.path, 'ledger.db');
    const db = new DatabaseSync(path);
    db.exec(`PRAGMA journal_mode = WAL; ${VERSION_1}
      INSERT INTO keys VALUES ('key-1', ${DAY}, 70, ${MONTH}, 90, 9000000000000000001, ${NOON_MS},
        'Day ${DAY - 86_400_000} 20');
      INSERT INTO accounts VALUES ('team-a/team-a', 9000000000000000001);
      INSERT INTO usage VALUES (1, 'old', ${CALL}, 70, 1, 2, 3, 4, 5, 'Provider', 'Succeeded', 6, 7, 90, NULL,
        ${NOON_MS});
      INSERT INTO holds VALUES ('running', ${CALL}, 4, 1, 0, 0, 0, 2, 'Partial', 50, ${DAY}, ${MONTH}, 200,
        'Daily', 9000000000000000100, ${NOON_MS + 500});`);
    db.close();
    const expected = async (): Promise<void> => {
      const ledger = await openEmbeddedLedger({ path, ...LONG_TIMEOUT, clock: () => NOON_MS });
      const [day, month] = [await ledger.readKey('key-1', 'Daily'), await ledger.readKey('key-1', 'Monthly')];
      assert.deepEqual([day.spentNanoUsd, month.spentNanoUsd, day.totalSpentNanoUsd], [74n, 94n, 9000000000000000005n]);
      assert.deepEqual(await ledger.readAccount('team-a/team-a'), {
        spentNanoUsd: 9000000000000000005n,
        heldNanoUsd: 0n,
      });
      assert.deepEqual(
        [(await ledger.readUsage('key-1', 'old'))?.costNanoUsd, (await ledger.readUsage('key-1', 'running'))?.status],
        [70n, 'Abandoned'],
      );
      await ledger.close();
    };
    try {
      await expected();
      await expected();
      const after = new DatabaseSync(path, { readOnly: true });
      assert.deepEqual(
        after
          .prepare('SELECT (SELECT count(*) FROM calls) AS calls, (SELECT past_windows FROM keys) AS past')
          .all()
          .map((row) => ({ ...row })),
        [{ calls: 0, past: `Day ${DAY - 86_400_000} 20` }],
      );
      after.close();
    } finally {
      folder.remove();
    }
  });
});

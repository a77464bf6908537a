/**
 * The journal's files as a process, a machine or a person may leave them: what is only torn is cut, what is damaged or
 * does not belong together is refused with words that say what can be done.
 */
import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { openEmbeddedLedger } from '#ledger/embedded.ts';
import { createBalances, newWindow } from '#ledger/balances.ts';
import { JournalEncoder } from '#ledger/embedded/journal-encoder.ts';
import { FRAME_HEADER_BYTES, SEGMENT_HEADER_BYTES } from '#ledger/embedded/journal-format.ts';
import { readFrames, readSettlement } from '#ledger/embedded/journal-reader.ts';
import { replayInto } from '#ledger/embedded/recovery.ts';
import type { Ledger } from '#ledger/ledger.ts';
import { holdRequest, NOON_MS, origin, progress, settlement } from '../calls.ts';
import { copyLedger, LONG_TIMEOUT, tempFolder } from './subject.ts';
import type { TempFolder } from './subject.ts';

interface Left {
  readonly path: string;
  readonly folder: TempFolder;
  /** Its only segment. */
  readonly segment: string;
}

const NEVER = 3_600_000;

/** What a process leaves that was killed after these calls, one after the other, each a frame or two of its own. */
async function leave(calls: number): Promise<Left> {
  const folder = tempFolder();
  const ledger = await openEmbeddedLedger({
    path: join(folder.path, 'ledger.db'),
    ...LONG_TIMEOUT,
    checkpointEveryMs: NEVER,
  });
  for (let n = 0; n < calls; n++) {
    await ledger.hold(holdRequest(`call-${n}`, 10n, { progress: progress(1n) }));
    await ledger.settle(settlement(`call-${n}`, 10n));
  }
  const copy = copyLedger(join(folder.path, 'ledger.db'));
  await ledger.close();
  folder.remove();
  const [name = ''] = readdirSync(copy.folder.path).filter((each) => each.includes('.journal-'));
  return { ...copy, segment: join(copy.folder.path, name) };
}

async function withLeft(calls: number, body: (left: Left) => Promise<void>): Promise<void> {
  const left = await leave(calls);
  try {
    await body(left);
  } finally {
    left.folder.remove();
  }
}

async function opened<T>(path: string, body: (ledger: Ledger) => Promise<T>): Promise<T> {
  const ledger = await openEmbeddedLedger({ path, ...LONG_TIMEOUT });
  try {
    return await body(ledger);
  } finally {
    await ledger.close();
  }
}

/** What is spent, and how many of the calls have a record. */
function known(path: string, calls: number): Promise<{ spent: bigint; records: number }> {
  return opened(path, async (ledger) => {
    let records = 0;
    for (let n = 0; n < calls; n++) if (await ledger.readUsage('key-1', `call-${n}`)) records++;
    return { spent: (await ledger.readAccount('team-a/team-a')).spentNanoUsd, records };
  });
}

/** Ends of the frames. */
function frameEnds(bytes: Buffer): number[] {
  const ends: number[] = [];
  for (let at = SEGMENT_HEADER_BYTES; at < bytes.length; at = ends.at(-1)!)
    ends.push(at + FRAME_HEADER_BYTES + bytes.readUInt32LE(at + 4));
  return ends;
}

describe('a journal that ends', () => {
  test('with a whole frame is complete', () =>
    withLeft(5, async ({ path }) => {
      assert.deepEqual(await known(path, 5), { spent: 50n, records: 5 });
    }));

  test('within its last frame loses only that frame, at any byte', () =>
    withLeft(3, async ({ path, segment }) => {
      const bytes = readFileSync(segment);
      const [end, before] = frameEnds(bytes).toReversed();
      for (const length of [before! + 1, before! + FRAME_HEADER_BYTES, end! - 1]) {
        truncateSync(segment, length);
        const copy = tempFolder();
        for (const suffix of ['', '-wal']) copyFileSync(path + suffix, join(copy.path, `ledger.db${suffix}`));
        copyFileSync(segment, join(copy.path, segment.slice(segment.lastIndexOf('/') + 1)));
        // the last settlement is not there, and its hold is billed at its progress
        assert.deepEqual(await known(join(copy.path, 'ledger.db'), 3), { spent: 21n, records: 3 });
        copy.remove();
        writeFileSync(segment, bytes);
      }
    }));

  test('in other bytes or zeros loses only its last frame', () =>
    withLeft(3, async ({ path, segment }) => {
      const bytes = readFileSync(segment);
      bytes.writeUInt8(bytes.at(-1)! ^ 0xff, bytes.length - 1);
      writeFileSync(segment, Buffer.concat([bytes, Buffer.alloc(4096)]));
      assert.deepEqual(await known(path, 3), { spent: 21n, records: 3 });
    }));

  test('before its header was written is ignored', () =>
    withLeft(3, async ({ path, segment }) => {
      const next = segment.replace(/\d+$/, (number) => String(Number(number) + 1).padStart(number.length, '0'));
      writeFileSync(next, readFileSync(segment).subarray(0, 7));
      assert.deepEqual(await known(path, 3), { spent: 30n, records: 3 });
    }));
});

test('a record of a version without names of keys is read without them', () => {
  const encoder = new JournalEncoder();
  const record = {
    ...origin('a', { keyName: 'ci', labels: 'cost-center=4711' }),
    ...progress(5n),
    status: 'Succeeded' as const,
    unbilledNanoUsd: 0n,
    durationMs: 3,
  };
  const windows = { day: newWindow('Day', 1), month: newWindow('Month', 1) };
  const at = encoder.settled({ record, keySpentNanoUsd: 5n, keyRemainingNanoUsd: null, settledMs: 2 }, windows);
  const bytes = encoder.frame().subarray(at);
  assert.deepEqual(readSettlement(bytes, encoder.names).record, record);
  const older = Buffer.from(bytes);
  older.writeUInt32LE(older.readUInt32LE(1) - 8, 1); // without the references of both names
  const { keyName: _name, labels: _labels, ...unnamed } = record;
  assert.deepEqual(readSettlement(older, encoder.names).record, unnamed);
});

describe('a journal that cannot be trusted', () => {
  const refused = (left: Left, words: RegExp) =>
    assert.rejects(
      opened(left.path, async () => undefined),
      (error: Error) => {
        assert.match(error.message, words);
        assert.match(error.message, /from a backup; or, .* move all ledger\.db\.journal-\* away and start again/);
        return true;
      },
    );

  test('is refused if it is damaged before its end, and the lock is released', () =>
    withLeft(3, async (left) => {
      const bytes = readFileSync(left.segment);
      const at = frameEnds(bytes)[1]! + FRAME_HEADER_BYTES + 20;
      bytes.writeUInt8(bytes[at]! ^ 0xff, at);
      writeFileSync(left.segment, bytes);
      await refused(left, /is damaged at byte \d+ of \d+, and goes on after that/);
      await refused(left, /is damaged/);
      // what the words say helps
      rmSync(left.segment);
      assert.deepEqual(await known(left.path, 3), { spent: 0n, records: 0 });
    }));

  test('is refused with a damaged header', () =>
    withLeft(3, async (left) => {
      const bytes = readFileSync(left.segment);
      bytes.writeUInt8(0xff, 3);
      writeFileSync(left.segment, bytes);
      await refused(left, /is damaged at its beginning/);
    }));

  test('is refused if a segment is missing', () =>
    withLeft(3, async (left) => {
      const bytes = readFileSync(left.segment);
      bytes.writeDoubleLE(3, 8);
      bytes.writeUInt32LE(crc32(bytes.subarray(0, SEGMENT_HEADER_BYTES - 4)), SEGMENT_HEADER_BYTES - 4);
      rmSync(left.segment);
      writeFileSync(left.segment.replace(/\d+$/, '000000000003'), bytes);
      await refused(left, /one of them is not of this ledger or not complete/);
    }));

  test('is refused beside another file', () =>
    withLeft(3, (one) =>
      withLeft(2, async (other) => {
        copyFileSync(other.segment, one.segment);
        await refused(one, /belongs to another file/);
      }),
    ));

  test('is refused beside an older copy of its file', async () => {
    const folder = tempFolder();
    const path = join(folder.path, 'ledger.db');
    try {
      await opened(path, async (ledger) => {
        await ledger.hold(holdRequest('a', 10n));
        await ledger.settle(settlement('a', 10n));
      });
      const backup = readFileSync(path);
      await opened(path, async (ledger) => ledger.hold(holdRequest('b', 10n)));
      const ledger = await openEmbeddedLedger({ path, ...LONG_TIMEOUT, checkpointEveryMs: NEVER });
      await ledger.hold(holdRequest('c', 10n));
      const left = copyLedger(path);
      await ledger.close();
      for (const suffix of ['-wal']) rmSync(left.path + suffix, { force: true });
      writeFileSync(left.path, backup);
      await assert.rejects(
        openEmbeddedLedger({ path: left.path }),
        /the file ends at segment \d+: one of them is not of this ledger or not complete/,
      );
      left.folder.remove();
    } finally {
      folder.remove();
    }
  });

  test('is read up to the first changed byte, and never beyond', () =>
    withLeft(4, async ({ segment }) => {
      const bytes = readFileSync(segment);
      const ends = frameEnds(bytes);
      fc.assert(
        fc.property(
          fc.integer({
            min: SEGMENT_HEADER_BYTES,
            max: bytes.length - 1,
          }),
          fc.integer({ min: 1, max: 255 }),
          (at, flip) => {
            const changed = Buffer.from(bytes);
            changed.writeUInt8(changed[at]! ^ flip, at);
            const balances = createBalances();
            const end = readFrames(changed, replayInto(balances, NOON_MS));
            const frame = ends.findIndex((each) => each > at);
            assert.equal(end.bytes, ends[frame - 1] ?? SEGMENT_HEADER_BYTES);
            assert.equal(end.torn, true);
            assert.equal(end.damaged, frame < ends.length - 1);
          },
        ),
        { numRuns: 200 },
      );
    }));
});

describe('the folder', () => {
  test('has no journal after a normal exit, and permissions for its owner only', async () => {
    const folder = tempFolder();
    const path = join(folder.path, 'ledger.db');
    try {
      await opened(path, async (ledger) => {
        const [name = ''] = readdirSync(folder.path).filter((each) => each.includes('.journal-'));
        assert.equal(statSync(join(folder.path, name)).mode & 0o777, 0o600);
        await ledger.hold(holdRequest('a', 10n));
      });
      assert.deepEqual(
        readdirSync(folder.path).filter((each) => each.includes('.journal-')),
        [],
      );
    } finally {
      folder.remove();
    }
  });
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
          .prepare('SELECT (SELECT count(*) FROM holds) AS holds, (SELECT past_windows FROM keys) AS past')
          .all()
          .map((row) => ({ ...row })),
        [{ holds: 0, past: `Day ${DAY - 86_400_000} 20` }],
      );
      after.close();
    } finally {
      folder.remove();
    }
  });

  test('does so if the process is killed before the first checkpoint, too', async () => {
    const folder = tempFolder();
    const path = join(folder.path, 'ledger.db');
    const db = new DatabaseSync(path);
    db.exec(`PRAGMA journal_mode = WAL; ${VERSION_1}
      INSERT INTO accounts VALUES ('team-a/team-a', 10);
      INSERT INTO holds VALUES ('running', ${CALL}, 4, 1, 0, 0, 0, 2, 'Partial', 50, ${DAY}, ${MONTH}, 200,
        'Daily', 100, ${NOON_MS + 500});`);
    db.close();
    const faults = new Int32Array(new SharedArrayBuffer(4)).fill(7);
    const ledger = await openEmbeddedLedger({ path, ...LONG_TIMEOUT, faults });
    const left = copyLedger(path);
    faults.fill(0);
    await ledger.close();
    try {
      assert.deepEqual(await opened(left.path, (next) => next.readAccount('team-a/team-a')), {
        spentNanoUsd: 14n,
        heldNanoUsd: 0n,
      });
    } finally {
      left.folder.remove();
      folder.remove();
    }
  });
});

/** SQLite's log as a disk or a power failure may leave it: what it ends with is lost, and the ledger says so. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import type { LedgerFault } from '../../../../../dataplane/ledger/embedded/committer.ts';
import { openEmbeddedLedger } from '../../../../../dataplane/ledger/embedded.ts';
import { holdRequest, progress, settlement } from '../calls.ts';
import { copyLedger, LONG_TIMEOUT, tempFolder } from './subject.ts';

const NEVER = 3_600_000;
const CALLS = 20;
const [HEADER_BYTES, FRAME_BYTES] = [32, 24 + 4096];

interface Left {
  readonly path: string;
  /** SQLite's log. */
  readonly log: string;
}

/** What a process leaves that was killed after some calls, one after the other. */
async function withLeft(body: (left: Left) => Promise<void>): Promise<void> {
  const folder = tempFolder();
  const path = join(folder.path, 'ledger.db');
  const ledger = await openEmbeddedLedger({ path, ...LONG_TIMEOUT, checkpointEveryMs: NEVER });
  for (let n = 0; n < CALLS; n++) {
    await ledger.admit(holdRequest(`call-${n}`, 10n, { progress: progress(1n) }));
    await ledger.settle(settlement(`call-${n}`, 10n));
  }
  const copy = copyLedger(path);
  await ledger.close();
  folder.remove();
  try {
    await body({ path: copy.path, log: `${copy.path}-wal` });
  } finally {
    copy.folder.remove();
  }
}

/** What is known of the calls after the next start, and what was reported. */
async function start(path: string): Promise<{ records: number; spent: bigint; due: bigint; faults: LedgerFault[] }> {
  const faults: LedgerFault[] = [];
  const ledger = await openEmbeddedLedger({ path, ...LONG_TIMEOUT, onFault: (fault) => faults.push(fault) });
  let [records, due] = [0, 0n];
  for (let n = 0; n < CALLS; n++) {
    const record = await ledger.readUsage('key-1', `call-${n}`);
    if (!record) continue;
    records++;
    due += record.costNanoUsd;
  }
  const { spentNanoUsd: spent } = await ledger.readAccount('team-a/team-a');
  await ledger.close();
  return { records, spent, due, faults };
}

describe("SQLite's log", () => {
  test('of a process that was killed is complete, and nothing is reported', () =>
    withLeft(async ({ path }) => {
      assert.deepEqual(await start(path), { records: CALLS, spent: 200n, due: 200n, faults: [] });
    }));

  for (const at of ['its last page', 'within a commit'] as const) {
    test(`that ends ${at} loses what was not complete, and nothing is reported`, () =>
      withLeft(async ({ path, log }) => {
        const bytes = readFileSync(log);
        writeFileSync(log, bytes.subarray(0, bytes.length - (at === 'its last page' ? FRAME_BYTES : 5)));
        const { records, spent, due, faults } = await start(path);
        // the last settlement is not there, and its hold is billed at its progress
        assert.deepEqual([records, spent, due, faults], [CALLS, 191n, 191n, []]);
      }));
  }

  test('that is damaged in the middle ends there: the balances add up, and the loss is reported once', () =>
    withLeft(async ({ path, log }) => {
      const bytes = readFileSync(log);
      const frames = (bytes.length - HEADER_BYTES) / FRAME_BYTES;
      const at = HEADER_BYTES + Math.floor(frames / 2) * FRAME_BYTES + 1_000;
      bytes.writeUInt8(bytes[at]! ^ 0xff, at);
      writeFileSync(log, bytes);
      const { records, spent, due, faults } = await start(path);
      assert.ok(records > 0 && records < CALLS);
      assert.equal(spent, due);
      assert.equal(faults.length, 1);
      assert.equal(faults[0]?.state, 'Damaged');
      assert.match(faults[0]?.reason ?? '', /ledger\.db-wal is damaged after \d+ pages: the \d+ transactions .* lost/);
      assert.deepEqual((await start(path)).faults, []);
    }));

  test('that is damaged at its beginning is reported', () =>
    withLeft(async ({ path, log }) => {
      const bytes = readFileSync(log);
      bytes.writeUInt8(bytes[17]! ^ 0xff, 17);
      writeFileSync(log, bytes);
      const { spent, due, faults } = await start(path);
      assert.equal(spent, due);
      assert.match(faults[0]?.reason ?? '', /is damaged at its beginning/);
    }));
});

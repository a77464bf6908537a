/** A call that the ledger of one machine refused costs nothing, whenever its process dies afterwards. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'vitest';
import type { LedgerSync } from '../../../../../dataplane/ledger/embedded/committer.ts';
import { FAULT } from '../../../../../dataplane/ledger/embedded/faults.ts';
import { openEmbeddedLedger } from '../../../../../dataplane/ledger/embedded.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { holdRequest, progress, settlement } from '../calls.ts';
import { faultTest } from './bench.ts';
import type { Bench } from './bench.ts';
import { copyLedger, tempFolder } from './subject.ts';

const CASES: readonly (readonly [LedgerSync, keyof typeof FAULT])[] = [
  ['normal', 'commitFails'],
  ['normal', 'stalls'],
  ['full', 'commitFails'],
  ['full', 'stalls'],
  ['full', 'syncFails'],
];

interface Refused {
  /** Of the call that ends meanwhile. */
  readonly settling: Promise<unknown>;
}

/** While the disk fails, one call is refused and another one ends. */
async function refuse(bench: Bench, fault: keyof typeof FAULT): Promise<Refused> {
  const { ledger } = bench;
  await ledger.admit(holdRequest('running', 40n, { progress: progress(3n) }));
  bench.set(fault);
  const refused = assert.rejects(
    ledger.admit(holdRequest('refused', 60n, { progress: progress(9n) })),
    LedgerUnavailable,
  );
  const settling = ledger.settle(settlement('running', 30n));
  await refused;
  return { settling };
}

async function costsNothing(next: Ledger, spent: readonly bigint[]): Promise<void> {
  const { spentNanoUsd, heldNanoUsd } = await next.readAccount('team-a/team-a');
  assert.ok(spent.includes(spentNanoUsd), `${spentNanoUsd} are spent`);
  assert.equal(heldNanoUsd, 0n);
  assert.equal(await next.readUsage('key-1', 'refused'), undefined);
}

for (const [sync, fault] of CASES) {
  faultTest(
    `${fault}, ${sync}: costs nothing when its process dies at once`,
    async (bench) => {
      const { settling } = await refuse(bench, fault);
      // the other call is billed its progress, or its cost where that was written and not acknowledged
      await bench.afterwards((next) => costsNothing(next, [3n, 30n]));
      bench.set('none');
      await settling;
      await bench.afterwards((next) => costsNothing(next, [30n]));
    },
    sync,
  );
}

for (const fault of ['commitFails', 'stalls'] as const) {
  faultTest(`${fault}: costs nothing wherever the log ends`, async (bench) => {
    const { settling } = await refuse(bench, fault);
    bench.set('none');
    await settling;
    const { folder, path } = copyLedger(bench.path);
    const [file, log] = [readFileSync(path), readFileSync(`${path}-wal`)];
    for (let end = 0; end <= log.length; end += 1024) {
      writeFileSync(path, file);
      writeFileSync(`${path}-wal`, log.subarray(0, end));
      assert.ok(!runningCalls(path).includes('refused'), `ends after ${end} of ${log.length} bytes`);
    }
    folder.remove();
  });
}

/** The calls that are running in a file. */
function runningCalls(path: string): string[] {
  const db = new DatabaseSync(path);
  try {
    const rows = db.prepare("SELECT running ->> '$.origin.callId' AS id FROM calls WHERE running IS NOT NULL").all();
    return rows.map(({ id }) => String(id));
  } finally {
    db.close();
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  }
}

test('costs nothing when its ledger is closed before the hold is on disk', async () => {
  const folder = tempFolder();
  const faults = new Int32Array(new SharedArrayBuffer(4));
  const path = join(folder.path, 'ledger.db');
  const ledger = await openEmbeddedLedger({ path, sync: 'full', faults, timeoutMs: 60_000 });
  Atomics.store(faults, 0, FAULT.syncFails);
  const refused = assert.rejects(
    ledger.admit(holdRequest('refused', 60n, { progress: progress(9n) })),
    LedgerUnavailable,
  );
  await ledger.close();
  await refused;
  const next = await openEmbeddedLedger({ path });
  await costsNothing(next, [0n]);
  await next.close();
  folder.remove();
}, 30_000);

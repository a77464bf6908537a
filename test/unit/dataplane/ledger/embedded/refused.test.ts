/** A call that the ledger of one machine refused costs nothing, whenever its process dies afterwards. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'vitest';
import type { LedgerSync } from '#ledger/embedded/committer.ts';
import { FAULT } from '#ledger/embedded/faults.ts';
import { SEGMENT_HEADER_BYTES } from '#ledger/embedded/journal-format.ts';
import { readFrames } from '#ledger/embedded/journal-reader.ts';
import { openEmbeddedLedger } from '#ledger/embedded.ts';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import type { Ledger } from '#ledger/ledger.ts';
import { holdRequest, progress, settlement } from '../calls.ts';
import { faultTest } from './bench.ts';
import type { Bench } from './bench.ts';
import { tempFolder } from './subject.ts';

const CASES: readonly (readonly [LedgerSync, keyof typeof FAULT])[] = [
  ['normal', 'commitFails'],
  ['normal', 'writeTears'],
  ['normal', 'answerFails'],
  ['normal', 'stalls'],
  ['full', 'commitFails'],
  ['full', 'writeTears'],
  ['full', 'syncFails'],
];

interface Refused {
  /** Of the call that ends meanwhile. */
  readonly settling: Promise<unknown>;
}

/** While the disk fails, one call is refused and another one ends. */
async function refuse(bench: Bench, fault: keyof typeof FAULT): Promise<Refused> {
  const { ledger } = bench;
  await ledger.hold(holdRequest('running', 40n, { progress: progress(3n) }));
  bench.set(fault);
  const refused = assert.rejects(
    ledger.hold(holdRequest('refused', 60n, { progress: progress(9n) })),
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

for (const fault of ['commitFails', 'writeTears', 'answerFails'] as const) {
  faultTest(`${fault}: costs nothing wherever the next write is interrupted`, async (bench) => {
    const { settling } = await refuse(bench, fault);
    const before = newestSegment(bench.path).length;
    bench.set('none');
    await settling;
    const bytes = newestSegment(bench.path);
    assert.ok(bytes.length > before);
    for (let cut = SEGMENT_HEADER_BYTES; cut <= bytes.length; cut++) {
      const running = new Set<string>();
      readFrames(bytes.subarray(0, cut), {
        held: ({ origin }) => running.add(origin.callId),
        withdrawn: (callId) => running.delete(callId),
      });
      assert.equal(running.has('refused'), false, `cut after ${cut} of ${bytes.length} bytes`);
    }
  });
}

function newestSegment(path: string): Buffer {
  const numberOf = (name: string): number => Number(name.split('-').at(-1));
  const [newest] = readdirSync(dirname(path))
    .filter((name) => name.includes('.journal-'))
    .sort((a, b) => numberOf(b) - numberOf(a));
  assert.ok(newest !== undefined);
  return readFileSync(join(dirname(path), newest));
}

test('costs nothing when its ledger is closed before the hold is on disk', async () => {
  const folder = tempFolder();
  const faults = new Int32Array(new SharedArrayBuffer(4));
  const path = join(folder.path, 'ledger.db');
  const ledger = await openEmbeddedLedger({ path, sync: 'full', faults, timeoutMs: 60_000 });
  Atomics.store(faults, 0, FAULT.syncFails);
  const refused = assert.rejects(
    ledger.hold(holdRequest('refused', 60n, { progress: progress(9n) })),
    LedgerUnavailable,
  );
  await ledger.close();
  await refused;
  const next = await openEmbeddedLedger({ path });
  await costsNothing(next, [0n]);
  await next.close();
  folder.remove();
}, 30_000);

/**
 * A file that fails, hangs or comes back: nothing is acknowledged that is not in it, nothing is lost, and nobody does anything.
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerFault } from '#ledger/embedded-committer.ts';
import { FAULT } from '#ledger/embedded-faults.ts';
import { openEmbeddedLedger } from '#ledger/embedded.ts';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import type { Ledger } from '#ledger/ledger.ts';
import { holdRequest, progress, settlement, slot } from './calls.ts';
import { copyLedger, PATIENT, tempFolder } from './embedded-subject.ts';

class Bench {
  readonly faults: LedgerFault[] = [];
  readonly path: string;
  readonly ledger: Ledger;
  readonly #switch: Int32Array;

  constructor(path: string, ledger: Ledger, { faults, control }: { faults: LedgerFault[]; control: Int32Array }) {
    this.path = path;
    this.ledger = ledger;
    this.faults = faults;
    this.#switch = control;
  }

  set(fault: keyof typeof FAULT): void {
    Atomics.store(this.#switch, 0, FAULT[fault]);
    Atomics.notify(this.#switch, 0);
  }

  /** Resolves once the ledger has said that its file works again, so many times. */
  async recovered(times = 1): Promise<void> {
    while (this.faults.filter(({ state }) => state === 'Recovered').length < times) await sleep(2);
  }

  /** What a process that dies now leaves, as the next one reads it. */
  async afterwards(body: (ledger: Ledger) => Promise<void>): Promise<void> {
    const copy = copyLedger(this.path);
    const ledger = await openEmbeddedLedger({ path: copy.path, ...PATIENT });
    try {
      await body(ledger);
    } finally {
      await ledger.close();
      copy.folder.remove();
    }
  }
}

function faultTest(title: string, body: (bench: Bench) => Promise<void>): void {
  void test(title, async () => {
    const folder = tempFolder();
    const control = new Int32Array(new SharedArrayBuffer(4));
    const faults: LedgerFault[] = [];
    const path = join(folder.path, 'ledger.db');
    const ledger = await openEmbeddedLedger({ path, faults: control, patienceMs: 500, onFault: (fault) => faults.push(fault) });
    const bench = new Bench(path, ledger, { faults, control });
    try {
      await body(bench);
    } finally {
      bench.set('none');
      await ledger.close();
      folder.remove();
    }
  });
}

const LIMITS = { keyLimitNanoUsd: 100n };

/** Whether a promise is settled, told without waiting for it. */
function watch<T>(promise: Promise<T>): { readonly promise: Promise<T>; readonly isSettled: () => boolean } {
  let settled = false;
  const done = (): void => {
    settled = true;
  };
  promise.then(done, done);
  return { promise, isSettled: () => settled };
}

async function refusedThenRecovered(bench: Bench, fault: 'commitFails' | 'answerFails' | 'stalls' | 'threadDies'): Promise<void> {
  const { ledger } = bench;
  await ledger.takeSlots('running', [slot('Key', '1', 5)]);
  await ledger.hold(holdRequest('running', 40n, { limits: LIMITS, progress: progress(3n) }));
  bench.set(fault);
  const settling = watch(ledger.settle(settlement('running', 30n)));
  await assert.rejects(ledger.hold(holdRequest('refused', 60n, { limits: LIMITS, progress: progress(9n) })), LedgerUnavailable);
  await assert.rejects(ledger.takeSlots('refused', [slot('Key', '1', 5)]), LedgerUnavailable);
  assert.equal(settling.isSettled(), false, 'a settlement is not acknowledged before it is in the file');
  assert.deepEqual(ledger.gauges(), { holds: 0, heldNanoUsd: 0n, slots: { Key: 0, Group: 0, Channel: 0 } });
  bench.set('none');
  const { record, keySpentNanoUsd } = await settling.promise;
  assert.deepEqual([record.costNanoUsd, keySpentNanoUsd], [30n, 30n]);
  await bench.recovered();
  assert.deepEqual(bench.faults.slice(0, 2).map(({ state }) => state), ['Failing', 'Recovered']);
  // the undoing of the refused hold is in the file with this one
  assert.deepEqual(await ledger.hold(holdRequest('next', 71n, { limits: LIMITS })), { outcome: 'Short', short: 'Key', availableNanoUsd: 70n });
  assert.deepEqual(await ledger.hold(holdRequest('next', 70n, { limits: LIMITS, progress: progress(1n) })), { outcome: 'Held', heldNanoUsd: 70n });
  await bench.afterwards(async (next) => {
    assert.equal((await next.readKey('key-1', 'Never')).spentNanoUsd, 31n);
    assert.equal(await next.readUsage('key-1', 'refused'), undefined);
    assert.equal((await next.readUsage('key-1', 'running'))?.status, 'Succeeded');
    assert.equal((await next.readUsage('key-1', 'next'))?.status, 'Abandoned');
  });
}

for (const fault of ['commitFails', 'answerFails', 'stalls', 'threadDies'] as const)
  faultTest(`${fault}: holds are refused and leave nothing, settlements wait and are applied once`, (bench) => refusedThenRecovered(bench, fault));

faultTest('somebody else writes to the file for a while', async (bench) => {
  const other = new DatabaseSync(bench.path);
  await bench.ledger.hold(holdRequest('a', 40n));
  other.exec('BEGIN IMMEDIATE');
  const settling = watch(bench.ledger.settle(settlement('a', 30n)));
  await assert.rejects(bench.ledger.hold(holdRequest('b', 60n)), LedgerUnavailable);
  assert.equal(settling.isSettled(), false);
  other.exec('ROLLBACK');
  other.close();
  assert.equal((await settling.promise).keySpentNanoUsd, 30n);
});

faultTest('the file vanishes: the next one has all the money again', async (bench) => {
  const { ledger } = bench;
  const other = { origin: { keyUid: 'key-2', account: 'team-b/team-b' } };
  await ledger.hold(holdRequest('earlier', 40n, other));
  await ledger.settle(settlement('earlier', 35n));
  await ledger.hold(holdRequest('running', 40n, { ...other, progress: progress(3n) }));
  for (const suffix of ['', '-wal', '-shm']) rmSync(bench.path + suffix);
  await ledger.hold(holdRequest('a', 10n));
  bench.set('threadDies');
  const settling = ledger.settle(settlement('a', 10n));
  await assert.rejects(ledger.hold(holdRequest('refused', 1n)), LedgerUnavailable);
  bench.set('none');
  await settling;
  await bench.afterwards(async (next) => {
    assert.deepEqual(await next.readAccount('team-b/team-b'), { spentNanoUsd: 38n, heldNanoUsd: 0n });
    assert.equal((await next.readKey('key-2', 'Never')).spentNanoUsd, 38n);
    assert.equal((await next.readUsage('key-2', 'running'))?.status, 'Abandoned');
    assert.equal((await next.readUsage('key-1', 'a'))?.costNanoUsd, 10n);
  });
});

faultTest('a second hold that comes too late leaves the first, in memory and in the file', async (bench) => {
  const { ledger } = bench;
  await ledger.hold(holdRequest('a', 40n, { limits: LIMITS, progress: progress(7n) }));
  bench.set('stalls');
  await assert.rejects(ledger.hold(holdRequest('a', 90n, { limits: LIMITS, progress: progress(8n) })), LedgerUnavailable);
  assert.equal(ledger.gauges().heldNanoUsd, 40n);
  bench.set('none');
  await bench.recovered();
  assert.deepEqual(await ledger.hold(holdRequest('b', 60n, { limits: LIMITS })), { outcome: 'Held', heldNanoUsd: 60n });
  const db = new DatabaseSync(bench.path, { readOnly: true });
  assert.deepEqual(db.prepare('SELECT call_id, held_nano_usd FROM holds ORDER BY call_id').all().map((row) => ({ ...row })),
    [{ call_id: 'a', held_nano_usd: 40 }, { call_id: 'b', held_nano_usd: 60 }]);
  db.close();
});

faultTest('while a smaller second hold is being written, the larger first one still counts', async (bench) => {
  const { ledger } = bench;
  await ledger.hold(holdRequest('a', 80n, { limits: LIMITS }));
  bench.set('stalls');
  const smaller = ledger.hold(holdRequest('a', 10n, { limits: LIMITS }));
  const between = ledger.hold(holdRequest('b', 21n, { limits: LIMITS }));
  assert.deepEqual(await between, { outcome: 'Short', short: 'Key', availableNanoUsd: 20n });
  await assert.rejects(smaller, LedgerUnavailable);
  assert.equal(ledger.gauges().heldNanoUsd, 80n);
});

faultTest('progress is refused while the file fails, and is there afterwards', async (bench) => {
  const { ledger } = bench;
  await ledger.hold(holdRequest('a', 40n));
  bench.set('commitFails');
  await assert.rejects(ledger.hold(holdRequest('b', 1n)), LedgerUnavailable);
  await assert.rejects(ledger.recordProgress(new Map([['a', progress(12n)]])), LedgerUnavailable);
  await assert.rejects(ledger.recordProgress(new Map()), LedgerUnavailable);
  bench.set('none');
  await bench.recovered();
  await ledger.recordProgress(new Map());
  // in the file with the next commit at the latest
  await ledger.hold(holdRequest('c', 1n));
  await bench.afterwards(async (next) => assert.equal((await next.readUsage('key-1', 'a'))?.costNanoUsd, 12n));
});

faultTest('a thread that dies again and again, with many calls under way', async (bench) => {
  const { ledger } = bench;
  const limits = { keyLimitNanoUsd: 1_000n };
  let billed = 0n;
  for (let round = 0; round < 3; round++) {
    const ids = Array.from({ length: 20 }, (_, n) => `call-${round}-${n}`);
    await Promise.all(ids.map((id) => ledger.hold(holdRequest(id, 10n, { limits }))));
    bench.set('threadDies');
    const settled = Promise.all(ids.map((id, n) => ledger.settle(settlement(id, BigInt(n)))));
    const refused = await Promise.allSettled(ids.map((id) => ledger.hold(holdRequest(`${id}-late`, 10n, { limits }))));
    assert.ok(refused.every(({ status }) => status === 'rejected'));
    bench.set('none');
    for (const { record } of await settled) billed += record.costNanoUsd;
    await bench.recovered(round + 1);
  }
  assert.equal(billed, 570n);
  await bench.afterwards(async (next) => {
    assert.deepEqual(await next.readAccount('team-a/team-a'), { spentNanoUsd: 570n, heldNanoUsd: 0n });
    for (let round = 0; round < 3; round++)
      for (let n = 0; n < 20; n++) assert.equal((await next.readUsage('key-1', `call-${round}-${n}`))?.costNanoUsd, BigInt(n));
  });
});

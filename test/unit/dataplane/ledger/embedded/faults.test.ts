/**
 * A disk that fails, hangs or comes back: nothing is acknowledged that is not in the file, nothing is lost, and nobody
 * does anything. Checkpoints that fail stop nobody, as long as the log can grow.
 */
import assert from 'node:assert/strict';
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import type { LedgerFault } from '../../../../../dataplane/ledger/embedded/committer.ts';
import { FAULT } from '../../../../../dataplane/ledger/embedded/faults.ts';
import { openEmbeddedLedger } from '../../../../../dataplane/ledger/embedded.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { brief, holdRequest, progress, settlement, slot } from '../calls.ts';
import { faultTest, spentInFile } from './bench.ts';
import type { Bench } from './bench.ts';
import { tempFolder } from './subject.ts';
import { NO_TOKENS_LOAD } from '../../../../../dataplane/ledger/load.ts';

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

async function refusedThenRecovered(bench: Bench, fault: keyof typeof FAULT): Promise<void> {
  const { ledger } = bench;
  await ledger.take('running', [slot('Key', '1', 5)], NO_TOKENS_LOAD);
  await ledger.admit(holdRequest('running', 40n, { limits: LIMITS, progress: progress(3n) }));
  bench.set(fault);
  const settling = watch(ledger.settle(settlement('running', 30n)));
  await assert.rejects(
    ledger.admit(holdRequest('refused', 60n, { limits: LIMITS, progress: progress(9n) })),
    LedgerUnavailable,
  );
  await assert.rejects(async () => ledger.take('refused', [slot('Key', '1', 5)], NO_TOKENS_LOAD), LedgerUnavailable);
  assert.equal(settling.isSettled(), false, 'a settlement is not acknowledged before it is in the file');
  assert.deepEqual(ledger.gauges(), { holds: 0, heldNanoUsd: 0n, slots: { Key: 0, Group: 0, Channel: 0 } });
  bench.set('none');
  const { record, keySpentNanoUsd } = await settling.promise;
  assert.deepEqual([record.costNanoUsd, keySpentNanoUsd], [30n, 30n]);
  await bench.told('Recovered');
  // a sync that fails makes checkpoints fail too
  const states = bench.faults.map(({ state }) => state).filter((state) => state !== 'Lagging' && state !== 'CaughtUp');
  assert.deepEqual(states, ['Failing', 'Recovered']);
  // the undoing of the refused hold is in the file before this one
  assert.deepEqual(brief(await ledger.admit(holdRequest('next', 71n, { limits: LIMITS }))), {
    outcome: 'Short',
    short: 'Key',
    availableNanoUsd: 70n,
  });
  assert.deepEqual(await ledger.admit(holdRequest('next', 70n, { limits: LIMITS, progress: progress(1n) })), {
    outcome: 'Held',
    heldNanoUsd: 70n,
  });
  await bench.afterwards(async (next) => {
    assert.equal((await next.readKey('key-1', 'Never')).spentNanoUsd, 31n);
    assert.equal(await next.readUsage('key-1', 'refused'), undefined);
    assert.equal((await next.readUsage('key-1', 'running'))?.status, 'Succeeded');
    assert.equal((await next.readUsage('key-1', 'next'))?.status, 'Abandoned');
  });
}

for (const fault of ['commitFails', 'stalls'] as const)
  faultTest(`${fault}: holds are refused and leave nothing, settlements wait and are applied once`, (bench) =>
    refusedThenRecovered(bench, fault),
  );
for (const fault of ['commitFails', 'stalls', 'syncFails'] as const)
  faultTest(
    `${fault}, full: holds are refused and leave nothing, settlements wait and are applied once`,
    (bench) => refusedThenRecovered(bench, fault),
    'full',
  );

for (const fault of ['commitFails', 'stalls'] as const)
  faultTest(`${fault}: a withheld call has a record that says so`, async (bench) => {
    const { ledger } = bench;
    for (const id of ['a', 'b', 'c']) await ledger.admit(holdRequest(id, 40n));
    bench.set(fault);
    const settling = ['a', 'b', 'c'].map((id, at) => ledger.settle(settlement(id, BigInt(10 + at))));
    await bench.told('Failing');
    ledger.withhold('b');
    const statuses = ['Succeeded', 'Withheld', 'Succeeded'];
    assert.equal((await ledger.readUsage('key-1', 'b'))?.status, 'Withheld');
    bench.set('none');
    assert.deepEqual(
      (await Promise.all(settling)).map(({ record }) => [record.status, record.costNanoUsd]),
      statuses.map((status, at) => [status, BigInt(10 + at)]),
    );
    await bench.afterwards(async (next) => {
      const records = await Promise.all(['a', 'b', 'c'].map((id) => next.readUsage('key-1', id)));
      assert.deepEqual(
        records.map((record) => record?.status),
        statuses,
      );
      assert.equal((await next.readAccount('team-a/team-a')).spentNanoUsd, 33n);
    });
  });

faultTest('a call that is settled and not filed yet gets another status, and its next record has it', async (bench) => {
  const { ledger } = bench;
  await ledger.admit(holdRequest('a', 40n));
  await ledger.settle(settlement('a', 30n));
  ledger.withhold('a');
  assert.equal((await ledger.readUsage('key-1', 'a'))?.status, 'Withheld');
  // durable together with the next step
  await ledger.admit(holdRequest('b', 1n));
  await bench.afterwards(async (next) => assert.equal((await next.readUsage('key-1', 'a'))?.status, 'Withheld'));
});

faultTest('a process that ends while commits fail leaves what was acknowledged', async (bench) => {
  const { ledger } = bench;
  await ledger.admit(holdRequest('a', 40n, { progress: progress(3n) }));
  await ledger.admit(holdRequest('b', 40n));
  await ledger.settle(settlement('b', 30n));
  bench.set('commitFails');
  const settling = watch(ledger.settle(settlement('a', 35n)));
  await bench.told('Failing');
  await bench.afterwards(async (next) => {
    assert.deepEqual(await next.readAccount('team-a/team-a'), { spentNanoUsd: 33n, heldNanoUsd: 0n });
    assert.equal((await next.readUsage('key-1', 'a'))?.status, 'Abandoned');
  });
  assert.equal(settling.isSettled(), false);
  bench.set('none');
  await settling.promise;
});

for (const fault of ['threadDies', 'checkpointFails'] as const) {
  faultTest(`${fault}: calls go on, the log grows, and nothing is lost`, async (bench) => {
    const { ledger } = bench;
    bench.set(fault);
    for (let n = 0; bench.faults.length === 0; n++) {
      await call(ledger, `busy-${n}`, 0n);
      await sleep(10);
    }
    assert.deepEqual(
      bench.faults.map(({ state }) => state),
      ['Lagging'],
    );
    await call(ledger, 'a', 30n);
    await call(ledger, 'b', 20n);
    assert.equal((await ledger.settle(settlement('a', 1n))).record.costNanoUsd, 30n);
    await bench.afterwards(async (next) => {
      assert.equal((await next.readAccount('team-a/team-a')).spentNanoUsd, 50n);
      assert.equal((await next.readUsage('key-1', 'a'))?.costNanoUsd, 30n);
    });
    bench.set('none');
    await bench.told('CaughtUp');
    await bench.inFile(50);
    assert.equal((await ledger.readUsage('key-1', 'a'))?.costNanoUsd, 30n);
  });
}

faultTest('another program locks the file for a moment: calls wait for it', async (bench) => {
  const unlock = bench.lock();
  const waiting = watch(call(bench.ledger, 'a', 30n));
  await sleep(100);
  assert.equal(waiting.isSettled(), false);
  unlock();
  await waiting.promise;
  await bench.inFile(30);
  assert.deepEqual(bench.faults, []);
});

faultTest('another program locks the file for long: calls are refused until it is unlocked', async (bench) => {
  const { ledger } = bench;
  await ledger.admit(holdRequest('running', 40n));
  const unlock = bench.lock();
  const settling = watch(ledger.settle(settlement('running', 30n)));
  await assert.rejects(ledger.admit(holdRequest('refused', 1n)), LedgerUnavailable);
  await assert.rejects(ledger.admit(holdRequest('refused-at-once', 1n)), LedgerUnavailable);
  assert.equal(settling.isSettled(), false);
  unlock();
  await settling.promise;
  await bench.told('Recovered');
  await call(ledger, 'next', 5n);
  await bench.inFile(35);
});

const PARTS = { 'the file': [''], 'its log': ['-wal'], "the log's index": ['-shm'], everything: ['', '-wal', '-shm'] };
for (const [vanishing, suffixes] of Object.entries(PARTS)) {
  faultTest(`${vanishing} vanishes: the next process has all money and all records`, async (bench) => {
    const { ledger, path } = bench;
    const other = { origin: { keyUid: 'key-2', account: 'team-b/team-b' } };
    await ledger.admit(holdRequest('earlier', 40n, other));
    await ledger.settle(settlement('earlier', 35n, { job: { jobId: 'film', pollMs: 5 } }));
    await bench.inFile(35);
    await ledger.admit(holdRequest('running', 40n, { ...other, progress: progress(3n) }));
    await call(ledger, 'recent', 7n);
    const before = inodesOf(path);
    for (const suffix of suffixes) rmSync(path + suffix);
    await noticed(bench, before);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    await call(ledger, 'a', 10n);
    await bench.afterwards(async (next) => {
      assert.deepEqual(await next.readAccount('team-b/team-b'), { spentNanoUsd: 38n, heldNanoUsd: 0n });
      assert.deepEqual(await next.readAccount('team-a/team-a'), { spentNanoUsd: 17n, heldNanoUsd: 0n });
      assert.equal((await next.readKey('key-2', 'Daily')).spentNanoUsd, 38n);
      assert.equal((await next.readUsage('key-2', 'running'))?.status, 'Abandoned');
      assert.equal((await next.readUsage('key-2', 'earlier'))?.costNanoUsd, 35n);
      assert.equal((await next.readUsage('key-1', 'recent'))?.costNanoUsd, 7n);
      assert.equal((await next.readJob('key-2', 'film'))?.state, 'Running');
      assert.equal((await next.readUsage('key-1', 'a'))?.costNanoUsd, 10n);
    });
    assert.deepEqual(bench.faults, []);
  });
}

faultTest('a file that another one replaced is put back', async (bench) => {
  const { ledger, path } = bench;
  await call(ledger, 'a', 30n);
  await bench.inFile(30);
  const before = inodesOf(path);
  writeFileSync(`${path}.other`, 'not a ledger');
  renameSync(`${path}.other`, path);
  await noticed(bench, before);
  await call(ledger, 'b', 5n);
  await bench.afterwards(async (next) => {
    assert.equal((await next.readAccount('team-a/team-a')).spentNanoUsd, 35n);
  });
});

function inodesOf(path: string): (number | undefined)[] {
  return ['', '-wal', '-shm'].map((suffix) => statSync(path + suffix, { throwIfNoEntry: false })?.ino);
}

/** Resolves when a new ledger is at the path. */
async function noticed({ path }: Bench, before: readonly (number | undefined)[]): Promise<void> {
  const isNew = (): boolean => {
    const now = inodesOf(path);
    return now.every((inode) => inode !== undefined) && now[0] !== before[0] && spentInFile(path).length > 0;
  };
  while (!isNew()) await sleep(10);
}

async function call(ledger: Ledger, id: string, cost: bigint): Promise<void> {
  await ledger.admit(holdRequest(id, cost));
  await ledger.settle(settlement(id, cost));
}

faultTest('a second hold that comes too late leaves the first, in memory and in the file', async (bench) => {
  const { ledger } = bench;
  await ledger.admit(holdRequest('a', 40n, { limits: LIMITS, progress: progress(7n) }));
  bench.set('stalls');
  await assert.rejects(
    ledger.admit(holdRequest('a', 90n, { limits: LIMITS, progress: progress(8n) })),
    LedgerUnavailable,
  );
  assert.equal(ledger.gauges().heldNanoUsd, 40n);
  bench.set('none');
  await bench.told('Recovered');
  assert.deepEqual(await ledger.admit(holdRequest('b', 60n, { limits: LIMITS })), {
    outcome: 'Held',
    heldNanoUsd: 60n,
  });
  await bench.afterwards(async (next) => {
    assert.equal((await next.readUsage('key-1', 'a'))?.costNanoUsd, 8n, 'what it would owe was said later');
    assert.equal((await next.readAccount('team-a/team-a')).spentNanoUsd, 8n);
  });
});

faultTest('while a smaller second hold is being written, the larger first one still counts', async (bench) => {
  const { ledger } = bench;
  await ledger.admit(holdRequest('a', 80n, { limits: LIMITS }));
  bench.set('stalls');
  const smaller = ledger.admit(holdRequest('a', 10n, { limits: LIMITS }));
  const between = ledger.admit(holdRequest('b', 21n, { limits: LIMITS }));
  assert.deepEqual(brief(await between), { outcome: 'Short', short: 'Key', availableNanoUsd: 20n });
  await assert.rejects(smaller, LedgerUnavailable);
  assert.equal(ledger.gauges().heldNanoUsd, 80n);
});

test('a hold is refused after its deadline passed while the process was busy', async () => {
  const folder = tempFolder();
  const control = new Int32Array(new SharedArrayBuffer(4));
  // reported when the write is late, at three quarters of the timeout; the listener blocks for all of the rest
  const onFault = ({ state }: LedgerFault): void => {
    if (state === 'Failing') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
  };
  const ledger = await openEmbeddedLedger({
    path: join(folder.path, 'ledger.db'),
    faults: control,
    timeoutMs: 400,
    onFault,
  });
  try {
    Atomics.store(control, 0, FAULT.stalls);
    const held = ledger.admit(holdRequest('a', 40n, { limits: LIMITS })).then(
      ({ outcome }) => outcome,
      (error: unknown) => error,
    );
    assert.ok(
      (await Promise.race([held, sleep(10_000, 'nobody says anything', { ref: false })])) instanceof LedgerUnavailable,
    );
    assert.equal(ledger.gauges().heldNanoUsd, 0n);
  } finally {
    Atomics.store(control, 0, FAULT.none);
    await ledger.close();
    folder.remove();
  }
});

faultTest('a hold is refused in time although progress, which has more, was late before it', async (bench) => {
  const { ledger } = bench;
  await ledger.admit(holdRequest('running', 40n));
  bench.set('stalls');
  const renewed = ledger.recordProgress(new Map([['running', progress(12n)]]));
  await bench.told('Failing');
  await sleep(100);
  bench.set('none');
  await renewed;
  bench.set('stalls');
  const held = ledger.admit(holdRequest('a', 40n, { limits: LIMITS })).then(
    ({ outcome }) => outcome,
    (error: unknown) => error,
  );
  assert.ok(
    (await Promise.race([held, sleep(4_000, 'nobody says anything', { ref: false })])) instanceof LedgerUnavailable,
  );
});

faultTest('progress is refused while commits fail, and is there afterwards', async (bench) => {
  const { ledger } = bench;
  await ledger.admit(holdRequest('a', 40n));
  bench.set('commitFails');
  await assert.rejects(ledger.admit(holdRequest('b', 1n)), LedgerUnavailable);
  await assert.rejects(ledger.recordProgress(new Map([['a', progress(12n)]])), LedgerUnavailable);
  await assert.rejects(ledger.recordProgress(new Map()), LedgerUnavailable);
  bench.set('none');
  await bench.told('Recovered');
  await ledger.recordProgress(new Map());
  // in the file with the next commit at the latest
  await ledger.admit(holdRequest('c', 1n));
  await bench.afterwards(async (next) => assert.equal((await next.readUsage('key-1', 'a'))?.costNanoUsd, 12n));
});

faultTest('a file that fails again and again, with many calls under way', async (bench) => {
  const { ledger } = bench;
  const limits = { keyLimitNanoUsd: 1_000n };
  let billed = 0n;
  for (let round = 0; round < 3; round++) {
    const ids = Array.from({ length: 20 }, (_, n) => `call-${round}-${n}`);
    await Promise.all(ids.map((id) => ledger.admit(holdRequest(id, 10n, { limits }))));
    bench.set(round === 1 ? 'stalls' : 'commitFails');
    const settled = Promise.all(ids.map((id, n) => ledger.settle(settlement(id, BigInt(n)))));
    const refused = await Promise.allSettled(ids.map((id) => ledger.admit(holdRequest(`${id}-late`, 10n, { limits }))));
    assert.ok(refused.every(({ status }) => status === 'rejected'));
    bench.set('none');
    for (const { record } of await settled) billed += record.costNanoUsd;
    await bench.told('Recovered', round + 1);
  }
  assert.equal(billed, 570n);
  await bench.afterwards(async (next) => {
    assert.deepEqual(await next.readAccount('team-a/team-a'), { spentNanoUsd: 570n, heldNanoUsd: 0n });
    for (let round = 0; round < 3; round++)
      for (let n = 0; n < 20; n++)
        assert.equal((await next.readUsage('key-1', `call-${round}-${n}`))?.costNanoUsd, BigInt(n));
  });
});

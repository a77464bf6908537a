/**
 * The contract of jobs: billed and recorded in one step, polled by one poller at a time, refunded once if they fail.
 */
import assert from 'node:assert/strict';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { JobBill, JobRecord, Ledger, Settlement } from '../../../../dataplane/ledger/ledger.ts';
import { brief, DAY_MS, holdRequest, NOON_MS, origin, progress, settlement } from './calls.ts';
import type { HoldOptions } from './calls.ts';
import { HELD, SHORT } from './contract-scenario.ts';
import type { AddScenario } from './contract-scenario.ts';

const AGAIN_MS = 30_000;
const DUE_MS = NOON_MS + 5_000;

interface JobCall extends HoldOptions {
  readonly jobId?: string;
  readonly pollMs?: number;
}

/** A call that creates a job. */
async function make(
  ledger: Ledger,
  callId: string,
  cost: bigint,
  { jobId = `job-${callId}`, pollMs = DUE_MS, ...options }: JobCall = {},
): Promise<void> {
  await ledger.admit(holdRequest(callId, cost, options));
  const settling: Settlement = settlement(callId, cost, {
    origin: origin(callId, options.origin),
    job: { jobId, pollMs },
  });
  await ledger.settle(settling);
}

function job(callId: string, state: JobRecord['state'], over: Parameters<typeof origin>[1] = {}): JobRecord {
  return { jobId: `job-${callId}`, origin: origin(callId, over), state };
}

const idsOf = (jobs: readonly JobRecord[]): string[] => jobs.map(({ jobId }) => jobId);

function recordScenarios(scenario: AddScenario): void {
  scenario('a settlement charges and records its job in one step', async ({ ledger }) => {
    await make(ledger, 'a', 30n);
    assert.deepEqual(await ledger.readJob('key-1', 'job-a'), job('a', 'Running'));
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 30n, heldNanoUsd: 0n });
    assert.equal((await ledger.readUsage('key-1', 'a'))?.status, 'Succeeded');
  });

  scenario('what a call costs the platform is kept beside its bill, and gone with a refund', async ({ ledger }) => {
    const own = progress(30n, { usageSource: 'Provider', upstreamCostNanoUsd: 45n });
    await ledger.admit(holdRequest('a', 30n, { progress: { ...own, upstreamCostNanoUsd: 44n } }));
    assert.equal((await ledger.readUsage('key-1', 'a'))?.upstreamCostNanoUsd, 44n, 'of a running call');
    const { record } = await ledger.settle(settlement('a', 30n, { progress: own }));
    assert.deepEqual([record.costNanoUsd, record.upstreamCostNanoUsd], [30n, 45n]);
    assert.equal((await ledger.readUsage('key-1', 'a'))?.upstreamCostNanoUsd, 45n);
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 30n, heldNanoUsd: 0n });

    await make(ledger, 'b', 30n);
    assert.ok(!('upstreamCostNanoUsd' in ((await ledger.readUsage('key-1', 'b')) ?? assert.fail())), 'unknown');
    await ledger.admit(holdRequest('c', 30n));
    await ledger.settle(settlement('c', 30n, { progress: own, job: { jobId: 'job-c', pollMs: DUE_MS } }));
    await ledger.finishJob(job('c', 'Running'), 'Failed');
    assert.equal((await ledger.readUsage('key-1', 'c'))?.upstreamCostNanoUsd, 0n);
  });

  scenario("a job is its own key's only", async ({ ledger }) => {
    await make(ledger, 'a', 30n);
    assert.equal(await ledger.readJob('key-2', 'job-a'), undefined);
    assert.equal(await ledger.readJob('key-1', 'job-b'), undefined);
  });

  scenario('a job is found by its channel, by the account that paid for it', async ({ ledger }) => {
    await make(ledger, 'a', 30n);
    const find = (account: string, channel: string): Promise<JobRecord | undefined> =>
      ledger.readChannelJob(account, channel, 'job-a');
    assert.deepEqual(await find('team-a/team-a', 'anthropic/direct'), job('a', 'Running'));
    assert.equal(await find('team-b/team-b', 'anthropic/direct'), undefined);
    assert.equal(await find('team-a/team-a', 'anthropic/other'), undefined);
    await ledger.finishJob(job('a', 'Running'), 'Completed');
    assert.deepEqual(await find('team-a/team-a', 'anthropic/direct'), job('a', 'Completed'));
  });

  scenario('a job is where the call ended', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 30n));
    const moved = { group: 'vip', channel: 'other/backup' };
    await ledger.settle(settlement('a', 30n, { origin: origin('a', moved), job: { jobId: 'job-a', pollMs: DUE_MS } }));
    assert.deepEqual(await ledger.readJob('key-1', 'job-a'), job('a', 'Running', moved));
  });

  scenario(
    'the same job of the same channel is recorded once, of another channel again; every call is charged',
    async ({ ledger }) => {
      await make(ledger, 'a', 30n, { jobId: 'same' });
      await make(ledger, 'b', 5n, { jobId: 'same' });
      await make(ledger, 'c', 7n, { jobId: 'same', origin: { keyUid: 'key-2', channel: 'openai/other' } });
      assert.deepEqual(await ledger.readJob('key-1', 'same'), { jobId: 'same', origin: origin('a'), state: 'Running' });
      assert.equal((await ledger.readJob('key-2', 'same'))?.origin.callId, 'c');
      assert.equal((await ledger.claimJobs(DUE_MS, AGAIN_MS, 10)).length, 2);
      assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 42n);
    },
  );

  scenario('a settlement that is repeated records nothing more', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 30n));
    const settling = settlement('a', 30n, { job: { jobId: 'job-a', pollMs: DUE_MS } });
    const [first, second] = await Promise.all([
      ledger.settle(settling),
      ledger.settle({ ...settling, job: { jobId: 'job-b', pollMs: DUE_MS } }),
    ]);
    assert.deepEqual(second, first);
    assert.equal(await ledger.readJob('key-1', 'job-b'), undefined);
  });
}

function claimScenarios(scenario: AddScenario): void {
  scenario(
    'a job is given out when its time has come, to one caller, and again when nobody said how it ended',
    async ({ ledger }) => {
      await make(ledger, 'a', 30n);
      assert.deepEqual(await ledger.claimJobs(DUE_MS - 1, AGAIN_MS, 10), []);
      const both = await Promise.all([ledger.claimJobs(DUE_MS, AGAIN_MS, 10), ledger.claimJobs(DUE_MS, AGAIN_MS, 10)]);
      assert.deepEqual(both.flat(), [job('a', 'Running')]);
      assert.deepEqual(await ledger.claimJobs(DUE_MS + AGAIN_MS - 1, AGAIN_MS, 10), []);
      assert.deepEqual(await ledger.claimJobs(DUE_MS + AGAIN_MS, AGAIN_MS, 10), [job('a', 'Running')]);
    },
  );

  scenario('at most so many, the longest due first, until all have been given out', async ({ ledger }) => {
    for (const n of [3, 1, 2]) await make(ledger, `${n}`, 1n, { pollMs: DUE_MS + n });
    assert.deepEqual(idsOf(await ledger.claimJobs(DUE_MS + 10, AGAIN_MS, 2)), ['job-1', 'job-2']);
    assert.deepEqual(idsOf(await ledger.claimJobs(DUE_MS + 10, AGAIN_MS, 2)), ['job-3']);
    assert.deepEqual(await ledger.claimJobs(DUE_MS + 10, AGAIN_MS, 0), []);
  });

  scenario('accounts take turns, so that one with many jobs does not keep the others waiting', async ({ ledger }) => {
    for (const n of [1, 2, 3]) await make(ledger, `${n}`, 1n, { pollMs: DUE_MS + n });
    const other = { keyUid: 'key-2', account: 'team-b/team-b' };
    await make(ledger, 'other', 1n, { pollMs: DUE_MS + 9, origin: other });
    assert.deepEqual(idsOf(await ledger.claimJobs(DUE_MS + 10, AGAIN_MS, 2)), ['job-1', 'job-other']);
    assert.deepEqual(idsOf(await ledger.claimJobs(DUE_MS + 10, AGAIN_MS, 10)), ['job-2', 'job-3']);
  });

  scenario('the running jobs of a key are counted, once each, until they end', async ({ ledger }) => {
    const key = { keyUid: 'key-1', account: 'team-a/team-a' };
    assert.equal(await ledger.countRunningJobs(key), 0);
    for (const callId of ['a', 'b', 'c']) await make(ledger, callId, 1n);
    await make(ledger, 'again', 1n, { jobId: 'job-a' });
    await make(ledger, 'other', 1n, { origin: { keyUid: 'key-2' } });
    assert.equal(await ledger.countRunningJobs(key), 3);
    await ledger.finishJob(job('a', 'Running'), 'Failed');
    await ledger.finishJob(job('b', 'Running'), 'Completed');
    await ledger.finishJob(job('b', 'Running'), 'Completed');
    assert.equal(await ledger.countRunningJobs(key), 1);
    assert.equal(await ledger.countRunningJobs({ ...key, keyUid: 'key-2' }), 1);
    assert.equal(await ledger.countRunningJobs({ ...key, keyUid: 'key-3' }), 0);
  });

  scenario('a job that has ended is not given out any more', async ({ ledger }) => {
    await make(ledger, 'a', 30n);
    await make(ledger, 'b', 30n);
    await ledger.finishJob(job('a', 'Running'), 'Completed');
    await ledger.finishJob(job('b', 'Running'), 'Failed');
    assert.deepEqual(await ledger.claimJobs(DUE_MS + AGAIN_MS, AGAIN_MS, 10), []);
  });
}

function finishScenarios(scenario: AddScenario): void {
  scenario('a completed job keeps what it cost', async ({ ledger }) => {
    await make(ledger, 'a', 30n);
    assert.deepEqual(await ledger.finishJob(job('a', 'Running'), 'Completed'), job('a', 'Completed'));
    assert.deepEqual(await ledger.readJob('key-1', 'job-a'), job('a', 'Completed'));
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 30n);
    assert.deepEqual((await ledger.readUsage('key-1', 'a'))?.status, 'Succeeded');
  });

  scenario('a failed job gives its cost back to key and account, and its record costs nothing', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 100n, accountCreditNanoUsd: 90n };
    await make(ledger, 'a', 60n, { limits });
    await make(ledger, 'b', 10n, { limits });
    assert.deepEqual(brief(await ledger.admit(holdRequest('c', 21n, { limits }))), SHORT('Account', 20n));
    assert.deepEqual(await ledger.finishJob(job('a', 'Running'), 'Failed'), job('a', 'Failed'));
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 10n, heldNanoUsd: 0n });
    for (const period of ['Never', 'Daily', 'Monthly'] as const) {
      const { spentNanoUsd, totalSpentNanoUsd } = await ledger.readKey('key-1', period);
      assert.deepEqual([spentNanoUsd, totalSpentNanoUsd], [10n, 10n], period);
    }
    assert.deepEqual(await ledger.readUsage('key-1', 'a'), {
      ...origin('a'),
      ...progress(60n, { usageSource: 'Provider' }),
      costNanoUsd: 0n,
      status: 'Refunded',
      unbilledNanoUsd: 0n,
      durationMs: 1234,
    });
    assert.deepEqual(await ledger.admit(holdRequest('c', 80n, { limits })), HELD(80n));
  });

  scenario('what was not billed is not given back', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 50n };
    await ledger.admit(holdRequest('a', 50n, { limits }));
    await ledger.settle(settlement('a', 70n, { job: { jobId: 'job-a', pollMs: DUE_MS } }));
    await ledger.finishJob(job('a', 'Running'), 'Failed');
    assert.equal((await ledger.readKey('key-1', 'Never')).spentNanoUsd, 0n);
    const record = await ledger.readUsage('key-1', 'a');
    assert.deepEqual([record?.costNanoUsd, record?.unbilledNanoUsd, record?.status], [0n, 0n, 'Refunded']);
  });

  scenario('only the first end counts: repeated, at once, and otherwise', async ({ ledger }) => {
    await make(ledger, 'a', 60n);
    const ends = await Promise.all([
      ledger.finishJob(job('a', 'Running'), 'Failed'),
      ledger.finishJob(job('a', 'Running'), 'Failed'),
      ledger.finishJob(job('a', 'Running'), 'Completed'),
    ]);
    assert.deepEqual(
      ends.map(({ state }) => state),
      ['Failed', 'Failed', 'Failed'],
    );
    assert.equal((await ledger.finishJob(job('a', 'Running'), 'Completed')).state, 'Failed');
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 0n);
    await make(ledger, 'b', 20n);
    await ledger.finishJob(job('b', 'Running'), 'Completed');
    assert.equal((await ledger.finishJob(job('b', 'Running'), 'Failed')).state, 'Completed');
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 20n);
  });

  scenario('a job that nobody made has no end', async ({ ledger }) => {
    await assert.rejects(ledger.finishJob(job('nobody', 'Running'), 'Failed'), LedgerUnavailable);
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 0n);
  });

  scenario(
    'a refund goes to the windows that were billed, and the present ones keep theirs',
    async ({ ledger }, clock) => {
      const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
      await make(ledger, 'a', 60n, { limits });
      clock.nowMs += 11 * DAY_MS;
      await make(ledger, 'b', 25n, { limits });
      await ledger.finishJob(job('a', 'Running'), 'Failed');
      const [today, month] = [await ledger.readKey('key-1', 'Daily'), await ledger.readKey('key-1', 'Monthly')];
      assert.deepEqual([today.spentNanoUsd, month.spentNanoUsd, today.totalSpentNanoUsd], [25n, 25n, 25n]);
      assert.deepEqual(brief(await ledger.admit(holdRequest('c', 76n, { limits }))), SHORT('Key', 75n));
      clock.nowMs -= 11 * DAY_MS;
      assert.equal((await ledger.readKey('key-1', 'Daily')).spentNanoUsd, 0n);
      assert.equal((await ledger.readKey('key-1', 'Monthly')).spentNanoUsd, 0n);
      assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 25n, heldNanoUsd: 0n });
    },
  );
}

const TERMS = Buffer.from("whatever the caller's bill needs").toString('base64');

/** A call that is charged with the most that its job can cost. */
async function begin(ledger: Ledger, callId: string, most: bigint, options: HoldOptions = {}): Promise<void> {
  await ledger.admit(holdRequest(callId, most, options));
  const job = { jobId: `job-${callId}`, pollMs: DUE_MS, terms: TERMS };
  const charge = progress(most, { usageSource: 'Estimated', upstreamCostNanoUsd: 90n });
  await ledger.settle(settlement(callId, most, { progress: charge, status: 'Running', job }));
}

function bill(costNanoUsd: bigint): JobBill {
  const lines = [{ dimension: 'output', quantity: 5, rateUsd: '4' }];
  return {
    status: 'Succeeded',
    progress: {
      ...progress(costNanoUsd, { usageSource: 'Provider' }),
      lines,
      tokens: { input: 7, cached: 1, cacheWrite5m: 0, cacheWrite1h: 0, output: 5 },
      upstreamCostNanoUsd: 9n,
    },
  };
}

function billScenarios(scenario: AddScenario): void {
  scenario('a job that is billed at its end keeps its terms until then', async ({ ledger }) => {
    await begin(ledger, 'a', 60n);
    const running = { ...job('a', 'Running'), terms: TERMS };
    assert.deepEqual(await ledger.readJob('key-1', 'job-a'), running);
    assert.deepEqual(await ledger.claimJobs(DUE_MS, AGAIN_MS, 10), [running]);
    const { status, costNanoUsd, upstreamCostNanoUsd } = (await ledger.readUsage('key-1', 'a')) ?? assert.fail();
    assert.deepEqual([status, costNanoUsd, upstreamCostNanoUsd], ['Running', 60n, 90n]);
  });

  scenario('a bill replaces the charge, and the rest is given back in every window', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 100n, accountCreditNanoUsd: 100n };
    await begin(ledger, 'a', 60n, { limits });
    await make(ledger, 'b', 10n, { limits });
    assert.deepEqual(brief(await ledger.admit(holdRequest('c', 31n, { limits }))), SHORT('Key', 30n));
    const billed = { costNanoUsd: 21n, unbilledNanoUsd: 0n };
    assert.deepEqual(await ledger.finishJob(job('a', 'Running'), 'Completed', bill(21n)), {
      ...job('a', 'Completed'),
      billed,
    });
    assert.deepEqual(await ledger.readJob('key-1', 'job-a'), job('a', 'Completed'));
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 31n, heldNanoUsd: 0n });
    for (const period of ['Never', 'Daily', 'Monthly'] as const) {
      const { spentNanoUsd, totalSpentNanoUsd } = await ledger.readKey('key-1', period);
      assert.deepEqual([spentNanoUsd, totalSpentNanoUsd], [31n, 31n], period);
    }
    assert.deepEqual(await ledger.readUsage('key-1', 'a'), {
      ...origin('a'),
      ...bill(21n).progress,
      status: 'Succeeded',
      unbilledNanoUsd: 0n,
      durationMs: 1234,
    });
    assert.deepEqual(await ledger.admit(holdRequest('c', 69n, { limits })), HELD(69n));
  });

  scenario('a bill above the charge is cut at it', async ({ ledger }) => {
    await begin(ledger, 'a', 60n);
    const { billed } = await ledger.finishJob(job('a', 'Running'), 'Failed', { ...bill(75n), status: 'ProviderCut' });
    assert.deepEqual(billed, { costNanoUsd: 60n, unbilledNanoUsd: 15n });
    const record = await ledger.readUsage('key-1', 'a');
    assert.deepEqual([record?.costNanoUsd, record?.unbilledNanoUsd, record?.status], [60n, 15n, 'ProviderCut']);
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 60n);
  });

  scenario('only the first bill counts, and only its caller learns of it', async ({ ledger }) => {
    await begin(ledger, 'a', 60n);
    const ends = await Promise.all(
      [bill(20n), bill(30n), undefined].map((each) => ledger.finishJob(job('a', 'Running'), 'Completed', each)),
    );
    assert.deepEqual(
      ends.map(({ billed }) => billed?.costNanoUsd),
      [20n, undefined, undefined],
    );
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 20n);
  });

  scenario('a job whose end nobody learns keeps its charge', async ({ ledger }) => {
    await begin(ledger, 'a', 60n);
    assert.deepEqual(await ledger.finishJob(job('a', 'Running'), 'Completed'), job('a', 'Completed'));
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 60n);
  });

  for (const end of ['crash', 'reopen'] as const) {
    scenario(`terms and bills outlive a process (${end})`, async (subject) => {
      await begin(subject.ledger, 'running', 50n);
      await begin(subject.ledger, 'billed', 70n);
      await subject.ledger.finishJob(job('billed', 'Running'), 'Completed', bill(21n));
      const { ledger } = await (await subject[end]())[end]();
      assert.equal((await ledger.readJob('key-1', 'job-running'))?.terms, TERMS);
      assert.equal((await ledger.readJob('key-1', 'job-billed'))?.terms, undefined);
      assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 71n, heldNanoUsd: 0n });
      assert.deepEqual(await ledger.readUsage('key-1', 'billed'), {
        ...origin('billed'),
        ...bill(21n).progress,
        status: 'Succeeded',
        unbilledNanoUsd: 0n,
        durationMs: 1234,
      });
      await ledger.finishJob(job('running', 'Running'), 'Completed', bill(11n));
      assert.equal((await ledger.readKey('key-1', 'Daily')).spentNanoUsd, 32n);
      assert.equal((await ledger.readUsage('key-1', 'running'))?.costNanoUsd, 11n);
    });
  }
}

function survivalScenarios(scenario: AddScenario): void {
  for (const end of ['crash', 'reopen'] as const) {
    scenario(`jobs, their ends and their refunds outlive a process (${end})`, async (subject) => {
      await make(subject.ledger, 'running', 10n);
      await make(subject.ledger, 'completed', 20n);
      await make(subject.ledger, 'failed', 40n);
      await subject.ledger.finishJob(job('completed', 'Running'), 'Completed');
      await subject.ledger.finishJob(job('failed', 'Running'), 'Failed');
      const { ledger } = await (await subject[end]())[end]();
      for (const [id, state] of [
        ['running', 'Running'],
        ['completed', 'Completed'],
        ['failed', 'Failed'],
      ] as const)
        assert.deepEqual(await ledger.readJob('key-1', `job-${id}`), job(id, state));
      assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 30n, heldNanoUsd: 0n });
      assert.equal((await ledger.readKey('key-1', 'Monthly')).spentNanoUsd, 30n);
      const record = await ledger.readUsage('key-1', 'failed');
      assert.deepEqual([record?.costNanoUsd, record?.status], [0n, 'Refunded']);
      assert.deepEqual(idsOf(await ledger.claimJobs(DUE_MS + AGAIN_MS, AGAIN_MS, 10)), ['job-running']);
      assert.equal((await ledger.finishJob(job('failed', 'Running'), 'Failed')).state, 'Failed');
      assert.equal((await ledger.finishJob(job('running', 'Running'), 'Failed')).state, 'Failed');
      assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 20n, heldNanoUsd: 0n });
    });
  }

  scenario('a job that ends in a later process is given back where it was billed', async (subject, clock) => {
    await make(subject.ledger, 'a', 60n, { limits: { keyLimitNanoUsd: 100n, period: 'Daily' } });
    clock.nowMs += DAY_MS;
    const { ledger } = await subject.crash();
    await make(ledger, 'b', 5n);
    await ledger.finishJob(job('a', 'Running'), 'Failed');
    assert.equal((await ledger.readKey('key-1', 'Daily')).spentNanoUsd, 5n);
    clock.nowMs -= DAY_MS;
    assert.equal((await ledger.readKey('key-1', 'Daily')).spentNanoUsd, 0n);
  });
}

export function jobScenarios(scenario: AddScenario): void {
  recordScenarios(scenario);
  claimScenarios(scenario);
  finishScenarios(scenario);
  billScenarios(scenario);
  survivalScenarios(scenario);
}

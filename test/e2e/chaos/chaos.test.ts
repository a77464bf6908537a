/** Some rounds of chaos; and that the reconciliation sees what it is there to see. Longer: `npm run chaos`. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it, test } from 'vitest';
import { spanAt } from '#ledger/periods.ts';
import { seedOfRun } from '../../support/api/scene.ts';
import { prlimit } from '../../support/full-disk.ts';
import { closeConnections } from '../../chaos/client.ts';
import type { CallLog } from '../../chaos/client.ts';
import { ACCOUNT_WINDOWS, KEY_NAMES, KEYS } from '../../chaos/config.ts';
import type { Config } from '../../chaos/config.ts';
import { FAST_ZONE } from '../../chaos/fast-zone.ts';
import { nothingSince } from '../../chaos/happened.ts';
import type { Happened } from '../../chaos/happened.ts';
import { diceOf } from '../../chaos/dice.ts';
import { planFaults } from '../../chaos/faults.ts';
import { judge } from '../../chaos/judge.ts';
import { byName, uidOf } from '../../chaos/ledger-file.ts';
import type { LedgerRecord, Tally } from '../../chaos/ledger-file.ts';
import { estimatedInput, NO_PARTS, NO_TOKENS, priceOf } from '../../chaos/oracle.ts';
import { crowdedMinutes, isExceeded, refusedAsShort } from '../../chaos/minutes.ts';
import type { Counted } from '../../chaos/minutes.ts';
import { planRound } from '../../chaos/plan.ts';
import type { Attempt } from '../../chaos/provider-process.ts';
import { reconcile } from '../../chaos/reconcile.ts';
import type { Evidence } from '../../chaos/reconcile.ts';
import { refusedAsFull } from '../../chaos/refusals.ts';
import { playRound } from '../../chaos/round.ts';
import type { RoundResult } from '../../chaos/round.ts';
import { beyondHolds, seenHolds } from '../../chaos/watch.ts';
import { acrossEdges, contradictedWindows, overspentWindows } from '../../chaos/windows.ts';
import { openWorld } from '../../chaos/world.ts';
import type { World } from '../../chaos/world.ts';

const FIXED_SEED = 20_261_101;
const randomSeed = seedOfRun();

let played: RoundResult;

describe.skipIf(prlimit.skip)('chaos on one machine', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld('file');
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    closeConnections();
  });

  for (const [seed, round] of [
    [FIXED_SEED, 1],
    [FIXED_SEED, 2],
    [randomSeed, 1],
  ] as const)
    it(`nothing is overspent, lost or leaked (npm run chaos -- --seed ${seed} --round ${round})`, async () => {
      played = await playRound(world, seed, round);
      assert.deepEqual(played.violations, []);
      const succeeded = played.evidence.records.filter(({ status }) => status === 'Succeeded');
      assert.ok(succeeded.length > 10, `only ${succeeded.length} calls succeeded`);
    });
});

/** What is known of a call whose client saw nothing. */
const NO_CALL: Omit<CallLog, 'plan'> = {
  sentMs: 0,
  overMs: 0,
  id: '',
  status: 0,
  end: 'None',
  left: false,
  textBytes: 0,
  costUsd: undefined,
  maxTokens: undefined,
  said: '',
  hung: false,
};

test('a seed decides everything', () => {
  assert.deepEqual(planRound(7, 3), planRound(7, 3));
  assert.notDeepEqual(planRound(7, 3).calls, planRound(8, 3).calls);
  const faults = (seed: number): unknown => planFaults(diceOf(seed), 'valkey', { members: 4, loadMs: 5_000 });
  assert.deepEqual(faults(7), faults(7));
  assert.notDeepEqual(faults(7), faults(8));
});

test('a call that reached no channel before its process died is priced in the region that it asked for', () => {
  const { config, calls } = planRound(FIXED_SEED, 1);
  const plan = calls.find((each) => each.body.includes('inference_geo')) ?? assert.fail('no call asks for a region');
  const tokens = { ...NO_TOKENS, input: estimatedInput(plan) };
  const { account, group } = KEYS[plan.key];
  const channel = 'anthropic/first';
  const at = (region: string | undefined): LedgerRecord => {
    const what = {
      model: plan.model,
      channel,
      tier: undefined,
      region,
      searches: 0,
      tokens,
      details: NO_PARTS,
      requests: [],
      generations: 1,
      look: {},
      served: {},
    };
    return {
      seq: 1,
      id: 'req_1',
      key: uidOf(plan.key),
      account: `team/${account}`,
      group,
      model: plan.model,
      channel,
      createdMs: 1000,
      status: 'Abandoned',
      usageSource: 'Partial',
      tokens,
      unbilledNanoUsd: 0n,
      durationMs: 1,
      costNanoUsd: priceOf(config, { key: plan.key, group }, what),
    };
  };
  const call: CallLog = { ...NO_CALL, plan, sentMs: 999, overMs: 2000 };
  const happened: Happened = {
    versions: [{ config, writtenMs: 0, inForceMs: 0 }],
    kills: [1001],
    pauses: [],
    drains: [],
    violations: [],
  };
  assert.equal(judge({ call, attempts: [], record: at('us'), happened }), undefined);
  assert.match(judge({ call, attempts: [], record: at(undefined), happened }) ?? '', /its price is/);
});

describe('limits by the minute', () => {
  const at = (fromMs: number, took: number, least = took): Counted => ({ fromMs, toMs: fromMs + 10, took, least });

  test('are exceeded by calls that surely lie in one minute', () => {
    const three = [at(0, 1), at(30_000, 1), at(59_990, 1)];
    assert.equal(isExceeded(three, 3, []), false);
    assert.equal(isExceeded(three, 2, []), true);
    // one that may have come later
    assert.equal(isExceeded([...three.slice(0, 2), at(59_991, 1)], 2, []), false);
    // a process that forgets
    assert.equal(isExceeded(three, 2, [40_000]), false);
    assert.equal(isExceeded([...three, at(30_001, 1), at(30_002, 1)], 2, [40_000]), true);
  });

  test('are not exceeded by calls that gave back what they did not use', () => {
    assert.equal(isExceeded([at(0, 900, 100), at(1, 900, 100)], 1_000, []), false);
    assert.equal(isExceeded([at(0, 900, 101), at(1, 900, 101)], 1_000, []), true);
    // a call beyond the limit is admitted alone
    assert.equal(isExceeded([at(0, 5_000, 5_000)], 1_000, []), false);
    assert.equal(isExceeded([at(0, 5_000, 5_000), at(1, 1, 1)], 1_000, []), true);
  });

  test('refuse nobody for what refused calls took', () => {
    const { config, calls } = planRound(FIXED_SEED, 1);
    const plans = calls.filter(({ key }) => key === 'daily').slice(0, 3);
    const said = 'This API key may use 2 requests per minute, of which 0 are left. Try again in 7 s.';
    const [first, second, third] = plans.map((plan, index): CallLog => ({
      ...NO_CALL,
      plan,
      sentMs: 1_000 * index,
      overMs: 1_000 * index + 10,
      status: index === 2 ? 429 : 200,
      end: 'Whole',
      said: index === 2 ? said : '',
    }));
    assert.ok(first && second && third);
    const evidence: Evidence = {
      calls: [first, second, third],
      attempts: [],
      records: [],
      earlierRecords: [],
      samples: [],
      happened: nothingSince({ config, writtenMs: 0, inForceMs: 0 }),
      output: '',
      beganAnewMs: [],
      earlier: [],
      providerPort: '',
    };
    assert.deepEqual(refusedAsShort(evidence), []);
    const refused = { ...second, status: 402 };
    assert.match(refusedAsShort({ ...evidence, calls: [first, refused, third] }).join(), /1 others may have had one/);
    assert.deepEqual(refusedAsShort({ ...evidence, calls: [first, refused, third], earlier: [second] }), []);
  });
});

describe('limits in windows', () => {
  const { config: drawn, calls } = planRound(FIXED_SEED, 1);
  const plan = calls.find(({ key }) => key === 'daily') ?? assert.fail('no call of the key');
  const limits = [{ window: 'Day', timeZone: FAST_ZONE, nanoUsd: 100n }] as const;
  const config: Config = { ...drawn, accountLimits: { shared: [], own: limits } };
  const day = spanAt('Day', Date.UTC(2026, 10, 1), FAST_ZONE);
  const record = (id: string, createdMs: number, durationMs: number): LedgerRecord => ({
    seq: 1,
    id,
    key: uidOf('daily'),
    account: 'team/own',
    group: 'main',
    model: plan.model,
    channel: 'openai/first',
    createdMs,
    status: 'Succeeded',
    usageSource: 'Provider',
    tokens: NO_TOKENS,
    costNanoUsd: 60n,
    unbilledNanoUsd: 0n,
    durationMs,
  });
  const evidence = (records: readonly LedgerRecord[], earlierRecords: readonly LedgerRecord[] = []): Evidence => ({
    calls: records.map((each, n) => ({ ...NO_CALL, plan: { ...plan, n }, id: each.id })),
    attempts: [],
    records,
    earlierRecords,
    samples: [],
    happened: nothingSince({ config, writtenMs: 0, inForceMs: 0 }),
    output: '',
    beganAnewMs: [],
    earlier: [],
    providerPort: '',
  });
  const overspent = (...given: Parameters<typeof evidence>): string =>
    overspentWindows(evidence(...given), () => [config]).join();
  const early = record('req_1', day.startMs + 1_000, 50);
  const late = record('req_2', day.endMs - 1_000, 50);
  const across = record('req_3', day.endMs - 1_000, 5_000);

  test('are exceeded by calls that were surely admitted in the same one', () => {
    assert.match(overspent([early, late]), /account own in its Day .* has spent 120 of 100/);
    assert.equal(overspent([early, record('req_2', day.endMs + 1_000, 50)]), '');
    assert.match(overspent([late], [early]), /has spent 120 of 100/);
    // what the round before has spent is more than the limit of this one
    assert.equal(overspent([record('req_9', day.endMs + 1_000, 50)], [early, { ...early, id: 'req_0' }]), '');
  });

  test('count a call that ends in the next one where it was admitted', () => {
    const given = evidence([early, across]);
    assert.equal(overspentWindows(given, () => [config]).join(), '');
    const arrived = { asked: { n: 1 }, arrivedMs: day.endMs - 900 } as Attempt;
    assert.match(overspentWindows({ ...given, attempts: [arrived] }, () => [config]).join(), /has spent 120 of 100/);
    assert.equal(acrossEdges({ ...given, attempts: [arrived] }), 1);
  });

  test('are told as their records add up', () => {
    const windows = ACCOUNT_WINDOWS.map(({ kind, timeZone }) => {
      const isFast = kind === 'Day' && timeZone === FAST_ZONE;
      const { startMs } = spanAt(kind, isFast ? day.startMs : day.endMs + 10 * 366 * 86_400_000, timeZone);
      return { startMs, endMs: startMs + 1, spentNanoUsd: 0n, heldNanoUsd: 0n };
    });
    const told = (spentNanoUsd: bigint, sinceMs: number): string => {
      const own = windows.map((window, index) => (index === 0 ? { ...window, spentNanoUsd } : window));
      const tally: Tally = {
        spent: byName(KEY_NAMES, () => 0n),
        held: byName(KEY_NAMES, () => 0n),
        holds: byName(KEY_NAMES, () => 0),
        startMs: byName(KEY_NAMES, () => 0),
        accountSpent: { shared: 0n, own: 0n },
        accountHeld: { shared: 0n, own: 0n },
        accountWindows: { shared: windows, own },
      };
      return contradictedWindows(evidence([early, across]), { tally, sinceMs, config }).join();
    };
    assert.deepEqual(
      [60n, 120n].map((spent) => told(spent, 0)),
      ['', ''],
    );
    assert.match(told(59n, 0), /its records add up to 60 to 120/);
    assert.match(told(121n, 0), /its records add up to 60 to 120/);
    // one that the ledger has not known from its beginning may count too much
    assert.equal(told(121n, day.startMs + 1), '');
  });
});

describe.skipIf(prlimit.skip)('the reconciliation of the last round finds', () => {
  const succeeded = (): LedgerRecord => {
    const seen = new Set(
      played.evidence.calls.filter(({ status, end }) => status === 200 && end === 'Whole').map(({ id }) => id),
    );
    const found = played.evidence.records.find(
      ({ id, model, costNanoUsd }) =>
        seen.has(id) &&
        model !== 'flat-model' &&
        !model.endsWith('image-model') &&
        model !== 'film-model' &&
        model !== 'voice-model' &&
        costNanoUsd > 0n,
    );
    assert.ok(found);
    return found;
  };
  const replaced = (record: LedgerRecord, change: Partial<LedgerRecord>): Evidence => ({
    ...played.evidence,
    records: played.evidence.records.map((each) => (each === record ? { ...each, ...change } : each)),
  });

  it('a lost call', () => {
    const lost = succeeded();
    assert.match(
      reconcile({ ...played.evidence, records: played.evidence.records.filter((each) => each !== lost) }).join(),
      /it is lost/,
    );
  });
  it("a nano-dollar of the platform's cost too much, and a cost that is missing", () => {
    const record =
      played.evidence.records.find(
        ({ status, upstreamCostNanoUsd = 0n }) => status === 'Succeeded' && upstreamCostNanoUsd > 0n,
      ) ?? assert.fail('no call has a cost');
    const { upstreamCostNanoUsd = 0n, ...unknown } = record;
    const wrong = replaced(record, { upstreamCostNanoUsd: upstreamCostNanoUsd + 1n });
    assert.match(reconcile(wrong).join(), /it cost the platform \d+, and not \d+/);
    const records = played.evidence.records.map((each) => (each === record ? unknown : each));
    assert.match(reconcile({ ...played.evidence, records }).join(), /it cost the platform undefined/);
  });

  it('a nano-dollar too much, and one too little', () => {
    const record = succeeded();
    for (const by of [1n, -1n])
      assert.match(reconcile(replaced(record, { costNanoUsd: record.costNanoUsd + by })).join(), /its price is/);
  });
  it('a token that was not reported', () => {
    const record = succeeded();
    assert.equal(reconcile(replaced(record, { tokens: { ...record.tokens, cacheWrite1h: 1 } })).length, 1);
  });
  it('a call that is billed twice', () => {
    const record = succeeded();
    assert.match(
      reconcile({
        ...played.evidence,
        records: [...played.evidence.records, { ...record, id: 'req_again' }],
      }).join(),
      /belongs to no call/,
    );
  });
  it('a call that is free although the provider completed it', () => {
    const free = { status: 'Failed', costNanoUsd: 0n, unbilledNanoUsd: 0n };
    assert.notDeepEqual(reconcile(replaced(succeeded(), free)), []);
  });
  it('a refused call that is billed, and one that is not told why', () => {
    const { id } = succeeded();
    const n = played.evidence.calls.find((call) => call.id === id)?.plan.n;
    const attempts = played.evidence.attempts.filter(({ asked }) => asked.n !== n);
    const refused = (said: string): string =>
      reconcile({
        ...played.evidence,
        attempts,
        calls: played.evidence.calls.map((call) => (call.id === id ? { ...call, status: 503, said } : call)),
      }).join();
    assert.match(refused('{"code":"ledger_unavailable","type":"api_error"}'), /was refused with 503, and billed/);
    assert.match(refused('{"code":"internal"}'), /was refused with 503 and not told why/);
  });
  it('a key that was full for nobody', () => {
    const [first] = played.evidence.calls;
    assert.ok(first);
    const full = (limit: number): CallLog => ({
      ...first,
      plan: { ...first.plan, n: -1 },
      status: 429,
      said: `its full number of calls in flight (${limit}).`,
    });
    const found = (limit: number): string[] =>
      refusedAsFull(
        { ...played.evidence, calls: [...played.evidence.calls, full(limit)] },
        { pauses: [], memberOf: () => 0 },
      );
    assert.match(found(5_000).join(), /refused as full/);
    assert.deepEqual(found(1), []);
  });
  it('a minute with too many requests', () => {
    const { happened, attempts, calls } = played.evidence;
    const [version] = happened.versions;
    const sent = new Set(attempts.map(({ asked }) => asked.n));
    const byKey = Map.groupBy(
      calls.filter(({ plan }) => sent.has(plan.n)),
      ({ plan }) => plan.key,
    );
    const [key] = [...byKey].find(([, mine]) => mine.length > 2) ?? assert.fail('no key has sent three calls');
    assert.ok(version);
    const { keys } = version.config;
    const config = { ...version.config, keys: { ...keys, [key]: { ...keys[key], rates: { requestsPerMinute: 1 } } } };
    const exceeded = { ...played.evidence, happened: { ...happened, versions: [{ ...version, config }] } };
    const found = crowdedMinutes({ ...exceeded, beganAnewMs: [] }).join();
    assert.ok(found.includes(`key ${key} has had more than its requestsPerMinute of 1:`), found);
  });
  it('a limit that was passed', () => {
    const [first] = played.evidence.samples;
    assert.ok(first);
    const { tally } = first;
    const beyond = {
      ...first,
      tally: {
        ...tally,
        accountSpent: { ...tally.accountSpent, shared: tally.accountSpent.shared + 10n ** 13n },
      },
    };
    assert.match(
      reconcile({
        ...played.evidence,
        samples: [...played.evidence.samples, beyond],
      }).join(),
      /account shared has spent/,
    );
  });
  it('a call that cost more than it held', () => {
    const { samples, records } = played.evidence;
    const { record, heldNanoUsd } = seenHolds(samples, records)[0] ?? assert.fail('no hold was seen');
    const dear = { ...record, costNanoUsd: heldNanoUsd + 1n };
    assert.match(beyondHolds(samples, [dear]).join(), /held \d+, and costs \d+/);
    assert.deepEqual(beyondHolds(samples, [{ ...dear, costNanoUsd: heldNanoUsd, unbilledNanoUsd: 0n }]), []);
  });
  it('a channel with too many calls', () => {
    const attempt = played.evidence.attempts.find(({ markedMs }) => markedMs !== undefined);
    assert.ok(attempt);
    const crowd = Array.from({ length: 50 }, () => ({ ...attempt, markedMs: attempt.arrivedMs + 1 }));
    assert.match(
      reconcile({ ...played.evidence, attempts: [...played.evidence.attempts, ...crowd] }).join(),
      /calls at once/,
    );
  });
  it('a secret or a defect in the log', () => {
    const { output } = played.evidence;
    assert.match(reconcile({ ...played.evidence, output: `${output}\nchaosprompt call` }).join(), /shows a secret/);
    assert.match(
      reconcile({ ...played.evidence, output: `${output}\n{"level":"error","msg":"defect"}` }).join(),
      /tells of a defect/,
    );
  });
});

/**
 * The status writer with a controlled clock and server: equal statuses are not written, failed writes are retried,
 * within budgets.
 */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Condition } from '#crds/types.gen.ts';
import { removalsFrom } from '../../../../operator/status/differences.ts';
import type { StatusBody } from '#objects/live-object.ts';
import type { StatusOwner } from '#kube/status-client.ts';
import { sameJson } from '../../../../operator/status/same-json.ts';
import { StatusWriter } from '../../../../operator/status/writer.ts';
import type { StatusTarget, StatusWriterOptions } from '../../../../operator/status/writer.ts';
import { NO_LOG, NO_METER, fakeClock } from '../fake-clock.ts';

const condition = (type: string, status: Condition['status'] = 'True'): Condition => ({
  type,
  status,
  reason: type,
  message: type,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

/** A status as server-side apply takes it: the fields, and the conditions by type. */
function entriesOf({ conditions = [], ...fields }: StatusBody): Map<string, unknown> {
  return new Map([...Object.entries(fields), ...conditions.map((each) => [`/${each.type}`, each] as const)]);
}

/** Server-side apply with force: an owner removes what it alone owned and no longer applies. */
function applyServerSide(
  status: StatusBody,
  owned: Map<StatusOwner, Set<string>>,
  [owner, part]: [StatusOwner, StatusBody],
): StatusBody {
  const entries = entriesOf(status);
  const others = owned.get(owner === 'operator' ? 'spending' : 'operator') ?? new Set();
  const applied = entriesOf(part);
  for (const path of owned.get(owner) ?? []) if (!applied.has(path) && !others.has(path)) entries.delete(path);
  for (const [path, value] of applied) {
    if (!sameJson(entries.get(path), value)) others.delete(path);
    entries.set(path, value);
  }
  owned.set(owner, new Set(applied.keys()));
  return {
    ...Object.fromEntries([...entries].filter(([path]) => !path.startsWith('/'))),
    conditions: [...entries.values()].filter(isCondition),
  };
}

function isCondition(value: unknown): value is Condition {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function setUp(over: Partial<StatusWriterOptions> = {}) {
  const clock = fakeClock();
  const desired = new Map<string, StatusBody>();
  const live = new Map<string, StatusTarget>();
  const writes: string[] = [];
  const owned = new Map<string, Map<StatusOwner, Set<string>>>();
  /** What readers could see: each status after a write. */
  const seen: StatusBody[] = [];
  let version = 0;
  const take = (id: string, status: StatusBody): void => {
    live.set(id, { kind: 'ApiKey', namespace: 'n', name: id, uid: id, resourceVersion: String(++version), status });
  };
  const idOf = ({ name }: StatusTarget): string => name;
  const options: StatusWriterOptions = {
    clock,
    meter: NO_METER,
    log: NO_LOG,
    desired: (id) => desired.get(id),
    live: (id) => live.get(id),
    async apply(target, owner, part) {
      const id = idOf(target);
      writes.push(`${owner} ${id}`);
      const owners = owned.get(id) ?? new Map<StatusOwner, Set<string>>();
      owned.set(id, owners);
      const status = applyServerSide(live.get(id)?.status ?? {}, owners, [owner, part]);
      seen.push(status);
      take(id, status);
      return 'Written';
    },
    remove: async () => 'Written',
    ...over,
  };
  return { clock, desired, live, writes, seen, options, writer: new StatusWriter(options), take };
}

test('writes what differs, once, and nothing that is equal', async () => {
  const { clock, desired, take, writes, writer } = setUp();
  take('a', {});
  take('b', { observedGeneration: 1, conditions: [condition('Ready')] });
  for (const id of ['a', 'b']) desired.set(id, { observedGeneration: 1, conditions: [condition('Ready')] });
  writer.start();
  for (const id of ['a', 'b', 'gone']) writer.changed(id);
  await clock.pass(60_000);
  assert.deepEqual(writes, ['operator a']);
});

test('writes nothing before or after it leads', async () => {
  const { clock, desired, take, writes, writer } = setUp();
  take('a', {});
  desired.set('a', { observedGeneration: 1 });
  writer.changed('a');
  await clock.pass(1000);
  writer.start();
  await writer.stop();
  writer.changed('a');
  await clock.pass(60_000);
  assert.deepEqual(writes, []);
});

test('delays an object that is about to change again, and writes its final state', async () => {
  const { clock, desired, live, take, writes, writer } = setUp();
  take('a', {});
  desired.set('a', { observedGeneration: 1 });
  writer.start();
  writer.changed('a', 300);
  await clock.pass(200);
  desired.set('a', { observedGeneration: 2 });
  writer.changed('a');
  await clock.pass(5000);
  assert.deepEqual([writes, live.get('a')?.status['observedGeneration']], [['operator a'], 2]);
});

test('retries a failed write with backoff, which changes do not shorten', async () => {
  const times: number[] = [];
  const setup = setUp({
    apply: async () => {
      times.push(setup.clock.nowMs());
      throw new Error('no connection');
    },
  });
  setup.take('a', {});
  setup.desired.set('a', { observedGeneration: 1 });
  setup.writer.start();
  setup.writer.changed('a');
  for (let i = 0; i < 600; i++) {
    await setup.clock.pass(100);
    setup.writer.changed('a');
  }
  assert.deepEqual(
    times.slice(1).map((ms, index) => ms - (times[index] ?? 0)),
    [500, 1000, 2000, 4000, 8000, 16_000],
  );
});

test('does not loop on a server that does not store what is written', async () => {
  const setup = setUp({
    apply: async (target) => {
      setup.writes.push('write');
      setup.take(target.name, { observedGeneration: 0 });
      setup.writer.changed(target.name); // as its watch would have it
      return 'Written';
    },
  });
  setup.take('a', {});
  setup.desired.set('a', { observedGeneration: 1 });
  setup.writer.start();
  setup.writer.changed('a');
  await setup.clock.pass(60_000);
  assert.ok(setup.writes.length <= 8, `${setup.writes.length} writes`);
});

test('spreads a thousand changes over time', async () => {
  const { clock, desired, take, writes, writer } = setUp({ writesPerSecond: 100 });
  writer.start();
  for (let i = 0; i < 1000; i++) {
    take(`o${i}`, {});
    desired.set(`o${i}`, { observedGeneration: 1 });
    writer.changed(`o${i}`);
  }
  await clock.pass(0);
  assert.equal(writes.length, 200, 'the burst');
  await clock.pass(4000);
  assert.ok(writes.length >= 590 && writes.length <= 610, `${writes.length}`);
  await clock.pass(5000);
  assert.equal(writes.length, 1000);
});

test('writes spending once per half minute, but at once at a threshold or with a new limit', async () => {
  const { clock, desired, live, take, writes, writer } = setUp();
  take('a', {});
  const spend = async (spentUsd: string, remainingUsd: string, ...warnings: string[]): Promise<void> => {
    desired.set('a', {
      observedGeneration: 1,
      spentUsd,
      remainingUsd,
      conditions: warnings.map((type) => condition(type)),
    });
    writer.changed('a');
    await clock.pass(1000);
  };
  writer.start();
  await spend('1.00', '9.00');
  assert.deepEqual(writes, ['operator a', 'spending a']);
  await spend('2.00', '8.00');
  await spend('3.00', '7.00');
  assert.equal(writes.length, 2);
  await clock.pass(28_000);
  assert.deepEqual([writes.length, live.get('a')?.status['spentUsd']], [3, '3.00']);
  await spend('8.00', '2.00', 'QuotaLow');
  assert.deepEqual([writes.length, live.get('a')?.status['spentUsd']], [4, '8.00']);
  await spend('8.00', '92.00');
  assert.deepEqual(writes.slice(4), ['operator a', 'spending a']);
  assert.deepEqual([live.get('a')?.status['remainingUsd'], live.get('a')?.status.conditions], ['92.00', []]);
});

test('writes an edit and what remains of its limit together, and then leaves the spending to its manager', async () => {
  const { clock, desired, live, seen, take, writes, writer } = setUp();
  take('a', {});
  const want = async (observedGeneration: number, remainingUsd: string, ...types: string[]): Promise<void> => {
    const conditions = types.map((type) => ({ ...condition(type), observedGeneration }));
    desired.set('a', { observedGeneration, spentUsd: '1.00', remainingUsd, conditions });
    writer.changed('a');
    await clock.pass(1000);
  };
  const told = (): unknown[] =>
    seen
      .splice(0)
      .map(({ observedGeneration, remainingUsd, conditions = [] }) => [
        observedGeneration,
        remainingUsd,
        conditions.find(({ type }) => type === 'Ready')?.observedGeneration,
      ]);
  writer.start();
  await want(1, '9.00', 'Ready');
  told();
  for (const [generation, left] of [
    [2, '0.00'],
    [3, '4.00'],
    [4, '0.50'],
  ] as const) {
    writes.length = 0;
    await want(generation, left, 'Ready');
    assert.deepEqual(writes, ['operator a', 'spending a']);
    // no reader sees the new limit observed beside what was left of the old one, or the reverse
    assert.deepEqual(told(), [
      [generation, left, generation],
      [generation, left, generation],
    ]);
  }
  await want(4, '0.50', 'Ready', 'Reconciling');
  assert.equal(live.get('a')?.status['remainingUsd'], '0.50', 'the operator owns it no more');
  await writer.stop();
});

test("writes an edit of an Account's limits and what remains of them together, and their spending later", async () => {
  const { clock, desired, seen, take, writes, writer } = setUp();
  take('a', {});
  const want = async (observedGeneration: number, usd: string, spentUsd: string): Promise<void> => {
    const limits = [{ period: 'Day', timeZone: 'UTC', usd, spentUsd }];
    desired.set('a', { observedGeneration, spentUsd: '1.00', balanceUsd: '9.00', limits });
    writer.changed('a');
    await clock.pass(1000);
  };
  writer.start();
  await want(1, '5.00', '1.00');
  writes.length = seen.length = 0;
  await want(1, '5.00', '1.50');
  assert.deepEqual(writes, []);
  await want(2, '4.00', '1.50');
  assert.deepEqual(writes, ['operator a', 'spending a']);
  const limits = [{ period: 'Day', timeZone: 'UTC', usd: '4.00', spentUsd: '1.50' }];
  assert.deepEqual(
    seen.map((status) => [status['observedGeneration'], status['limits']]),
    [
      [2, limits],
      [2, limits],
    ],
  );
  await writer.stop();
});

test('takes the spending back before the next write, also if that fails at first', async () => {
  let fails = false;
  const setup = setUp();
  const { clock, desired, live, take } = setup;
  const writer = new StatusWriter({
    ...setup.options,
    apply: (target, owner, part) => {
      if (owner !== 'spending' || !fails) return setup.options.apply(target, owner, part);
      fails = false;
      return Promise.reject(new Error('not now'));
    },
  });
  take('a', {});
  writer.start();
  const want = async (observedGeneration: number, remainingUsd: string): Promise<void> => {
    desired.set('a', { observedGeneration, spentUsd: '1.00', remainingUsd, conditions: [condition('Ready')] });
    writer.changed('a');
    await clock.pass(100);
  };
  await want(1, '9.00');
  fails = true;
  await want(2, '7.00');
  desired.set('a', { ...desired.get('a'), observedGeneration: 3 });
  writer.changed('a');
  await clock.pass(5000);
  assert.deepEqual([live.get('a')?.status['remainingUsd'], live.get('a')?.status['observedGeneration']], ['7.00', 3]);
  assert.ok(setup.seen.every(({ remainingUsd }, n) => n === 0 || remainingUsd !== undefined));
  await writer.stop();
});

for (const [what, happens] of [
  ['the response to the write is lost', 'Lost'],
  ['another replica leads after the write', 'Led'],
] as const)
  test(`keeps what remains where ${what}`, async () => {
    const setup = setUp();
    const { clock, desired, live, seen, take } = setup;
    let loses = false;
    const options: StatusWriterOptions = {
      ...setup.options,
      async apply(target, owner, part) {
        const outcome = await setup.options.apply(target, owner, part);
        if (!loses) return outcome;
        loses = false;
        if (happens === 'Led') void leaders[0].stop();
        throw new Error('the connection was lost');
      },
    };
    const leaders = [new StatusWriter(options), new StatusWriter(options)] as const;
    const conditions = [condition('QuotaLow'), condition('Ready')];
    const want = async (observedGeneration: number, remainingUsd: string): Promise<void> => {
      desired.set('a', { observedGeneration, spentUsd: '1.00', remainingUsd, conditions });
      for (const writer of leaders) writer.changed('a');
      await clock.pass(5_000);
    };
    take('a', {});
    leaders[0].start();
    await want(1, '9.00');
    seen.length = 0;
    loses = true;
    await want(2, '7.00');
    if (happens === 'Led') leaders[1].start();
    await want(3, '7.00');
    assert.equal(live.get('a')?.status['observedGeneration'], 3);
    for (const { remainingUsd, conditions = [] } of seen)
      assert.deepEqual([remainingUsd, conditions.some(({ type }) => type === 'QuotaLow')], ['7.00', true]);
    await Promise.all(leaders.map((writer) => writer.stop()));
  });

test('keeps the last spending without a ledger', async () => {
  const { clock, desired, take, writes, writer } = setUp();
  take('a', { observedGeneration: 1, spentUsd: '5.00', conditions: [condition('QuotaLow')] });
  desired.set('a', { observedGeneration: 1 });
  writer.start();
  writer.changed('a');
  await clock.pass(60_000);
  assert.deepEqual(writes, []);
});

test('does not write objects of another gateway', async () => {
  const setup = setUp({
    apply: async (target) => {
      setup.writes.push(target.name);
      return 'Taken';
    },
  });
  setup.take('a', { observedGeneration: 7 });
  setup.desired.set('a', { observedGeneration: 1 });
  setup.writer.start();
  for (let i = 0; i < 10; i++) {
    setup.writer.changed('a');
    await setup.clock.pass(10_000);
  }
  assert.deepEqual(setup.writes, ['a']);
});

test('removes entries without an owner, the last of a list first', () => {
  const live = {
    strange: 1,
    spentUsd: '1',
    conditions: [condition('Stalled'), condition('QuotaLow'), condition('Odd'), condition('Ready')],
  };
  assert.deepEqual(removalsFrom(live, { conditions: [condition('Ready')] }, 'operator'), [
    {
      op: 'remove',
      path: '/status/strange',
    },
    { op: 'remove', path: '/status/conditions/2' },
    { op: 'remove', path: '/status/conditions/0' },
  ]);
});

test('takes namespaces in turn: two thousand new objects of one delay no other', async () => {
  const { clock, desired, live, writes, writer } = setUp({ writesPerSecond: 10 });
  const add = (namespace: string, name: string): string => {
    const id = `ApiKey ${namespace}/${name}`;
    live.set(id, { kind: 'ApiKey', namespace, name: id, uid: id, resourceVersion: '1', status: {} });
    desired.set(id, { observedGeneration: 1 });
    return id;
  };
  writer.start();
  for (let n = 0; n < 2000; n++) writer.changed(add('team-a', String(n)));
  await clock.pass(0);
  writer.changed(add('team-b', 'only'));
  const before = writes.length;
  await clock.pass(300);
  assert.ok(writes.slice(before, before + 4).includes('operator ApiKey team-b/only'), writes.slice(before).join(', '));
  await writer.stop();
});

test('writes few objects of one namespace at once, and others beside them', async () => {
  const waiting = new Set<string>();
  const { clock, desired, live, writer } = setUp({
    apply: async ({ name }) => {
      waiting.add(name);
      return new Promise(() => undefined);
    },
  });
  writer.start();
  for (const [namespace, count] of [
    ['team-a', 100],
    ['team-b', 2],
  ] as const)
    for (let n = 0; n < count; n++) {
      const id = `ApiKey ${namespace}/${n}`;
      live.set(id, { kind: 'ApiKey', namespace, name: id, uid: id, resourceVersion: '1', status: {} });
      desired.set(id, { observedGeneration: 1 });
      writer.changed(id);
    }
  await clock.pass(0);
  assert.deepEqual(
    [...waiting].map((id) => id.slice(0, -2)),
    [...Array<string>(4).fill('ApiKey team-a'), ...Array<string>(2).fill('ApiKey team-b')],
  );
});

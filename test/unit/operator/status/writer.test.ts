/**
 * The status writer with a controlled clock and server: equal statuses are not written, failed writes are retried,
 * within budgets.
 */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Condition } from '#crds/types.gen.ts';
import { partOf, removalsFrom } from '../../../../operator/status/differences.ts';
import type { StatusBody, StatusOwner } from '../../../../operator/status/differences.ts';
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

function setUp(over: Partial<StatusWriterOptions> = {}) {
  const clock = fakeClock();
  const desired = new Map<string, StatusBody>();
  const live = new Map<string, StatusTarget>();
  const writes: string[] = [];
  let version = 0;
  const take = (id: string, status: StatusBody): void => {
    live.set(id, { kind: 'ApiKey', namespace: 'n', name: id, uid: id, resourceVersion: String(++version), status });
  };
  const idOf = ({ name }: StatusTarget): string => name;
  const writer = new StatusWriter({
    clock,
    meter: NO_METER,
    log: NO_LOG,
    desired: (id) => desired.get(id),
    live: (id) => live.get(id),
    async apply(target, owner, part) {
      writes.push(`${owner} ${idOf(target)}`);
      const other: StatusOwner = owner === 'operator' ? 'spending' : 'operator';
      const kept = partOf(live.get(idOf(target))?.status ?? {}, other);
      take(idOf(target), { ...kept, ...part, conditions: [...(kept.conditions ?? []), ...(part.conditions ?? [])] });
      return 'Written';
    },
    remove: async () => 'Written',
    ...over,
  });
  return { clock, desired, live, writes, writer, take };
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
  assert.deepEqual([writes.length, live.get('a')?.status['remainingUsd']], [5, '92.00']);
});

test('writes what remains of a new limit before it calls the edit observed', async () => {
  const { clock, desired, take, writes, writer } = setUp();
  take('a', { observedGeneration: 1, spentUsd: '1.00', remainingUsd: '9.00' });
  desired.set('a', { observedGeneration: 2, spentUsd: '1.00', remainingUsd: '0.00' });
  writer.start();
  writer.changed('a');
  await clock.pass(1000);
  assert.deepEqual(writes, ['spending a', 'operator a']);
  await writer.stop();
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

/** The objects of one namespace take a bounded share of the memory: the oldest count, on every replica the same. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import type { Account } from '#crds/types.gen.ts';
import { openLiveObjects } from '../../../../operator/store/live-objects.ts';
import { createNamespaceBound, sizeOf } from '../../../../operator/store/namespace-bound.ts';
import { objectId } from '#objects/resources.ts';
import { GATEWAY_NAMESPACE, accountsOf } from '../support.ts';

function account(namespace: string, name: string, at: number, reason = ''): Account {
  const [object] = accountsOf(
    `apiVersion: modelgateway.dev/v1alpha1\nkind: Account\n` +
      `metadata: {name: ${name}, namespace: ${namespace}}\nspec: {grants: [{name: first, usd: "1", reason: "${reason}"}]}`,
  );
  assert.ok(object);
  const creationTimestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString();
  return {
    ...object,
    metadata: { ...object.metadata, uid: name, generation: 1, resourceVersion: '1', creationTimestamp },
  };
}

const SIZE = sizeOf(account('team-a', 'a00', 10));

function setUp(fitting: number) {
  const bound = createNamespaceBound({ maxBytes: fitting * SIZE + 10, exemptNamespace: GATEWAY_NAMESPACE });
  const objects = openLiveObjects({ bound, onSpecs: () => undefined, onLive: () => undefined });
  const names = (namespace = 'team-a'): string[] =>
    (objects.byNamespace('Account').get(namespace) ?? []).map(({ metadata }) => metadata.name).sort();
  const told = (namespace = 'team-a'): string[] =>
    (objects.malformed().get(namespace) ?? []).map(({ metadata, reason }) => `${metadata.name} ${reason}`).sort();
  return { bound, objects, names, told };
}

test('the oldest objects count, the others are told, and other namespaces are not concerned', () => {
  const { bound, objects, names, told } = setUp(2);
  objects.apply('w', account('team-b', 'b00', 1));
  for (const [name, at] of [
    ['a30', 30],
    ['a10', 10],
    ['a20', 20],
    ['a40', 40],
  ] as const)
    objects.apply('w', account('team-a', name, at));
  assert.deepEqual(objects.settle(), []);
  assert.deepEqual(names(), ['a10', 'a20']);
  assert.deepEqual(told(), ['a30 TooManyObjects', 'a40 TooManyObjects']);
  assert.deepEqual([names('team-b'), told('team-b'), bound.beyond], [['b00'], [], 2]);
  assert.match(objects.malformed().get('team-a')?.[0]?.faults[0] ?? '', /^The objects of this namespace/);

  objects.apply('w', account('team-a', 'a50', 50));
  assert.deepEqual(names(), ['a10', 'a20'], 'one that is younger is not held even for a moment');
});

test('a status that is written to an object beyond the bound does not bring it back', () => {
  const { objects, names } = setUp(1);
  for (const at of [10, 20]) objects.apply('w', account('team-a', `a${at}`, at));
  objects.settle();
  const late = account('team-a', 'a20', 20);
  objects.apply('w', { ...late, metadata: { ...late.metadata, resourceVersion: '9' }, status: { creditUsd: '1' } });
  assert.deepEqual([names(), objects.live('Account team-a/a20')?.resourceVersion], [['a10'], '9']);
});

test('room that becomes free goes to the next oldest, once it has been read again', () => {
  const { bound, objects, names, told } = setUp(2);
  for (const at of [10, 20, 30, 40]) objects.apply('w', account('team-a', `a${at}`, at));
  objects.settle();
  objects.remove('w', account('team-a', 'a10', 10));
  assert.deepEqual(
    objects.settle().map(({ id, source }) => `${source} ${id}`),
    ['w Account team-a/a30'],
  );
  objects.readAgain('w', account('team-a', 'a30', 30));
  objects.readAgain('w', account('team-a', 'gone', 5));
  assert.deepEqual([names(), told(), bound.beyond], [['a20', 'a30'], ['a40 TooManyObjects'], 1]);
  objects.retain('w', new Set());
  assert.deepEqual([names(), told(), bound.beyond], [[], [], 0]);
});

test("the gateway's own namespace may have any number", () => {
  const { objects, names } = setUp(1);
  for (const at of [10, 20, 30]) objects.apply('w', account(GATEWAY_NAMESPACE, `a${at}`, at));
  assert.deepEqual([objects.settle(), names(GATEWAY_NAMESPACE)], [[], ['a10', 'a20', 'a30']]);
});

test('in whatever order objects come, replicas hold the same ones', () => {
  const object = fc.record({ name: fc.nat({ max: 30 }), at: fc.nat({ max: 59 }), length: fc.nat({ max: 250 }) });
  const some = fc.uniqueArray(object, { selector: ({ name }) => name, maxLength: 25 });
  fc.assert(
    fc.property(
      some.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      ([all, shuffled]) => {
        const held = [all, shuffled].map((order) => {
          const { objects, names } = setUp(8);
          const byId = new Map(
            order.map(({ name, at, length }) => {
              const one = account('team-a', `a${name}`, at, 'x'.repeat(length));
              return [objectId(one.kind, one.metadata), one] as const;
            }),
          );
          for (const one of byId.values()) objects.apply('w', one);
          for (const { id, source } of objects.settle()) objects.readAgain(source, byId.get(id)!);
          objects.settle();
          const bytes = names().reduce((sum, name) => sum + sizeOf(byId.get(`Account team-a/${name}`)!), 0);
          assert.ok(bytes <= 8 * SIZE + 10);
          return names();
        });
        assert.deepEqual(held[0], held[1]);
      },
    ),
  );
});

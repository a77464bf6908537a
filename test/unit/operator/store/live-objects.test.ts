/** The lists of objects stay the same ones until an object in them changes. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Account } from '#crds/types.gen.ts';
import { openLiveObjects } from '../../../../operator/store/live-objects.ts';
import { conditionsOf, PROGRAMMED } from '../../../../operator/status/conditions.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { accountsOf, NOW_MS, resourcesOf } from '../support.ts';

function account(namespace: string, name: string, generation: number): Account {
  const [object] = accountsOf(
    `apiVersion: modelgateway.dev/v1alpha1\nkind: Account\n` +
      `metadata: {name: ${name}, namespace: ${namespace}}\nspec: {}`,
  );
  assert.ok(object);
  const metadata = { ...object.metadata, generation, resourceVersion: String(generation) };
  return { ...object, metadata };
}

test('a namespace has the same list until one of its objects changes', () => {
  const objects = openLiveObjects({ onSpecs: () => undefined, onLive: () => undefined });
  for (const each of [account('a', 'x', 1), account('a', 'z', 2), account('b', 'x', 3)]) objects.apply('all', each);
  const [before, all] = [objects.byNamespace('Account'), objects.ofKind('Account')];
  assert.deepEqual([before.get('a')?.length, before.get('b')?.length, all.length], [2, 1, 3]);
  assert.equal(objects.byNamespace('Account'), before);
  assert.equal(objects.ofKind('Account'), all);

  objects.apply('all', { ...account('a', 'x', 1), status: { creditUsd: '1' } });
  assert.equal(objects.byNamespace('Account'), before, 'a status is not in the lists');
  objects.apply('all', account('b', 'x', 4));
  const after = objects.byNamespace('Account');
  assert.equal(after.get('a'), before.get('a'));
  assert.deepEqual(
    after.get('b')?.map(({ metadata }) => metadata.generation),
    [4],
  );
  assert.deepEqual(
    before.get('b')?.map(({ metadata }) => metadata.generation),
    [3],
    'a list never changes',
  );
  assert.notEqual(objects.ofKind('Account'), all);

  objects.remove('all', account('b', 'x', 5));
  assert.deepEqual([...objects.byNamespace('Account').keys()], ['a']);
  assert.equal(objects.count('Account'), 2);
});

test('an object that waits for its finalizers is in no list, and its status can say so', () => {
  const objects = openLiveObjects({ onSpecs: () => undefined, onLive: () => undefined });
  objects.apply('all', account('a', 'x', 1));
  const { metadata, ...leaving } = account('a', 'x', 2);
  objects.apply('all', { ...leaving, metadata: { ...metadata, deletionTimestamp: '2026-11-20T12:00:00Z' } });
  assert.equal(objects.count('Account'), 0);
  assert.equal(objects.current('Account a/x'), undefined);
  assert.equal(objects.live('Account a/x')?.resourceVersion, '2');
  const malformed = objects.malformed();
  assert.deepEqual(
    malformed.get('a')?.map(({ reason, gatewayNamespace }) => [reason, gatewayNamespace]),
    [['Deleting', 'model-gateway']],
  );
  const { statuses } = translate(
    { ...resourcesOf(''), malformed },
    { gatewayNamespace: 'model-gateway', nowMs: NOW_MS },
  );
  assert.deepEqual(
    statuses
      .flatMap((findings) => conditionsOf(findings, PROGRAMMED))
      .map(({ type, status, reason }) => [type, status, reason]),
    [
      ['Accepted', 'False', 'Deleting'],
      ['Programmed', 'False', 'NotAccepted'],
      ['Ready', 'False', 'Deleting'],
      ['Reconciling', 'True', 'Deleting'],
    ],
  );

  objects.remove('all', account('a', 'x', 3));
  assert.deepEqual([...objects.malformed().keys()], []);
  assert.equal(objects.live('Account a/x'), undefined);
});

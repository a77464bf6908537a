/**
 * Objects that an older or a newer schema admitted: defaults are filled in, fields are ignored or refused, and other
 * objects are not affected.
 */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { loadApiKinds } from '#crds/load.ts';
import type { Resource } from '#crds/types.gen.ts';
import { admitObjects } from '../../../../../operator/sources/cluster/admit-object.ts';
import { openLiveObjects } from '../../../../../operator/store/live-objects.ts';
import { allOf } from '#objects/resources.ts';
import { translate } from '../../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS } from '../../support.ts';

const admit = admitObjects(await loadApiKinds());

/** An object as stored in a cluster, whatever schema admitted it. */
function object(kind: string, name: string, spec: unknown): Resource {
  const namespace = kind === 'Account' || kind === 'ApiKey' ? 'team-a' : GATEWAY_NAMESPACE;
  const metadata = { name, namespace, uid: `${kind}-${name}`, generation: 1, resourceVersion: '1', managedFields: [] };
  return { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata, spec } as never;
}

function translated(...objects: Resource[]) {
  const live = openLiveObjects({ onSpecs: () => undefined, onLive: () => undefined, admit });
  for (const one of objects) live.apply('watch', one);
  return translate(
    {
      apiKeys: live.byNamespace('ApiKey'),
      accounts: live.byNamespace('Account'),
      groups: live.ofKind('Group'),
      modelRoutes: live.ofKind('ModelRoute'),
      priceCatalogs: live.ofKind('PriceCatalog'),
      secrets: new Map(),
      namespaces: new Map(),
      malformed: live.malformed(),
    },
    { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS },
  );
}

const refusalOf = ({ statuses }: ReturnType<typeof translated>, kind: string, name: string) =>
  statuses.find((one) => one.kind === kind && one.name === name)?.refused;

test('fills in a default that an older schema did not have', () => {
  const { snapshot, statuses } = translated(
    object('ModelRoute', 'r', {
      models: [
        {
          name: 'm',
          contextTokens: 9,
          maxOutputTokens: 5,
        },
      ],
      channels: [{ name: 'c', protocol: 'OpenAI', baseUrl: 'https://api.test' }],
    }),
  );
  assert.deepEqual(
    statuses.map(({ refused }) => refused),
    [undefined],
  );
  assert.equal(typeof snapshot.routes[0]?.models[0]?.imageTokens, 'number');
});

test('ignores a field of a newer schema', () => {
  const { snapshot } = translated(
    object('Account', 'a', { grants: [{ name: 'g', usd: '1', since: 'tomorrow' }], newField: 1 }),
  );
  assert.equal(snapshot.accounts[0]?.creditNanoUsd, 1_000_000_000n);
});

test('marks an unusable object Invalid with all errors, and so do objects that refer to it', () => {
  const result = translated(
    object('Account', 'a', { grants: [{ name: 'g', usd: 'lots' }] }),
    object('Account', 'b', { grants: 7 }),
    object('Account', 'c', undefined),
    object('Group', 'g', { routes: 'all' }),
    object('ModelRoute', 'r', { models: [] }),
    object('PriceCatalog', 'p', null),
    object('Group', 'auto', { type: 'Automatic', allowedNamespaces: { from: 'All' }, members: [{ name: 'g' }] }),
    object('Group', 'direct', { allowedNamespaces: { from: 'All' }, routes: [{ routeRef: { name: 'r' } }] }),
    object('ApiKey', 'bad', { groupRef: 'g', accountRef: { name: 'b' } }),
    object('ApiKey', 'k', { groupRef: { name: 'g' }, accountRef: { name: 'b' } }),
    object('Account', 'fine', {}),
  );
  for (const [kind, name] of [
    ['Account', 'a'],
    ['Account', 'b'],
    ['Group', 'g'],
    ['ModelRoute', 'r'],
    ['ApiKey', 'bad'],
  ] as const)
    assert.equal(refusalOf(result, kind, name)?.reason, 'Invalid', `${kind} ${name}`);
  assert.match(refusalOf(result, 'Account', 'b')?.message ?? '', /^spec\.grants: /);
  assert.equal(refusalOf(result, 'ApiKey', 'k')?.reason, 'GroupNotAccepted');
  assert.match(refusalOf(result, 'ApiKey', 'k')?.message ?? '', /The Account "b" is not Accepted\./);
  assert.equal(refusalOf(result, 'Group', 'auto')?.reason, 'MemberNotAccepted');
  assert.equal(result.statuses.find(({ name }) => name === 'direct')?.notReady?.reason, 'RouteNotAccepted');
  assert.deepEqual(
    result.snapshot.accounts.map(({ name }) => name),
    ['fine'],
  );
});

test('uses a corrected object again', () => {
  const live = openLiveObjects({ onSpecs: () => undefined, onLive: () => undefined, admit });
  live.apply('watch', object('Account', 'a', { grants: 7 }));
  assert.deepEqual([live.ofKind('Account').length, allOf(live.malformed()).length], [0, 1]);
  const mended = object('Account', 'a', {});
  Object.assign(mended.metadata, { generation: 2, resourceVersion: '2' });
  live.apply('watch', mended);
  assert.deepEqual([live.ofKind('Account').length, allOf(live.malformed()).length], [1, 0]);
  live.remove('watch', object('Account', 'a', {}));
  assert.deepEqual([live.ofKind('Account').length, allOf(live.malformed()).length], [0, 0]);
});

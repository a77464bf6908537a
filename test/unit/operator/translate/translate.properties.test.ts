/** Properties for any set of admitted objects: no throw, a snapshot that proxies accept, and no dependence on order. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { CONDITIONS } from '#crds/conditions.ts';
import { validateSnapshot } from '#snapshot/validate.ts';
import type { ByNamespace, Resources } from '#objects/resources.ts';
import { PROGRAMMED, conditionsOf } from '../../../../operator/status/conditions.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, loadText } from '../support.ts';

const NAMESPACES = [GATEWAY_NAMESPACE, 'team-a', 'team-b', 'other-gateway'];
const NAMES = ['a', 'a', 'b', 'c'];
const MODELS = ['gpt', 'claude', 'mini', 'constructor'];
const KEYS = ['sk-00000000000000000000000000000001', 'sk-00000000000000000000000000000002', 'sk-weak', 'bad key\n', ''];
const TIMES = ['2026-01-01T00:00:00Z', '2026-11-21T12:00:00Z', '2026-11-21T12:00:00.001Z', '9999-12-31T23:59:59+14:00'];

const name = fc.constantFrom(...NAMES);
const models = fc.option(fc.uniqueArray(fc.constantFrom(...MODELS, 'unknown'), { minLength: 1 }), { nil: undefined });
const decimal = fc.constantFrom('0', '1', '0.5', '25.000000001', '9000000000', '0.000000001');
const money = fc.constantFrom('0', '-9000000000', '9000000000', '0.01');
const threshold = fc.option(fc.constantFrom(1, 40), { nil: undefined });
const rateLimits = fc.constantFrom(undefined, { requestsPerMinute: 60 }, { outputTokensPerMinute: 1_000_000_000 });
const gatewayNamespace = fc.constantFrom(GATEWAY_NAMESPACE, GATEWAY_NAMESPACE, 'other-gateway');
const selector = fc.constantFrom(
  {},
  { matchLabels: { tier: 'x' } },
  {
    matchExpressions: [
      {
        key: 'tier',
        operator: 'NotIn',
        values: ['x'],
      },
    ],
  },
  { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] },
);
const creationTimestamp = fc.option(fc.constantFrom(...TIMES.slice(0, 2)), { nil: undefined });

/** Mostly in the namespaces where the kind belongs. */
function object(kind: string, spec: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const home = kind === 'ApiKey' || kind === 'Account' ? 'team-a' : GATEWAY_NAMESPACE;
  const metadata = fc.record(
    {
      name,
      namespace: fc.constantFrom(home, home, home, ...NAMESPACES),
      creationTimestamp,
      labels: fc.constantFrom({}, { tier: 'x' }),
    },
    { requiredKeys: ['name', 'namespace', 'labels'] },
  );
  return fc.record({ apiVersion: fc.constant('modelgateway.dev/v1alpha1'), kind: fc.constant(kind), metadata, spec });
}

const apiKey = object(
  'ApiKey',
  fc.record({
    gatewayNamespace,
    enabled: fc.boolean(),
    groupRef: fc.record({ name }),
    accountRef: fc.record({ name }),
    models,
    maxConcurrency: threshold,
    rateLimits,
    quota: fc.record({
      limitUsd: fc.constantFrom('Unlimited', '0', '25.5'),
      period: fc.constantFrom('Never', 'Daily', 'Monthly'),
      whenShort: fc.constantFrom('Lower', 'Refuse'),
    }),
    expirationTime: fc.option(fc.constantFrom(...TIMES), { nil: undefined }),
    key: fc.oneof(
      fc.constant({ type: 'Provided' }),
      fc.record({
        type: fc.constant('Generated'),
        rotation: fc.constantFrom(1, 2),
        secretRef: fc.constantFrom({ name: 'a-key' }, undefined),
      }),
    ),
  }),
);
const account = object(
  'Account',
  fc.record({
    gatewayNamespace,
    rateLimits,
    grants: fc.uniqueArray(fc.record({ name, usd: money }), { selector: (grant) => grant.name }),
  }),
);
const groupRoute = fc
  .record({
    models,
    channels: fc.option(fc.constantFrom(['one'], ['two', 'unknown']), { nil: undefined }),
    maxConcurrency: threshold,
    rateLimits,
  })
  .chain((rest) =>
    fc.oneof(
      selector.map((routeSelector) => ({ ...rest, routeSelector })),
      name.map((route) => ({ ...rest, routeRef: { name: route } })),
    ),
  );
const allowedNamespaces = fc.oneof(
  fc.constantFrom({ from: 'All' }, { from: 'Same' }),
  selector.map((chosen) => ({ from: 'Selector', selector: chosen })),
);
const group = object(
  'Group',
  fc.oneof(
    fc.record({ priceRatio: decimal, allowedNamespaces, routes: fc.array(groupRoute, { minLength: 1, maxLength: 3 }) }),
    fc.record({
      type: fc.constant('Automatic'),
      allowedNamespaces,
      members: fc.uniqueArray(fc.record({ name }), { minLength: 1, selector: (member) => member.name }),
    }),
  ),
);
const channel = (channelName: string) =>
  fc.record({
    name: fc.constant(channelName),
    protocol: fc.constantFrom('OpenAI', 'Anthropic'),
    baseUrl: fc.constantFrom(
      'https://api.test',
      'http://[::1]:80',
      'https://api.test:99999',
      'https://-',
      'https://1.2.3.4.5',
    ),
    rateLimits,
    auth: fc.option(
      fc.record({
        type: fc.constant('ApiKey'),
        secretRef: fc.record({ name: fc.constantFrom('a-key', 'gone') }),
      }),
      { nil: undefined },
    ),
  });
const route = object(
  'ModelRoute',
  fc.record({
    models: fc
      .uniqueArray(fc.constantFrom(...MODELS), { minLength: 1 })
      .map((names) => names.map((model) => ({ name: model, contextTokens: 10, maxOutputTokens: 5 }))),
    channels: fc.oneof(fc.tuple(channel('one')), fc.tuple(channel('one'), channel('two'))),
  }),
);
const price = fc.oneof(
  fc.record({ quotaType: fc.constant('Token'), modelRatio: decimal, cacheWrite1hRatio: decimal, vendor: name }),
  fc.record({ quotaType: fc.constant('Request'), requestUsd: decimal, vendor: name }),
);
const catalog = object(
  'PriceCatalog',
  fc.record({
    ratioBaseUsd: decimal,
    models: fc
      .uniqueArray(fc.tuple(fc.constantFrom(...MODELS), price), { minLength: 1, selector: ([model]) => model })
      .map((entries) => entries.map(([model, rest]) => ({ name: model, ...rest }))),
  }),
);
const secret = fc.record({
  apiVersion: fc.constant('v1'),
  kind: fc.constant('Secret'),
  metadata: fc.record({
    name: name.map((owner) => `${owner}-key`),
    namespace: fc.constantFrom('team-a', 'team-a', ...NAMESPACES),
    labels: fc.option(
      name.map((owner) => ({ 'modelgateway.dev/api-key': owner })),
      { nil: undefined },
    ),
    annotations: fc.constantFrom(
      {},
      {
        'modelgateway.dev/previous-keys': JSON.stringify([
          {
            sha256: 'a'.repeat(64),
            notAfter: '2026-12-01T00:00:00Z',
          },
        ]),
      },
      { 'modelgateway.dev/previous-keys': '[null, 3, {"sha256":"x"}]', 'modelgateway.dev/rotation': '-' },
    ),
  }),
  stringData: fc.constantFrom(...KEYS).map((value) => ({ apiKey: value })),
});
/** A key whose Secret exists, so that it reaches the snapshot. */
const keyWithSecret = fc
  .tuple(apiKey, fc.constantFrom(...KEYS.slice(0, 2), 'sk-00000000000000000000000000000003'))
  .map(([one, value]) => {
    const { metadata } = one as { metadata: { name: string; namespace: string } };
    const labels = { 'modelgateway.dev/api-key': metadata.name };
    return [
      one,
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name: `${metadata.name}-key`,
          namespace: metadata.namespace,
          labels,
        },
        stringData: { apiKey: value },
      },
    ];
  });
const single = fc.oneof(apiKey, account, group, route, catalog, secret).map((one) => [one]);
/** A group and an account that let keys of team-a be accepted; objects of the same names after them do not count. */
const base = fc.constantFrom(
  [],
  [
    {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'Group',
      metadata: { name: 'a' },
      spec: { allowedNamespaces: { from: 'All' }, routes: [{ routeSelector: {} }] },
    },
    {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'Account',
      metadata: { name: 'a', namespace: 'team-a' },
      spec: {},
    },
  ],
);
const world = fc
  .tuple(base, fc.array(fc.oneof(keyWithSecret, single, single), { maxLength: 20, size: 'max' }))
  .map(
    ([before, objects]) =>
      loadText([...before, ...objects.flat()].map((one) => JSON.stringify(one)).join('\n---\n')).resources,
  );

const options = { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS };

test('never throws, and proxies accept every snapshot', () => {
  const seen = { keys: 0, accepted: 0, groups: 0, routes: 0 };
  fc.assert(
    fc.property(world, (resources) => {
      const { snapshot, statuses, nextChangeMs } = translate(resources, options);
      seen.keys += snapshot.keys.length;
      seen.accepted += snapshot.keys.filter(({ refusal }) => refusal === '').length;
      seen.groups += snapshot.groups.length;
      seen.routes += snapshot.routes.length;
      assert.deepEqual(validateSnapshot(snapshot), []);
      assert.ok(nextChangeMs === undefined || nextChangeMs > NOW_MS);
      for (const findings of statuses)
        for (const { type, reason } of conditionsOf(findings, PROGRAMMED))
          assert.ok((CONDITIONS[type].reasons as readonly string[]).includes(reason), `${type} ${reason}`);
    }),
    { numRuns: 300 },
  );
  for (const [what, count] of Object.entries(seen))
    assert.ok(count >= 5, `the worlds are not all refused: ${count} ${what}`);
  console.info(JSON.stringify(seen));
});

test('does not depend on the order of objects', () => {
  const shuffled = world.chain((resources) => fc.tuple(fc.constant(resources), permuted(resources)));
  fc.assert(
    fc.property(shuffled, ([resources, other]) => {
      assert.deepEqual(translate(other, options), translate(resources, options));
    }),
    { numRuns: 100 },
  );
});

test('maps a key hash to one key at most, and a model to one price at most', () => {
  fc.assert(
    fc.property(world, (resources) => {
      const { snapshot } = translate(resources, options);
      const hashes = snapshot.keys.flatMap((key) => key.hashes.map(({ sha256 }) => sha256));
      const priced = snapshot.catalogs.flatMap((one) => one.models.map((model) => model.name));
      assert.equal(new Set(hashes).size, hashes.length);
      assert.equal(new Set(priced).size, priced.length);
    }),
    { numRuns: 100 },
  );
});

test("puts no key and no Secret value into a status or, except providers' credentials, into the snapshot", () => {
  fc.assert(
    fc.property(world, (resources) => {
      const { snapshot, statuses } = translate(resources, options);
      const said = JSON.stringify([statuses, snapshot.keys, snapshot.groups], (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      for (const key of KEYS.filter((one) => one.length > 8))
        assert.ok(!said.includes(JSON.stringify(key).slice(1, -1)));
    }),
    { numRuns: 100 },
  );
});

test('translates 10,000 keys', () => {
  const platform = JSON.stringify({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'Group',
    metadata: { name: 'main' },
    spec: { allowedNamespaces: { from: 'All' }, routes: [{ routeSelector: {} }] },
  });
  const texts = Array.from({ length: 10_000 }, (_, index) => {
    const metadata = { name: `key-${index}`, namespace: `team-${index % 100}` };
    return [
      JSON.stringify({
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'ApiKey',
        metadata,
        spec: {
          groupRef: { name: 'main' },
          accountRef: { name: 'main' },
          key: { type: 'Provided' },
        },
      }),
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          ...metadata,
          name: `key-${index}-key`,
        },
        stringData: { apiKey: `sk-${String(index).padStart(40, '0')}` },
      }),
    ].join('\n---\n');
  });
  const { resources, isValid } = loadText([platform, ...texts].join('\n---\n'));
  const { snapshot } = translate(resources, options);
  assert.ok(isValid);
  assert.equal(snapshot.keys.length, 10_000);
});

function permuted(resources: Resources): fc.Arbitrary<Resources> {
  const shuffle = <T>(list: readonly T[]): fc.Arbitrary<readonly T[]> =>
    fc.shuffledSubarray([...list], { minLength: list.length });
  const shuffleAll = <T>(lists: ByNamespace<T>): fc.Arbitrary<ByNamespace<T>> =>
    shuffle([...lists])
      .chain((entries) =>
        fc.tuple(...entries.map(([namespace, list]) => shuffle(list).map((items) => [namespace, items] as const))),
      )
      .map((entries) => new Map(entries));
  return fc.record({
    apiKeys: shuffleAll(resources.apiKeys),
    accounts: shuffleAll(resources.accounts),
    groups: shuffle(resources.groups),
    modelRoutes: shuffle(resources.modelRoutes),
    priceCatalogs: shuffle(resources.priceCatalogs),
    secrets: shuffle([...resources.secrets]).map((entries) => new Map(entries)),
    namespaces: shuffle([...resources.namespaces]).map((entries) => new Map(entries)),
  });
}

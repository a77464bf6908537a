/** A translation after random edits equals that of new objects. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import type { Resource } from '#crds/types.gen.ts';
import { openLiveObjects } from '../../../../operator/store/live-objects.ts';
import type { Admitted } from '../../../../operator/store/live-objects.ts';
import { openLiveSecrets } from '../../../../operator/store/live-secrets.ts';
import type { LiveSecrets } from '../../../../operator/store/live-secrets.ts';
import { allOf } from '#objects/resources.ts';
import type { Labels, MalformedObject, Resources, SecretObject } from '#objects/resources.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf as resourcesOfText } from '../support.ts';

const HOUR_MS = 3_600_000;
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const name = fc.constantFrom(...NAMES);
const tenant = fc.constantFrom('team-a', 'team-a', 'team-b');

interface OperatorState {
  readonly objects: ReturnType<typeof openLiveObjects>;
  readonly secrets: LiveSecrets;
  namespaces: ReadonlyMap<string, Labels>;
  failures: ReadonlyMap<string, string>;
  nowMs: number;
  generation: number;
}

type Edit = (state: OperatorState) => void;

function manifest(kind: string, named: string, spec: object, home = 'team-a'): Resource {
  const namespace = namespaceOf(kind, home);
  const text = JSON.stringify({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind,
    metadata: { name: named, namespace },
    spec,
  });
  const { apiKeys, accounts, groups, modelRoutes, priceCatalogs } = resourcesOfText(text);
  const [object] = [...allOf(apiKeys), ...allOf(accounts), ...groups, ...modelRoutes, ...priceCatalogs];
  assert.ok(object, text);
  return object;
}

function namespaceOf(kind: string, home: string): string {
  return kind === 'ApiKey' || kind === 'Account' ? home : GATEWAY_NAMESPACE;
}

/** As the API server would return it; faults make it invalid for today's schema. */
function apply(object: Resource, creationTimestamp: string, faulty: boolean): Edit {
  return (state) => {
    const generation = (state.generation += 1);
    const metadata = {
      ...object.metadata,
      generation,
      resourceVersion: String(generation),
      creationTimestamp,
      labels: faulty ? { faulty: 'yes' } : {},
    };
    state.objects.apply(object.kind, { ...object, metadata });
  };
}

const created = fc.constantFrom('2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z');
const faulty = fc.integer({ min: 0, max: 4 }).map((one) => one === 0);
const gatewayNamespace = fc.constantFrom(GATEWAY_NAMESPACE, GATEWAY_NAMESPACE, GATEWAY_NAMESPACE, 'other-gateway');
const expirationTime = fc.option(
  fc.constantFrom(...[0, 1, 2, 3].map((hours) => new Date(NOW_MS + hours * HOUR_MS).toISOString())),
  { nil: undefined },
);
const specs: Readonly<Record<string, fc.Arbitrary<object>>> = {
  ApiKey: fc.record({
    gatewayNamespace,
    enabled: fc.boolean(),
    groupRef: fc.record({ name }),
    accountRef: fc.record({ name }),
    expirationTime,
    models: fc.option(fc.constantFrom(['m'], ['m', 'n']), { nil: undefined }),
    key: fc.constantFrom({}, {}, { type: 'Provided', secretRef: { name: 'a-key' } }),
  }),
  Account: fc.record({
    gatewayNamespace,
    grants: fc.constantFrom(
      [],
      [{ name: 'g', usd: '5' }],
      [
        { name: 'g', usd: '9000000000' },
        { name: 'h', usd: '1' },
      ],
    ),
  }),
  Group: fc.oneof(
    fc.record({
      allowedNamespaces: fc.constantFrom(
        { from: 'All' },
        { from: 'Same' },
        { from: 'Selector', selector: { matchLabels: { tier: 'x' } } },
      ),
      routes: fc.constantFrom([{ routeSelector: {} }], [{ routeRef: { name: 'a' } }]),
    }),
    name.map((member) => ({ type: 'Automatic', allowedNamespaces: { from: 'All' }, members: [{ name: member }] })),
  ),
  ModelRoute: fc.record({
    models: fc.constantFrom([{ name: 'm', contextTokens: 9, maxOutputTokens: 5 }]),
    channels: fc.constantFrom(
      [{ name: 'c', protocol: 'OpenAI', baseUrl: 'https://api.test' }],
      [
        {
          name: 'c',
          protocol: 'OpenAI',
          baseUrl: 'https://api.test',
          auth: { type: 'ApiKey', secretRef: { name: 'a-key' } },
        },
      ],
    ),
  }),
  PriceCatalog: fc.record({
    ratioBaseUsd: fc.constant('2'),
    models: fc
      .constantFrom('m', 'n')
      .map((model) => [{ name: model, vendor: 'v', quotaType: 'Token', modelRatio: '1' }]),
  }),
};

const applied = fc
  .constantFrom('ApiKey', 'ApiKey', 'ApiKey', 'Account', 'Group', 'ModelRoute', 'PriceCatalog')
  .chain((kind) =>
    fc
      .tuple(name, specs[kind] ?? fc.constant({}), created, faulty, tenant)
      .map(([named, spec, time, fault, home]) => apply(manifest(kind, named, spec, home), time, fault)),
  );
const removed = fc
  .tuple(fc.constantFrom(...(['ApiKey', 'ApiKey', 'Account', 'Group', 'ModelRoute'] as const)), name, tenant)
  .map(([kind, named, home]): Edit => ({ objects }) => {
    objects.remove(kind, { kind, metadata: { name: named, namespace: namespaceOf(kind, home) } });
  });
const labelled = fc.tuple(tenant, fc.constantFrom({}, { tier: 'x' })).map(([namespace, labels]): Edit => (state) => {
  state.namespaces = new Map([...state.namespaces, [namespace, labels]]);
});
const secret = fc
  .tuple(
    name,
    fc.constantFrom('1', '2', 'weak', undefined),
    fc.option(fc.constantFrom(1, 2), { nil: undefined }),
    tenant,
  )
  .map(([owner, key, hours, namespace]): Edit => (state) => {
    const previous =
      hours === undefined
        ? {}
        : {
            'modelgateway.dev/previous-keys': JSON.stringify([
              { sha256: 'a'.repeat(64), notAfter: new Date(NOW_MS + hours * HOUR_MS).toISOString() },
            ]),
          };
    const data = new Map([['apiKey', key === 'weak' ? 'sk-weak' : `sk-${String(key).padStart(40, '0')}`]]);
    const labels = { 'modelgateway.dev/api-key': owner };
    const now: SecretObject = { namespace, name: `${owner}-key`, labels, annotations: previous, data };
    if (key === undefined) state.secrets.remove('keys', now);
    else state.secrets.apply('keys', now);
  });
const time = fc.constantFrom(HOUR_MS, 2 * HOUR_MS, -HOUR_MS).map((ms): Edit => (state) => {
  state.nowMs += ms;
});
const failure = fc.option(name, { nil: undefined }).map((failing): Edit => (state) => {
  state.failures = new Map(failing === undefined ? [] : [[`team-a/${failing}`, 'disk full']]);
});
const edits = fc.array(
  fc.array(
    fc.oneof(
      { weight: 8, arbitrary: applied },
      { weight: 2, arbitrary: removed },
      { weight: 3, arbitrary: secret },
      time,
      failure,
      labelled,
    ),
    { minLength: 1, maxLength: 4 },
  ),
  { minLength: 3, maxLength: 25, size: 'max' },
);

/** Without them hardly any key would ever be accepted. */
const START: readonly Edit[] = ['a', 'b', 'c'].flatMap((named) => [
  apply(manifest('Account', named, { grants: [] }), '2026-01-01T00:00:00Z', false),
  apply(
    manifest('Group', named, { allowedNamespaces: { from: 'All' }, routes: [{ routeSelector: {} }] }),
    '2026-01-01T00:00:00Z',
    false,
  ),
]);

function resourcesOf({ objects, secrets, namespaces }: OperatorState): Resources {
  return {
    apiKeys: objects.byNamespace('ApiKey'),
    accounts: objects.byNamespace('Account'),
    groups: objects.ofKind('Group'),
    modelRoutes: objects.ofKind('ModelRoute'),
    priceCatalogs: objects.ofKind('PriceCatalog'),
    secrets: secrets.all(),
    namespaces,
    malformed: objects.malformed(),
  };
}

function admit(object: Resource): Admitted {
  const faults = object.metadata.labels?.['faulty'] === 'yes' ? ['spec: no good'] : [];
  return {
    object,
    faults,
    ...('gatewayNamespace' in object.spec && { gatewayNamespace: object.spec.gatewayNamespace }),
  };
}

test('returns fresh results after random edits', () => {
  const seen = { accepted: 0, conflicted: 0, malformed: 0 };
  fc.assert(
    fc.property(edits, (steps) => {
      const objects = openLiveObjects({ onSpecs: () => undefined, onLive: () => undefined, admit });
      const state: OperatorState = {
        objects,
        secrets: openLiveSecrets(() => undefined),
        namespaces: new Map(),
        failures: new Map(),
        nowMs: NOW_MS,
        generation: 0,
      };
      for (const edit of START) edit(state);
      for (const step of steps) {
        for (const edit of step) edit(state);
        const resources = resourcesOf(state);
        const options = { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: state.nowMs, mintFailures: state.failures };
        const translation = translate(resources, options);
        assert.deepEqual(translation, translate(structuredClone(resources), options));
        seen.accepted += translation.snapshot.keys.filter(({ refusal }) => refusal === '').length;
        seen.conflicted += translation.statuses.filter(({ refused }) => refused?.reason === 'Conflicted').length;
        seen.malformed += allOf(objects.malformed()).filter((one: MalformedObject) => one.faults.length > 0).length;
      }
    }),
    { numRuns: 150 },
  );
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 0, what);
});

/** Every condition and every reason of the API on live objects of a real API server, each from its cause. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { CONDITIONS } from '#crds/conditions.ts';
import type { ConditionRow } from '#crds/conditions.ts';
import type { Kind } from '#crds/types.gen.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { LedgerReader } from '#ledger/spending.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { FakeFleet } from './fake-fleet.ts';
import { SCENE, conditionsOf, isReady, runOperator, startCluster, until } from './support.ts';
import type { Cluster, Live, Running } from './support.ts';

const missing = await kubeApiserverMissing();
const MERGE = 'application/merge-patch+json';
const NANO = 1_000_000_000n;

/** Reasons that cannot occur on a validating server, or not for long enough to be seen. */
const NOT_HERE: ReadonlySet<string> = new Set([
  // no operator writes them
  'Accepted Pending',
  'ResolvedRefs Pending',
  'Reconciling Pending',
  'Accepted SecretNotFound',
  'Accepted SecretInvalid',
  'Accepted SecretTaken',
  'Accepted SecretPending',
  'Accepted RouteNotFound',
  'Accepted RouteNotAccepted',
  // each prevents Ready, but not Accepted
  'Accepted ModelNotFound',
  'Accepted ChannelNotFound',
  // a Direct group that the schema accepts is accepted
  'Accepted MemberNotAccepted',
  'Ready MemberNotAccepted',
  'Stalled MemberNotAccepted',
  'Ready NotAccepted',
  'Stalled SecretPending', // they have a reason of their own
  'Stalled PartiallyConflicted',
  // retire.test.ts and removal.test.ts remove a gateway
  'Programmed GatewayRemoved',
  'Ready GatewayRemoved',
  // namespace-bound.test.ts fills a namespace
  'Accepted TooManyObjects',
  'Ready TooManyObjects',
  'Stalled TooManyObjects',
  // test/api/clouds/ and refusals.test.ts have channels that sign in
  'CredentialReady SignedIn',
  'CredentialReady TokenRefused',
  'CredentialReady TokenUnavailable',
  'CredentialReady IdentityMissing',
]);

const API_KEYS: Readonly<Record<string, string>> = {
  'no-group': 'groupRef: {name: nowhere}, accountRef: {name: team}',
  'group-refused': 'groupRef: {name: empty}, accountRef: {name: team}',
  'not-admitted': 'groupRef: {name: closed}, accountRef: {name: team}',
  'no-account': 'groupRef: {name: main}, accountRef: {name: nobody}',
  'account-refused': 'groupRef: {name: main}, accountRef: {name: too-rich}',
  'foreign-account': 'groupRef: {name: main}, accountRef: {name: foreign}',
  disabled: 'groupRef: {name: main}, accountRef: {name: team}, enabled: false',
  expired: 'groupRef: {name: main}, accountRef: {name: team}, expirationTime: "2020-01-01T00:00:00Z"',
  weak: 'groupRef: {name: main}, accountRef: {name: team}, key: {type: Provided}',
  hollow: 'groupRef: {name: main}, accountRef: {name: team}, key: {type: Provided}',
  awaited: 'groupRef: {name: main}, accountRef: {name: team}, key: {type: Provided}',
  taken: 'groupRef: {name: main}, accountRef: {name: team}, key: {secretRef: {name: of-somebody}}',
  one: 'groupRef: {name: main}, accountRef: {name: team}, key: {type: Provided, secretRef: {name: twice}}',
  two: 'groupRef: {name: main}, accountRef: {name: team}, key: {type: Provided, secretRef: {name: twice}}',
  'no-model': 'groupRef: {name: main}, accountRef: {name: team}, models: [gpt-typo]',
  low: 'groupRef: {name: main}, accountRef: {name: team}, quota: {limitUsd: "10"}',
  spent: 'groupRef: {name: main}, accountRef: {name: team}, quota: {limitUsd: "5"}',
  'account-spent': 'groupRef: {name: main}, accountRef: {name: spent}',
  'account-limit-spent': 'groupRef: {name: main}, accountRef: {name: limit-spent}',
};
const GROUPS: Readonly<Record<string, string>> = {
  closed: 'routes: [{routeSelector: {}}]',
  empty: 'allowedNamespaces: {from: All}, type: Automatic, members: [{name: ghost}]',
  nested: 'type: Automatic, members: [{name: half}]',
  half: 'type: Automatic, members: [{name: main}, {name: ghost}]',
  'no-route': 'routes: [{routeRef: {name: nowhere}}]',
  'route-refused': 'routes: [{routeRef: {name: bad-url}}]',
  'typo-model': 'routes: [{routeSelector: {}, models: [gpt-typo]}]',
  'typo-channel': 'routes: [{routeSelector: {}, channels: [typo]}]',
};

const situations = (): string =>
  [
    ...Object.entries(GROUPS).map(([name, spec]) => `kind: Group\nmetadata: {name: ${name}}\nspec: {${spec}}\n`),
    'kind: Group\nmetadata: {name: misplaced, namespace: team-a}\nspec: {routes: [{routeSelector: {}}]}\n',
    'kind: Account\nmetadata: {name: too-rich, namespace: team-a}\nspec: {grants: [{name: a, usd: "9000000000"}, ' +
      '{name: b, usd: "9000000000"}]}\n',
    'kind: Account\nmetadata: {name: foreign, namespace: team-a}\nspec: {gatewayNamespace: elsewhere}\n',
    'kind: Account\nmetadata: {name: low, namespace: team-a}\nspec: {grants: [{name: a, usd: "10"}]}\n',
    'kind: Account\nmetadata: {name: spent, namespace: team-a}\nspec: {grants: [{name: a, usd: "5"}]}\n',
    'kind: Account\nmetadata: {name: limit-low, namespace: team-a}\n' +
      'spec: {grants: [{name: a, usd: "100"}], limits: [{usd: "10", period: Total}]}\n',
    'kind: Account\nmetadata: {name: limit-spent, namespace: team-a}\n' +
      'spec: {grants: [{name: a, usd: "100"}], limits: [{usd: "8", period: Total}]}\n',
    'kind: ModelRoute\nmetadata: {name: bad-url}\nspec: {models: [{name: gpt, contextTokens: 1000, maxOutputTokens: ' +
      '100}], channels: [{name: direct, protocol: OpenAI, baseUrl: "http://127.0.0.1:99999/v1"}]}\n',
    'kind: ModelRoute\nmetadata: {name: unpriced}\nspec: {models: [{name: free-of-price, contextTokens: 1000, ' +
      'maxOutputTokens: 100}], channels: [{name: direct, protocol: OpenAI, baseUrl: "http://127.0.0.1:1/v1"}]}\n',
    'kind: ModelRoute\nmetadata: {name: no-secret}\nspec: {models: [{name: gpt, contextTokens: 1000, maxOutputTokens: ' +
      '100}], channels: [{name: direct, protocol: OpenAI, baseUrl: "http://127.0.0.1:1/v1", auth: {type: ApiKey, ' +
      'secretRef: {name: nowhere, key: apiKey}}}]}\n',
    'kind: ModelRoute\nmetadata: {name: bad-secret}\nspec: {models: [{name: gpt, contextTokens: 1000, maxOutputTokens: ' +
      '100}], channels: [{name: direct, protocol: OpenAI, baseUrl: "http://127.0.0.1:1/v1", auth: {type: ApiKey, ' +
      'secretRef: {name: openai, key: typo}}}]}\n',
    'kind: ModelRoute\nmetadata: {name: no-costs}\nspec: {models: [{name: gpt, contextTokens: 1000, maxOutputTokens: ' +
      '100}], channels: [{name: direct, protocol: OpenAI, baseUrl: "http://127.0.0.1:1/v1", cost: {catalogRef: ' +
      '{name: nowhere}}}]}\n',
    'kind: PriceCatalog\nmetadata: {name: z-same}\nspec: {models: [{name: gpt, vendor: OpenAI, quotaType: Token, ' +
      'modelRatio: "2"}]}\n',
    'kind: PriceCatalog\nmetadata: {name: z-half}\nspec: {models: [{name: gpt, vendor: OpenAI, quotaType: Token, ' +
      'modelRatio: "2"}, {name: other, vendor: OpenAI, quotaType: Token, modelRatio: "2"}]}\n',
    ...Object.entries(API_KEYS).map(
      ([name, spec]) => `kind: ApiKey\nmetadata: {name: ${name}, namespace: team-a}\nspec: {${spec}}\n`,
    ),
  ].join('---\n');

/** The kind, the name and the expected conditions; all objects are in team-a or the gateway's namespace. */
const EXPECTED: readonly [Kind, string, ...string[]][] = [
  [
    'ApiKey',
    'no-group',
    'Accepted=False GroupNotFound',
    'Ready=False GroupNotFound',
    'Programmed=False NotAccepted',
    'Stalled=True GroupNotFound',
  ],
  ['ApiKey', 'group-refused', 'Accepted=False GroupNotAccepted', 'Stalled=True GroupNotAccepted'],
  ['ApiKey', 'not-admitted', 'Accepted=False NamespaceNotAllowed', 'Stalled=True NamespaceNotAllowed'],
  ['ApiKey', 'no-account', 'Accepted=False AccountNotFound', 'Stalled=True AccountNotFound'],
  ['ApiKey', 'account-refused', 'Accepted=False AccountNotAccepted', 'Stalled=True AccountNotAccepted'],
  ['ApiKey', 'foreign-account', 'Accepted=False OtherGateway', 'Stalled=True OtherGateway'],
  ['ApiKey', 'disabled', 'Ready=False Disabled', 'Programmed=True Programmed'],
  ['ApiKey', 'expired', 'Ready=False Expired'],
  ['ApiKey', 'weak', 'Accepted=False WeakKey', 'Stalled=True WeakKey'],
  ['ApiKey', 'hollow', 'Ready=False SecretInvalid', 'Stalled=True SecretInvalid'],
  ['ApiKey', 'awaited', 'Ready=False SecretPending', 'Reconciling=True SecretPending', 'Programmed=Unknown Pending'],
  ['ApiKey', 'taken', 'Ready=False SecretTaken', 'Stalled=True SecretTaken'],
  ['ApiKey', 'two', 'Accepted=False Conflicted', 'Stalled=True Conflicted'],
  ['ApiKey', 'no-model', 'Ready=False ModelNotFound', 'Stalled=True ModelNotFound'],
  ['ApiKey', 'low', 'Ready=True Ready', 'QuotaLow=True AboveThreshold'],
  ['ApiKey', 'spent', 'Ready=False LimitReached', 'QuotaLow=True AboveThreshold', 'QuotaExhausted=True LimitReached'],
  ['ApiKey', 'account-spent', 'Ready=False AccountLimitReached', 'Programmed=True Programmed'],
  ['ApiKey', 'account-limit-spent', 'Ready=False AccountLimitReached', 'Programmed=True Programmed'],
  ['Account', 'too-rich', 'Accepted=False Invalid', 'Stalled=True Invalid'],
  ['Account', 'low', 'Ready=True Ready', 'BalanceLow=True AboveThreshold'],
  ['Account', 'spent', 'Ready=False LimitReached', 'BalanceExhausted=True LimitReached'],
  ['Account', 'limit-low', 'Ready=True Ready', 'LimitLow=True AboveThreshold'],
  ['Account', 'limit-spent', 'Ready=False LimitReached', 'LimitExhausted=True LimitReached'],
  ['Group', 'empty', 'Accepted=False MemberNotFound', 'Stalled=True MemberNotFound'],
  ['Group', 'nested', 'Accepted=False MemberNotDirect', 'Stalled=True MemberNotDirect'],
  ['Group', 'half', 'Accepted=True Accepted', 'Ready=False MemberNotFound'],
  ['Group', 'no-route', 'Ready=False RouteNotFound', 'Stalled=True RouteNotFound'],
  ['Group', 'route-refused', 'Ready=False RouteNotAccepted', 'Stalled=True RouteNotAccepted'],
  ['Group', 'typo-model', 'Ready=False ModelNotFound'],
  ['Group', 'typo-channel', 'Ready=False ChannelNotFound', 'Stalled=True ChannelNotFound'],
  ['Group', 'misplaced', 'Accepted=False WrongNamespace', 'Stalled=True WrongNamespace'],
  ['ModelRoute', 'bad-url', 'Accepted=False Invalid'],
  ['ModelRoute', 'unpriced', 'ResolvedRefs=True ResolvedRefs', 'Ready=True Ready', 'UnpricedModels=True PriceNotFound'],
  [
    'ModelRoute',
    'no-secret',
    'ResolvedRefs=False SecretNotFound',
    'Ready=False SecretNotFound',
    'Stalled=True SecretNotFound',
  ],
  ['ModelRoute', 'bad-secret', 'ResolvedRefs=False SecretInvalid', 'Ready=False SecretInvalid'],
  ['ModelRoute', 'no-costs', 'ResolvedRefs=False CatalogNotFound', 'Ready=True Ready'],
  ['PriceCatalog', 'z-same', 'Accepted=False Conflicted'],
  ['PriceCatalog', 'z-half', 'Accepted=True PartiallyConflicted', 'Ready=False Conflicted'],
];

describe.skipIf(missing)('conditions on a Kubernetes API server', () => {
  let cluster: Cluster;
  let run: Running;
  const fleet = new FakeFleet(0);
  const seen = new Set<string>();
  const spent = new Map<string, bigint>();
  let answers = true;

  const find = async (kind: Kind, name: string): Promise<Live> => {
    const object = (await cluster.get(kind, 'team-a', name)) ?? (await cluster.get(kind, 'model-gateway', name));
    for (const { type, reason } of object?.status?.conditions ?? []) seen.add(`${type} ${reason}`);
    return object;
  };
  const has = (kind: Kind, name: string, ...wanted: string[]) =>
    until(
      `${kind} ${name}: ${wanted.join(', ')}`,
      () => find(kind, name),
      (object) => wanted.every((each) => conditionsOf(object).includes(each)),
    );

  /** Spending by a key's uid or an account's name. */
  const ledger: LedgerReader = {
    readKey: async (uid) => {
      if (!answers) throw new LedgerUnavailable('gone');
      const amount = spent.get(uid) ?? 0n;
      return {
        nowMs: Date.now(),
        periodStartMs: null,
        resetsMs: null,
        spentNanoUsd: amount,
        heldNanoUsd: 0n,
        totalSpentNanoUsd: amount,
        lastUsedMs: null,
      } as Awaited<ReturnType<LedgerReader['readKey']>>;
    },
    readAccount: async (account) => {
      if (!answers) throw new LedgerUnavailable('gone');
      return { spentNanoUsd: spent.get(account) ?? 0n, heldNanoUsd: 0n };
    },
  };

  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.apply(SCENE);
    const secret = (name: string, entries: object) =>
      cluster.admin.call('POST', '/api/v1/namespaces/team-a/secrets', {
        metadata: { name, labels: { 'modelgateway.dev/api-key': name.replace('-key', '') } },
        stringData: entries,
      });
    await secret('weak-key', { apiKey: 'sk-weak' });
    await secret('hollow-key', { typo: 'x' });
    await secret('of-somebody', { password: 'x' });
    await secret('twice', { apiKey: `sk-${'t'.repeat(40)}` });
    await cluster.apply(situations());
    for (const [name, usd] of [
      ['low', 8n],
      ['spent', 5n],
    ] as const) {
      spent.set((await cluster.get('ApiKey', 'team-a', name)).metadata.uid, usd * NANO);
      spent.set(`team-a/${name}`, usd * NANO);
    }
    for (const name of ['limit-low', 'limit-spent']) spent.set(`team-a/${name}`, 8n * NANO);
    run = runOperator(cluster, {
      proxies: fleet,
      proxiesService: 'model-gateway-fleet',
      ledger,
      waits: { settleMs: 300, spendingEveryMs: 30_000 },
    });
  });
  afterAll(async () => {
    await run?.stop();
    await cluster?.stop();
  });

  it('report that no proxy is connected, and what to do', async () => {
    const object = await has(
      'Group',
      'main',
      'Programmed=False NoProxies',
      'Ready=False NoProxies',
      'Reconciling=True NoProxies',
    );
    assert.match(JSON.stringify(object.status), /Start the data plane/);
    fleet.connect(3);
    fleet.release();
    await has('Group', 'main', 'Ready=True Ready', 'Programmed=True Programmed', 'Accepted=True Accepted');
  });

  it('report what is wrong with each object', async () => {
    for (const expected of EXPECTED) await has(...expected);
    for (const [kind, name] of EXPECTED) {
      const { status, metadata } = await find(kind, name);
      assert.equal(status.observedGeneration, metadata.generation);
      for (const { type, reason, message } of status.conditions) {
        const row: ConditionRow | undefined = (CONDITIONS as Record<string, ConditionRow>)[type];
        assert.ok(row?.reasons.includes(reason), `${kind} ${name}: ${type} ${reason}`);
        assert.ok(message.length > 0);
      }
    }
  });

  it('report proxies that lag or refuse, with their messages, until they acknowledge', async () => {
    fleet.hold();
    await cluster.apply(
      'kind: Group\nmetadata: {name: late}\nspec: {allowedNamespaces: {from: All}, routes: ' +
        '[{routeSelector: {}}]}\n',
    );
    const late = await has(
      'Group',
      'late',
      'Programmed=Unknown Reconciling',
      'Ready=Unknown Reconciling',
      'Reconciling=True Reconciling',
    );
    assert.match(JSON.stringify(late.status), /Acknowledged by 0 of 3 proxies so far/);
    fleet.release();
    await has('Group', 'late', 'Ready=True Ready');
    fleet.refuse('Group model-gateway/late', 'routes[0]: too long');
    const refused = await has(
      'Group',
      'late',
      'Programmed=False Rejected',
      'Ready=False Rejected',
      'Stalled=True Rejected',
    );
    assert.match(JSON.stringify(refused.status), /Rejected by 1 of 3 proxies.*proxy-1: routes\[0\]: too long/);
    fleet.accept('Group model-gateway/late');
    await has('Group', 'late', 'Ready=True Ready');
  });

  it('name a proxy that is connected to no operator, until it is back', async () => {
    // as the endpoint controller writes it; the kubelet would make the pods ready
    const endpoint = (name: string) => ({
      addresses: ['10.0.0.1'],
      conditions: { ready: true },
      targetRef: { kind: 'Pod', namespace: 'model-gateway', name, uid: `uid-of-${name}` },
    });
    const slices = '/apis/discovery.k8s.io/v1/namespaces/model-gateway/endpointslices';
    const { status, body } = await cluster.admin.call('POST', slices, {
      metadata: { name: 'fleet-1', labels: { 'kubernetes.io/service-name': 'model-gateway-fleet' } },
      addressType: 'IPv4',
      endpoints: ['proxy-0', 'proxy-1', 'proxy-2'].map(endpoint),
      ports: [{ name: 'http', port: 8080 }],
    });
    assert.equal(status, 201, body.message);
    const before = await find('Group', 'late');
    const writes = run.writes.length;
    fleet.connect(2);
    await until(
      'the proxy is missing',
      () => run.operator.missingProxies,
      (count) => count === 1,
    );
    await cluster.admin.call(
      'PATCH',
      '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci',
      { spec: { maxConcurrency: 7 } },
      MERGE,
    );
    const edited = await has(
      'ApiKey',
      'ci',
      'Programmed=Unknown ProxyNotConnected',
      'Ready=Unknown ProxyNotConnected',
      'Reconciling=True ProxyNotConnected',
    );
    assert.match(JSON.stringify(edited.status), /Acknowledged by 2 of 3 proxies; proxy-2 is not connected/);
    const warned = await until(
      'an Event at the pod',
      async () => (await cluster.admin.call('GET', '/api/v1/namespaces/model-gateway/events')).body.items,
      (events) => events.some(({ reason }: Live) => reason === 'ProxyNotConnected'),
    );
    const warnings = warned.filter(({ reason }: Live) => reason === 'ProxyNotConnected');
    assert.deepEqual(
      warnings.map(({ involvedObject: { kind, name, uid }, type }: Live) => [kind, name, uid, type]),
      [['Pod', 'proxy-2', 'uid-of-proxy-2', 'Warning']],
    );
    assert.deepEqual(
      run.writes.slice(writes).filter((write) => write.includes('/status') && !write.includes('/ci/')),
      [],
      'what it had acknowledged is in force on it too',
    );
    assert.deepEqual((await find('Group', 'late')).status, before.status);
    fleet.connect(3);
    const back = await has('ApiKey', 'ci', 'Programmed=True Programmed', 'Ready=True Ready');
    assert.match(JSON.stringify(back.status), /Acknowledged by 3 of 3 proxies\."/);
  });

  it('report what providers refuse', async () => {
    fleet.reportRefusal({ route: 'openai', channel: 'direct', status: 401 });
    await has('ModelRoute', 'openai', 'UpstreamRefused=True CredentialRefused');
    fleet.reportRefusal({ route: 'openai', channel: 'direct', status: 404 });
    await has('ModelRoute', 'openai', 'UpstreamRefused=True ModelRefused');
    fleet.reportRefusal({ route: 'openai', channel: 'direct', status: 307 });
    await has('ModelRoute', 'openai', 'UpstreamRefused=True Redirected');
    fleet.reportRefusal({ route: 'openai', channel: 'direct', status: 200 });
    await has('ModelRoute', 'openai', 'UsageImplausible=True BeyondTheRequest');
  });

  it('report that all channels are drained, and that an object is being deleted', async () => {
    await cluster.apply(
      'kind: ModelRoute\nmetadata: {name: drained}\nspec: {models: [{name: drained, contextTokens: 1000, ' +
        'maxOutputTokens: 100}], channels: [{name: direct, protocol: OpenAI, baseUrl: "http://127.0.0.1:1/v1"}], ' +
        'drainedChannels: [direct]}\n---\n' +
        'kind: ApiKey\nmetadata: {name: held, namespace: team-a, finalizers: [example.com/hold]}\n' +
        'spec: {groupRef: {name: main}, accountRef: {name: team}}\n',
    );
    await has('ModelRoute', 'drained', 'AllChannelsDrained=True AllChannelsDrained');
    await has('ApiKey', 'held', 'Ready=True Ready');
    await cluster.remove('ApiKey', 'team-a', 'held');
    await has('ApiKey', 'held', 'Accepted=False Deleting', 'Ready=False Deleting', 'Reconciling=True Deleting');
  });

  it('stand beside CHANNELS, which counts usable ones: none that is drained or that its provider refuses', async () => {
    const channel = (name: string): string => `{name: ${name}, protocol: OpenAI, baseUrl: "http://127.0.0.1:1/v1"}`;
    await cluster.apply(
      'kind: ModelRoute\nmetadata: {name: counted}\nspec: {models: [{name: counted, contextTokens: 1000, ' +
        `maxOutputTokens: 100}], channels: [${['a', 'b', 'c'].map(channel).join(', ')}], drainedChannels: [c]}\n`,
    );
    const counts = async (channels: number): Promise<void> =>
      void (await until(
        `${channels} channels`,
        () => find('ModelRoute', 'counted'),
        ({ status }) => status?.channels === channels,
      ));
    await counts(2);
    fleet.reportRefusal({ route: 'counted', channel: 'a', status: 402 });
    await counts(1);
    fleet.reportRefusal({ route: 'counted', channel: 'b', status: 403 });
    await counts(0);
    fleet.reportRefusal({ route: 'counted', channel: 'a', status: 0, recovered: true });
    await counts(1);
  });

  it('report why a provider cannot be reached', async () => {
    for (const [connectError, reason] of [
      ['ENOTFOUND', 'HostNotFound'],
      ['ECONNREFUSED', 'ConnectionRefused'],
      ['ETIMEDOUT', 'ConnectTimedOut'],
      ['CERT_HAS_EXPIRED', 'TlsFailed'],
      ['PROXY_407', 'ForwardProxyFailed'],
      ['EHOSTUNREACH', 'ConnectFailed'],
    ] as const) {
      fleet.reportRefusal({ route: 'openai', channel: 'direct', status: 0, connectError });
      await has('ModelRoute', 'openai', `UpstreamUnreachable=True ${reason}`);
    }
  });

  it('report a model with other limits in another route, on both routes', async () => {
    await cluster.apply(
      'kind: ModelRoute\nmetadata: {name: resale, namespace: model-gateway}\nspec: {models: ' +
        '[{name: ' +
        'gpt, contextTokens: 7, maxOutputTokens: 7}], channels: [{name: c, protocol: OpenAI, baseUrl: ' +
        '"https://r.test"}]}\n',
    );
    await has('ModelRoute', 'openai', 'LimitsDiffer=True LimitsDiffer');
    await has('ModelRoute', 'resale', 'LimitsDiffer=True LimitsDiffer');
  });

  it('do not change while proxies come and go', async () => {
    const before = await find('Group', 'main');
    const writes = run.writes.length;
    fleet.connect(2);
    fleet.connect(3);
    await new Promise((resolve) => {
      setTimeout(resolve, 300);
    });
    assert.deepEqual(
      run.writes.slice(writes).filter((write) => write.includes('/status')),
      [],
    );
    assert.deepEqual((await find('Group', 'main')).status, before.status);
  });

  it('have a field manager of their own for spending, written every half minute or at a threshold', async () => {
    const low = await find('ApiKey', 'low');
    assert.deepEqual([low.status.spentUsd, low.status.remainingUsd], ['8.00', '2.00']);
    const managers = low.metadata.managedFields
      .filter(({ subresource }: { subresource?: string }) => subresource === 'status')
      .map(({ manager }: { manager: string }) => manager);
    assert.deepEqual(managers.sort(), ['modelgateway-operator.model-gateway', 'modelgateway-spending.model-gateway']);
    answers = false; // nothing that is known is taken back
    await cluster.admin.call(
      'PATCH',
      '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/low',
      { spec: { maxConcurrency: 3 } },
      MERGE,
    );
    await until(
      'the edit is observed',
      () => find('ApiKey', 'low'),
      (object) => isReady(object) && object.status.observedGeneration === object.metadata.generation,
    );
    assert.equal((await find('ApiKey', 'low')).status.spentUsd, '8.00');
  });

  it('show an edit of the limit and what is left of it in one write, also while the ledger does not answer', async () => {
    let before = '2.00';
    for (const [spec, left, ledgerAnswers] of [
      [{ quota: { limitUsd: '20' } }, '12.00', true],
      [{ quota: { limitUsd: '5' } }, '0.00', true],
      [{ quota: { limitUsd: '16' } }, '8.00', false],
      // the spending's manager owns it again, so the operator's write does not remove it
      [{ maxConcurrency: 4 }, '8.00', false],
    ] as const) {
      answers = ledgerAnswers;
      await cluster.admin.call(
        'PATCH',
        '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/low',
        { spec },
        MERGE,
      );
      const seenLeft = new Set<string>();
      await until(
        `${JSON.stringify(spec)} is observed`,
        () => find('ApiKey', 'low'),
        ({ metadata, status }) => {
          const isObserved = status.observedGeneration === metadata.generation;
          assert.equal(status.remainingUsd, isObserved ? left : before, JSON.stringify(spec));
          seenLeft.add(status.remainingUsd);
          return isObserved;
        },
      );
      assert.ok(seenLeft.has(left));
      before = left;
    }
    await until('nothing is exhausted any more', () => find('ApiKey', 'low'), isReady);
  });

  it('all occur in tests, as far as a validating server allows them', () => {
    const all = Object.entries(CONDITIONS).flatMap(([type, { reasons }]) =>
      reasons.map((reason) => `${type} ${reason}`),
    );
    seen.add('Ready Pending'); // the schema's default, which is there only until the operator answers
    assert.deepEqual(
      all.filter((each) => !seen.has(each) && !NOT_HERE.has(each)),
      [],
    );
    assert.deepEqual(
      [...seen].filter((each) => NOT_HERE.has(each)),
      [],
    );
  });
});

/** Overview, groups, routes and YAML: their content for each person; draining a channel. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'vitest';
import type { ChannelStats, ProxyStats } from '../../../../contract/activity/activity.ts';
import { LATENCY_CLASSES_MS } from '../../../../contract/activity/activity.ts';
import { channelHealth, errorRate, latencyAt } from '../../../../console/queries/channel-health.ts';
import { condition, createConsoleFixture, keyManifest, TEST_NOW_MS } from '../../../support/console-access.ts';
import { pattern } from '../../../support/pattern.ts';
import { activityOf, call, usageBook, walletStand } from '../wallet/stand.ts';
import type { WalletStand } from '../wallet/stand.ts';

const GATEWAY = 'model-gateway';

function manifest(kind: string, name: string, spec: object): unknown {
  return { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata: { namespace: GATEWAY, name }, spec };
}

const ROUTE = manifest('ModelRoute', 'openai', {
  models: [
    { name: 'sonnet', contextTokens: 200_000, maxOutputTokens: 64_000 },
    { name: 'flux', endpoints: ['Images'] },
  ],
  channels: [
    {
      name: 'one',
      protocol: 'OpenAI',
      baseUrl: 'https://one.example/v1',
      maxConcurrency: 8,
      rateLimits: { requestsPerMinute: 4000, inputTokensPerMinute: 2_000_000 },
    },
    { name: 'two', protocol: 'OpenAI', baseUrl: 'https://two.example/v1' },
  ],
});

const MANIFESTS = [
  ROUTE,
  manifest('PriceCatalog', 'all', {
    models: [
      { name: 'sonnet', vendor: 'A', quotaType: 'Token', modelRatio: '1.5', completionRatio: '5' },
      { name: 'flux', vendor: 'B', quotaType: 'Request', requestUsd: '0.04' },
    ],
  }),
  manifest('Group', 'vip', {
    displayName: 'VIP',
    priceRatio: '1.5',
    allowedNamespaces: { from: 'All' },
    routes: [{ routeSelector: {} }],
  }),
  manifest('Group', 'cheap', {
    displayName: 'Cheap',
    priceRatio: '1',
    allowedNamespaces: { from: 'All' },
    routes: [{ routeRef: { name: 'openai' }, models: ['sonnet'] }],
  }),
  manifest('Group', 'auto', {
    displayName: 'Auto',
    type: 'Automatic',
    priceRatio: '1',
    allowedNamespaces: { from: 'All' },
    members: [{ name: 'cheap' }, { name: 'vip' }],
  }),
  manifest('Group', 'secret-deal', {
    displayName: 'Secret deal',
    priceRatio: '0.1',
    allowedNamespaces: {
      from: 'Selector',
      selector: {
        matchLabels: { 'kubernetes.io/metadata.name': 'team-b' },
      },
    },
    routes: [{ routeSelector: {} }],
  }),
  keyManifest(
    'team-a',
    'spent',
    { accountRef: { name: 'main' }, quota: { limitUsd: '10.00', period: 'Never' } },
    {
      spentUsd: '9.50',
      conditions: [condition('Ready', 'True', 'Ready', '')],
    },
  ),
];

/** Durations in the class that ends with `ms`. */
const durations = (counts: Readonly<Record<number, number>>): number[] =>
  [...LATENCY_CLASSES_MS, Infinity].map((end) => counts[end] ?? 0);

const figures = (channel: string, more: Partial<ChannelStats> = {}): ChannelStats => ({
  channel,
  inFlight: 0,
  attempts: 0,
  failed: 0,
  skipped: 0,
  latency: durations({}),
  ...more,
});

function textOf(markup: string): string {
  return markup.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
}

let reports: ProxyStats[] = [];
let stand: WalletStand;

beforeEach(() => {
  reports = [];
  const uid = (name: string): string => stand.world.apiKey('team-a', name).metadata.uid ?? '';
  const records: ReturnType<typeof call>[] = [];
  stand = walletStand(usageBook(records), MANIFESTS, { ...activityOf([]), channels: async () => reports });
  records.push(call('req_1', uid('ci'), { costNanoUsd: 1_230_000_000n }));
});

describe('the models', () => {
  const see = async (query: string, token = 'ulla') => textOf((await stand.see(token, `/models${query}`)).body);

  it('are one list with prices and calculator, of the groups that a person may know', async () => {
    const text = await see('');
    assert.match(text, /2 models/);
    assert.match(text, /flux .*sonnet /);
    assert.match((await stand.see('ulla', '/models')).body, /id="calculator"/);
    assert.doesNotMatch(text, /Secret deal/);
    assert.match(await see('', 'petra'), /Secret deal/);
  });

  it('are what one key can call, at the prices of its group', async () => {
    const key = keyManifest('team-a', 'fast', {
      accountRef: { name: 'main' },
      groupRef: { name: 'vip' },
      models: ['sonnet'],
    });
    const other = walletStand(usageBook([]), [...MANIFESTS, key]);
    const { body } = await other.see('ulla', '/models?key=team-a%2Ffast');
    assert.match(textOf(body), /Callable by team-a\/fast All models .* 1 model /);
    assert.match(body, /<input type="hidden" name="key" value="team-a\/fast" ?\/?>/);
    assert.match(body, /<option value="vip" selected/);
    assert.doesNotMatch(body, /models\/flux/);
    await other.app.close();
    assert.match((await stand.see('ulla', '/models?key=team-a%2Fci')).body, /This key can call no model/);
    // a key that nobody may see narrows nothing
    assert.doesNotMatch(await see('?key=team-b%2Ftheirs'), /Callable by/);
  });
});

describe('a group that is between the platform and one tenant', () => {
  it('is named to no other, on no page, not even if it offers nothing', async () => {
    const idle = manifest('Group', 'secret-idle', {
      displayName: 'Secret idle',
      priceRatio: '0.1',
      allowedNamespaces: { from: 'Same' },
      routes: [{ routeSelector: { matchLabels: { none: 'has-it' } } }],
    });
    const other = walletStand(usageBook([call('req_1', 'x')]), [...MANIFESTS, idle], activityOf([]));
    for (const path of [
      '/usage',
      '/usage/calls',
      '/usage/refused',
      '/usage/months',
      '/find?q=secret',
      '/models',
      '/models/sonnet',
      '/models/flux',
      '/groups',
    ]) {
      assert.doesNotMatch((await other.see('ulla', path)).body, /secret-|Secret (?:deal|idle)/, path);
      assert.match((await other.see('petra', path)).body, /Secret deal/, path);
    }
    assert.match((await other.see('bob', '/find?q=secret-d')).body, /Secret deal/);
    await other.app.close();
  });
});

describe('the health of channels', () => {
  const [route] = createConsoleFixture([ROUTE]).objects.values();
  const healthOf = (told: readonly ProxyStats[], drainedChannels?: readonly string[]) => {
    assert.ok(route?.kind === 'ModelRoute');
    const spec = drainedChannels ? { ...route.spec, drainedChannels } : route.spec;
    return channelHealth([{ ...route, spec }], told);
  };

  it('adds up the reports of proxies', () => {
    const proxy = (more: Partial<ChannelStats>): ProxyStats => ({
      atMs: TEST_NOW_MS,
      channels: [figures('openai/one', more)],
    });
    const [one, two] = healthOf([
      proxy({ inFlight: 2, attempts: 9, failed: 1, latency: durations({ 500: 9 }) }),
      proxy({
        inFlight: 1,
        attempts: 11,
        latency: durations({ 500: 9, 5_000: 2 }),
        lastFailure: { atMs: TEST_NOW_MS, outcome: 'timeout' },
      }),
    ]);
    assert.ok(one?.figures && two?.figures);
    assert.deepEqual([one.figures.inFlight, one.figures.attempts, one.state.label], [3, 20, 'Some calls fail']);
    assert.equal(errorRate(one.figures), '5.0 %');
    assert.deepEqual([latencyAt(one.figures, 0.5), latencyAt(one.figures, 0.95)], ['≤ 500 ms', '≤ 5.0 s']);
    assert.equal(one.figures.lastFailure?.outcome, 'timeout');
    assert.deepEqual(
      [two.state.label, errorRate(two.figures), latencyAt(two.figures, 0.5)],
      ['No calls', undefined, undefined],
    );
  });

  it.each([
    [{ attempts: 6, failed: 3 }, 'Failing'],
    [{ attempts: 1, failed: 1 }, 'Some calls fail'],
    [{ attempts: 1 }, 'Serving'],
    [{ inFlight: 1 }, 'Serving'],
    [{}, 'No calls'],
  ] as const)('%o is %s', (told, label) => {
    const [one] = healthOf([{ atMs: TEST_NOW_MS, channels: [figures('openai/one', told)] }]);
    assert.equal(one?.state.label, label);
  });

  it('shows whether a drained channel still has calls', () => {
    const at = (inFlight: number) =>
      healthOf([{ atMs: TEST_NOW_MS, channels: [figures('openai/one', { inFlight })] }], ['one'])[0]?.state.label;
    assert.deepEqual([at(1), at(0)], ['Draining', 'Drained']);
  });

  it('is bounded if durations exceed every class', () => {
    const [one] = healthOf([
      { atMs: TEST_NOW_MS, channels: [figures('openai/one', { latency: durations({ Infinity: 1 }) })] },
    ]);
    assert.ok(one?.figures);
    assert.equal(latencyAt(one.figures, 0.5), '> 2 min 0 s');
  });
});

describe('routes', () => {
  const drain = (channel: string, how: 'yes' | 'no', generation?: number) => {
    const route = stand.world.objects.get(`ModelRoute ${GATEWAY}/openai`);
    return stand.post(
      'petra',
      '/routes/openai/drain',
      {
        channel,
        drain: how,
        uid: route?.metadata.uid ?? '',
        generation: String(generation ?? route?.metadata.generation),
      },
      '/routes',
    );
  };
  const drained = (): unknown => {
    const route = stand.world.objects.get(`ModelRoute ${GATEWAY}/openai`);
    assert.ok(route?.kind === 'ModelRoute');
    return route.spec.drainedChannels;
  };

  it('show channels with their metrics to the platform team only', async () => {
    reports = [
      {
        atMs: TEST_NOW_MS,
        channels: [
          figures('openai/one', {
            inFlight: 3,
            attempts: 10,
            failed: 6,
            latency: durations({ 1_000: 10 }),
            lastFailure: { atMs: TEST_NOW_MS, outcome: 'status_529' },
          }),
        ],
      },
    ];
    const text = textOf((await stand.see('petra', '/routes')).body);
    assert.match(
      text,
      pattern(
        /one one\.example · OpenAI · priority 0 At most 4,000 requests, 2,000,000 input tokens per minute /,
        /Failing 3 of 8 10 60 % ≤ 1\.0 s ≤ 1\.0 s HTTP 529/,
      ),
    );
    assert.match(text, /from 1 proxy that had calls/);
    const theirs = textOf((await stand.see('alice', '/routes')).body);
    assert.match(theirs, /Routes are the platform team's/);
    assert.doesNotMatch(theirs, /one\.example/);
  });

  it('report missing data', async () => {
    stand = walletStand(usageBook([]), MANIFESTS);
    assert.match(textOf((await stand.see('petra', '/routes')).body), /has not been told where recent calls are kept/);
    stand = walletStand(usageBook([]), MANIFESTS, {
      ...activityOf([]),
      channels: () => Promise.reject(new Error('the store is down')),
    });
    assert.match(textOf((await stand.see('petra', '/routes')).body), /does not answer at the moment/);
  });

  it('drain a channel, and use it again', async () => {
    assert.equal((await drain('one', 'yes')).location, '/routes?done=drained&channel=openai%2Fone');
    assert.deepEqual(drained(), ['one']);
    // the last channel in use gets a warning
    assert.match((await stand.see('petra', '/routes')).body, /No other channel of this route takes calls/);
    await drain('two', 'yes');
    assert.deepEqual(drained(), ['one', 'two']);
    await drain('one', 'no');
    await drain('two', 'no');
    assert.equal(drained(), undefined);
  });

  it('say nothing of what an address claims and nobody has done', async () => {
    const plain = textOf((await stand.see('petra', '/routes')).body);
    for (const done of ['constructor', 'toString', '__proto__', 'valueOf']) {
      const { status, body } = await stand.see('petra', `/routes?done=${done}&channel=openai/one`);
      assert.equal(status, 200, done);
      assert.equal(textOf(body), plain, done);
    }
  });

  it('refuse changes by others, of unknown channels, and after a concurrent change', async () => {
    const theirs = await stand.post('alice', '/routes/openai/drain', { channel: 'one', drain: 'yes' }, '/routes');
    assert.equal(theirs.status, 403);
    assert.equal((await drain('gone', 'yes')).status, 404);
    assert.equal((await drain('one', 'yes', 99)).status, 409);
    assert.equal(drained(), undefined);
  });
});

describe('a check of a route', () => {
  const checked: string[] = [];
  const withDoctor = () =>
    walletStand(usageBook([]), MANIFESTS, activityOf([]), {
      costs: (route) => `Asks 2 times for ${route}`,
      async check(route) {
        checked.push(route);
        return [
          { channel: 'openai/one', model: 'sonnet', asked: 'Call', problem: undefined, message: 'serves' },
          { channel: 'openai/two', model: 'sonnet', asked: 'Count', problem: 'Credential', message: 'a <Secret>' },
          { channel: 'openai/three', model: 'sonnet', asked: 'Count', problem: 'RateLimited', message: 'limited' },
        ];
      },
    });
  beforeEach(() => {
    checked.length = 0;
  });

  it('shows its cost first, and then the problems of each channel', async () => {
    stand = withDoctor();
    assert.match(textOf((await stand.see('petra', '/routes')).body), /Check the channels .*Asks 2 times for openai/);
    const { body } = await stand.post('petra', '/routes/openai/check', {}, '/routes');
    assert.match(textOf(body), /openai\/one Serves sonnet one token serves .*openai\/two Credential sonnet a count/);
    assert.match(body, /dot bad">Credential.*a &lt;Secret&gt;[^]*dot warn">Rate limited/);
    assert.deepEqual(checked, ['openai']);
  });

  it('is for people who can change the route', async () => {
    stand = withDoctor();
    assert.equal((await stand.post('alice', '/routes/openai/check', {}, '/')).status, 403);
    assert.equal((await stand.post('petra', '/routes/gone/check', {}, '/routes')).status, 404);
    assert.deepEqual(checked, []);
  });

  it('is shown as a command if the console has no credentials', async () => {
    const text = textOf((await stand.see('petra', '/routes')).body);
    assert.match(text, /kubectl exec --namespace model-gateway deploy\/model-gateway -- .* doctor --only openai/);
    assert.equal((await stand.post('petra', '/routes/openai/check', {}, '/routes')).status, 404);
  });
});

describe('groups', () => {
  it('list their models, and the order of an automatic group', async () => {
    const text = textOf((await stand.see('alice', '/groups')).body);
    assert.match(text, /Automatic · 2 models/);
    assert.match(text, /Cheap ratio 1 VIP ratio 1\.5/);
    assert.match(text, /sonnet \$3\.00–\$4\.50 input, \$15\.00–\$22\.50 output Cheap, then VIP/);
    assert.match(text, /flux \$0\.06 per image VIP/);
  });

  it("are hidden if they allow none of a person's namespaces", async () => {
    assert.doesNotMatch((await stand.see('ulla', '/groups')).body, /Secret deal/);
    assert.match((await stand.see('petra', '/groups')).body, /Secret deal/);
  });
});

describe('YAML', () => {
  it('has the spec without status, for people who can read the object', async () => {
    const { body } = await stand.see('alice', '/keys/team-a/spent/yaml');
    assert.match(body, /kind: ApiKey\nmetadata:\n {2}name: spent\n {2}namespace: team-a\nspec:/);
    assert.doesNotMatch(body, /spentUsd|uid:/);
    assert.match((await stand.see('petra', '/routes/openai/yaml')).body, /kind: ModelRoute/);
    assert.match((await stand.see('petra', '/groups/auto/yaml')).body, /members:\n {2}- name: cheap/);
    assert.equal((await stand.see('alice', '/routes/openai/yaml')).status, 403);
    assert.equal((await stand.see('alice', '/keys/team-b/theirs/yaml')).status, 403);
    assert.equal((await stand.see('alice', '/keys/team-a/nobody/yaml')).status, 404);
  });
});

describe('the overview', () => {
  it('has balances, spending and keys that need attention', async () => {
    const text = textOf((await stand.see('alice', '/')).body);
    assert.match(text, /\$1\.23/);
    assert.match(text, /main team-a \S+ \$76\.54/);
    assert.match(text, /spent team-a Low \$0\.50/);
    assert.doesNotMatch(text, /team-b|Failures by channel/);
  });

  it('has the channels that fail, for the platform team', async () => {
    assert.match(textOf((await stand.see('petra', '/')).body), /No channel has reported a failed call/);
    reports = [{ atMs: TEST_NOW_MS, channels: [figures('openai/two', { attempts: 10, failed: 1 })] }];
    assert.match(textOf((await stand.see('petra', '/')).body), /openai\/two Some calls fail 10 %/);
  });

  it('is shown to people without objects', async () => {
    const { status, body } = await stand.see('nobody', '/');
    assert.equal(status, 200);
    assert.match(textOf(body), /You have no key yet/);
  });

  it('is shown while the ledger is unavailable', async () => {
    stand = walletStand(undefined);
    assert.match(textOf((await stand.see('alice', '/')).body), /has not been told where the ledger is/);
  });
});

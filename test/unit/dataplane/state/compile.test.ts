import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { compilePrice } from '#price/sheet.ts';
import {
  Allowance,
  ClientDisconnect,
  Endpoint,
  Input,
  Period,
  Protocol,
  QuotaType,
  WhenShort,
} from '#snapshot/snapshot.gen.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { compile } from '../../../../dataplane/state/compile.ts';
import type { Candidate, Credential, Offer, State } from '../../../../dataplane/state/state.ts';
import {
  accountOf,
  automaticGroup,
  catalogOf,
  channelOf,
  completeSnapshot,
  directGroup,
  hashOf,
  keyOf,
  modelOf,
  priceOf,
  routeEntry,
  routeOf,
  snapshotOf,
} from '../../contract/snapshot/objects.ts';

function offerOf(state: State, group: string, model: string): Offer {
  const offer = state.groups.get(group)?.offers.get(model);
  assert.ok(offer, `${group} does not offer ${model}`);
  return offer;
}

function candidatesOf(state: State, group: string, model: string): readonly Candidate[] {
  return offerOf(state, group, model).tiers.flat();
}

function credentialOf(state: State, n: number): Credential {
  const credential = state.credentials.get(hashOf(n));
  assert.ok(credential);
  return credential;
}

/** "group:route/channel" by tier. */
function tiersOf(state: State, group: string, model: string): string[][] {
  return offerOf(state, group, model).tiers.map((tier) =>
    tier.map((candidate) => `${candidate.group}:${candidate.target.id}`),
  );
}

function priceAt(ratioE18: bigint) {
  const { quotaType: _quotaType, name: _name, vendor: _vendor, ...price } = priceOf('m');
  return compilePrice(
    { ...price, quotaType: 'Token', ratioBaseUsdE9: 2_000_000_000n, cacheWrite1hRatioE9: 2_000_000_000n },
    ratioE18,
  );
}

test('a complete snapshot compiles to what a call needs', () => {
  const state = compile(completeSnapshot());
  const credential = state.credentials.get(hashOf(1));
  assert.deepEqual(credential, {
    notAfterMs: undefined,
    key: {
      uid: 'uid-ci-bot',
      namespace: 'team-a',
      name: 'ci-bot',
      prefix: 'sk-abcd',
      enabled: true,
      refusal: '',
      expirationMs: 1_900_000_000_000,
      group: 'auto-a',
      account: 'team-a/team-a',
      quota: {
        scope: 'Key',
        id: 'key/uid-ci-bot',
        measure: 'UsdNano',
        amountNanoUsd: 25_000_000_000n,
        window: 'Total',
        generation: 1n,
      },
      period: 'Never',
      whenShort: 'Lower',
      minOutputTokens: 16,
      usageLabels: undefined,
      models: new Set(['m']),
      limits: [
        { scope: 'Key', id: 'key/uid-ci-bot', measure: 'Concurrency', amount: 8 },
        { scope: 'Key', id: 'key/uid-ci-bot', measure: 'Requests', amount: 60 },
        { scope: 'Key', id: 'key/uid-ci-bot', measure: 'InputTokens', amount: 100_000 },
        { scope: 'Key', id: 'key/uid-ci-bot', measure: 'OutputTokens', amount: 20_000 },
      ],
    },
  });
  assert.deepEqual(state.accounts.get('team-a/team-a'), {
    id: 'team-a/team-a',
    credit: {
      scope: 'Account',
      id: 'account/team-a/team-a',
      measure: 'UsdNano',
      amountNanoUsd: 1_000_000_000n,
      window: 'Total',
      generation: 1n,
    },
    spending: [],
    limits: [{ scope: 'Account', id: 'account/team-a/team-a', measure: 'Requests', amount: 600 }],
  });

  const offer = offerOf(state, 'auto-a', 'm');
  assert.equal(offer.vendor, 'Vendor');
  assert.equal(offer.catalog, 'model-gateway/anthropic@1');
  assert.equal(offer.quotaType, 'Token');
  assert.deepEqual(offer.endpoints, new Set(['Chat']));
  const candidate = offer.tiers[0]?.[0];
  assert.ok(candidate);
  assert.equal(candidate.upstreamModel, 'm-2026');
  assert.equal(candidate.retryAttempts, 2);
  assert.equal(candidate.clientDisconnect, 'Cancel');
  assert.deepEqual(candidate.limits, [
    { scope: 'Group', id: 'group/auto-a/anthropic/direct', measure: 'Concurrency', amount: 40 },
    { scope: 'Group', id: 'group/auto-a/anthropic/direct', measure: 'InputTokens', amount: 1 },
    { scope: 'Channel', id: 'channel/anthropic/direct', measure: 'Concurrency', amount: 200 },
    { scope: 'Channel', id: 'channel/anthropic/direct', measure: 'OutputTokens', amount: 4_000_000_000 },
  ]);
  assert.equal(candidate.target, state.targets.get('anthropic/direct'));
  assert.equal(candidate.target.protocol, 'Anthropic');
  assert.equal(candidate.target.credential?.header, 'x-api-key');
  assert.equal(candidate.target.credential.value.reveal(), 'secret-of-direct');
  assert.deepEqual(candidate.target.defaultHeaders, { 'anthropic-version': '2023-06-01' });
  assert.deepEqual(tiersOf(state, 'smart', 'm'), [['auto-a:anthropic/direct']]);
});

test('enum values of the snapshot become those of the state', () => {
  const state = compile(
    snapshotOf({
      keys: [
        keyOf('a', {
          period: Period.DAILY,
          whenShort: WhenShort.REFUSE,
          enabled: false,
          refusal: 'not admitted',
          hashes: [{ sha256: hashOf(1) }, { sha256: hashOf(2), notAfterMs: 5n }],
        }),
        keyOf('b', { period: Period.MONTHLY, hashes: [{ sha256: hashOf(3) }] }),
      ],
      groups: [directGroup('g', [routeEntry('r')])],
      routes: [
        routeOf(
          'r',
          [
            modelOf('m', {
              endpoints: [Endpoint.CHAT, Endpoint.EMBEDDINGS, Endpoint.IMAGES, Endpoint.VIDEOS],
              inputs: [Input.TEXT, Input.IMAGE],
              outputLimitField: 'max_tokens',
              allow: [
                Allowance.SERVER_TOOLS,
                Allowance.SERVICE_TIERS,
                Allowance.FILE_REFERENCES,
                Allowance.PROMPT_TEMPLATES,
              ],
            }),
          ],
          [channelOf('c', { apiKey: undefined })],
          { clientDisconnect: ClientDisconnect.DRAIN, retryAttempts: 0 },
        ),
      ],
    }),
  );
  const [a, old, b] = [credentialOf(state, 1), credentialOf(state, 2), credentialOf(state, 3)];
  assert.equal(a.key, old.key);
  assert.equal(old.notAfterMs, 5);
  assert.deepEqual(
    [a.key.period, a.key.whenShort, a.key.enabled, a.key.refusal, a.key.quota.amountNanoUsd, a.key.limits],
    ['Daily', 'Refuse', false, 'not admitted', null, []],
  );
  assert.equal(b.key.period, 'Monthly');
  const [candidate] = candidatesOf(state, 'g', 'm');
  assert.ok(candidate);
  assert.deepEqual(candidate.model.endpoints, new Set(['Chat', 'Embeddings', 'Images', 'Videos']));
  assert.deepEqual(
    candidate.model.allow,
    new Set(['ServerTools', 'ServiceTiers', 'FileReferences', 'PromptTemplates']),
  );
  assert.deepEqual(
    [
      candidate.model.acceptsImages,
      candidate.model.outputLimitField,
      candidate.clientDisconnect,
      candidate.retryAttempts,
    ],
    [true, 'max_tokens', 'Drain', 0],
  );
  assert.equal(candidate.target.credential, undefined);
  assert.equal(candidate.upstreamModel, 'm');
  assert.deepEqual(candidate.limits, []);
});

test('tiers are in the order of priority, over all routes that offer the model', () => {
  const state = compile(
    snapshotOf({
      groups: [directGroup('g', [routeEntry('r1'), routeEntry('r2')])],
      routes: [
        routeOf(
          'r1',
          [modelOf('m'), modelOf('only-1')],
          [channelOf('late', { priority: 5 }), channelOf('first'), channelOf('middle', { priority: 1 })],
        ),
        routeOf(
          'r2',
          [modelOf('m', { endpoints: [Endpoint.EMBEDDINGS] })],
          [channelOf('too'), channelOf('last', { priority: 9 })],
        ),
      ],
    }),
  );
  assert.deepEqual(tiersOf(state, 'g', 'm'), [
    ['g:r1/first', 'g:r2/too'],
    ['g:r1/middle'],
    ['g:r1/late'],
    ['g:r2/last'],
  ]);
  assert.deepEqual(tiersOf(state, 'g', 'only-1'), [['g:r1/first'], ['g:r1/middle'], ['g:r1/late']]);
  assert.deepEqual(offerOf(state, 'g', 'm').endpoints, new Set(['Chat', 'Embeddings']));
});

test('filters of models and channels merge for one route, and the strictest threshold applies', () => {
  const state = compile(
    snapshotOf({
      groups: [
        directGroup('models', [routeEntry('r', { models: { names: ['a', 'unknown'] } })]),
        directGroup('channels', [routeEntry('r', { channels: { names: ['y', 'unknown'] } })]),
        directGroup('both', [
          routeEntry('r', { models: { names: ['a'] }, maxConcurrency: 9 }),
          routeEntry('r', { channels: { names: ['y'] }, maxConcurrency: 4 }),
        ]),
        directGroup('nothing', [routeEntry('gone'), routeEntry('r', { models: { names: ['unknown'] } })]),
      ],
      routes: [routeOf('r', [modelOf('a'), modelOf('b')], [channelOf('x'), channelOf('y')])],
    }),
  );
  assert.deepEqual([...(state.groups.get('models')?.offers.keys() ?? [])], ['a']);
  assert.deepEqual(tiersOf(state, 'channels', 'b'), [['channels:r/y']]);
  assert.deepEqual(tiersOf(state, 'both', 'a'), [['both:r/x', 'both:r/y']]);
  assert.deepEqual(tiersOf(state, 'both', 'b'), [['both:r/y']]);
  const limits = offerOf(state, 'both', 'a').tiers[0]?.map((each) => each.limits.map(({ amount }) => amount));
  assert.deepEqual(limits, [[9], [4]]);
  assert.deepEqual(offerOf(state, 'both', 'b').tiers[0]?.[0]?.limits, [
    { scope: 'Group', id: 'group/both/r/y', measure: 'Concurrency', amount: 4 },
  ]);
  assert.equal(state.groups.get('nothing')?.offers.size, 0);
});

test("an Automatic group has its members' tiers in order, at member ratio times its own", () => {
  const snapshot = (ownRatioE9: bigint): Snapshot =>
    snapshotOf({
      groups: [
        automaticGroup('smart', ['vip', 'gone', 'basic', 'other-automatic'], { priceRatioE9: ownRatioE9 }),
        automaticGroup('other-automatic', ['vip']),
        directGroup('vip', [routeEntry('r', { channels: { names: ['v', 'w'] } })], { priceRatioE9: 1_500_000_000n }),
        directGroup('basic', [routeEntry('r', { channels: { names: ['v', 'b'] } })], { priceRatioE9: 500_000_000n }),
      ],
      routes: [
        routeOf(
          'r',
          [modelOf('m'), modelOf('unpriced')],
          [channelOf('w', { priority: 1 }), channelOf('v'), channelOf('b')],
        ),
      ],
      catalogs: [catalogOf('c', [priceOf('m', { cacheWrite1hRatioE9: 2_000_000_000n })])],
    });
  for (const [ownRatioE9, vipE18, basicE18] of [
    [1_000_000_000n, 1_500_000_000_000_000_000n, 500_000_000_000_000_000n],
    [800_000_001n, 1_200_000_001_500_000_000n, 400_000_000_500_000_000n],
  ] as const) {
    const state = compile(snapshot(ownRatioE9));
    assert.deepEqual(tiersOf(state, 'smart', 'm'), [['vip:r/v'], ['vip:r/w'], ['basic:r/v', 'basic:r/b']]);
    const prices = offerOf(state, 'smart', 'm').tiers.map((tier) => tier[0]?.price);
    assert.deepEqual(prices, [priceAt(vipE18), priceAt(vipE18), priceAt(basicE18)]);
    assert.deepEqual(offerOf(state, 'vip', 'm').tiers[0]?.[0]?.price, priceAt(1_500_000_000_000_000_000n));
    assert.equal(offerOf(state, 'smart', 'unpriced').tiers[0]?.[0]?.price, undefined);
  }
});

test('a model without a price is offered without one, and no group is listed for it', () => {
  const state = compile(
    snapshotOf({
      groups: [directGroup('g', [routeEntry('r')])],
      routes: [routeOf('r', [modelOf('m')], [channelOf('c')])],
      catalogs: [catalogOf('c', [priceOf('no-route')])],
    }),
  );
  const { tiers, catalog, quotaType, vendor } = offerOf(state, 'g', 'm');
  assert.deepEqual([tiers[0]?.[0]?.price, catalog, quotaType, vendor], [undefined, undefined, undefined, '']);
  assert.deepEqual(state.pricing.groups, []);
  assert.deepEqual(
    state.pricing.rows.map(({ modelName, enabledGroups }) => [modelName, enabledGroups]),
    [['no-route', []]],
  );
});

test('the price page has rows by model, groups by display name, and exact numbers', () => {
  const state = compile(
    snapshotOf({
      groups: [
        directGroup('z', [routeEntry('r')], { displayName: 'Alpha', priceRatioE9: 1_200_000_000n }),
        automaticGroup('a', ['z'], { displayName: 'Zeta' }),
        directGroup('empty', [], { displayName: 'Empty' }),
      ],
      routes: [routeOf('r', [modelOf('m'), modelOf('flux', { endpoints: [Endpoint.IMAGES] })], [channelOf('c')])],
      catalogs: [
        catalogOf('one', [priceOf('m', { cacheWriteRatioE9: 1_250_000_001n })]),
        catalogOf(
          'two',
          [
            priceOf('flux', { quotaType: QuotaType.REQUEST, requestNanoUsd: 40_000_000n, vendor: 'BFL' }),
            priceOf('b', { cacheWrite1hRatioE9: 3n }),
          ],
          { ratioBaseUsdE9: 1n },
        ),
      ],
    }),
  );
  assert.deepEqual(state.pricing.groups, [
    { name: 'z', displayName: 'Alpha', priceRatioE9: 1_200_000_000n, restricted: false, members: undefined },
    {
      name: 'a',
      displayName: 'Zeta',
      priceRatioE9: 1_000_000_000n,
      restricted: false,
      members: [{ name: 'z', displayName: 'Alpha', priceRatioE18: 1_200_000_000_000_000_000n }],
    },
  ]);
  assert.deepEqual(
    state.pricing.rows.map((row) => [
      row.modelName,
      row.vendor,
      row.quotaType,
      row.ratioBaseE9,
      row.cacheWrite1hRatioE10,
      row.requestNanoUsd,
      row.enabledGroups,
    ]),
    [
      ['b', 'Vendor', 'Token', 1n, 30n, 0n, []],
      ['flux', 'BFL', 'Request', 1n, 20_000_000_000n, 40_000_000n, ['Alpha', 'Zeta']],
      ['m', 'Vendor', 'Token', 2_000_000_000n, 20_000_000_016n, 0n, ['Alpha', 'Zeta']],
    ],
  );
});

test('an unchanged channel keeps its target, a changed one gets a new one', () => {
  const routes = (changes: Parameters<typeof channelOf>[1]) =>
    snapshotOf({ routes: [routeOf('r', [modelOf('m')], [channelOf('same'), channelOf('other', changes)])] });
  const before = compile(routes({}));
  for (const changes of [
    { apiKey: { value: 'rotated' } },
    { apiKey: undefined },
    { baseUrl: 'https://elsewhere/v1' },
    { proxyUrl: 'http://egress:3128' },
    { protocol: Protocol.ANTHROPIC },
    { timeouts: { connectMs: 5000, firstByteMs: 120_000, wholeMs: 600_000, idleMs: 1 } },
  ]) {
    const after = compile(routes(changes), before);
    assert.equal(after.targets.get('r/same'), before.targets.get('r/same'));
    assert.notEqual(after.targets.get('r/other'), before.targets.get('r/other'), JSON.stringify(changes));
  }
  const untouched = compile(
    routes({ weight: 5, priority: 3, maxConcurrency: 9, models: [{ name: 'm', upstreamName: 'n' }] }),
    before,
  );
  assert.equal(untouched.targets.get('r/other'), before.targets.get('r/other'));
  assert.deepEqual([...compile(snapshotOf(), before).targets], []);
});

test('a group offers exactly what its entries allow, for any routes and groups', () => {
  const names = fc.subarray(['a', 'b', 'c', 'd'], { minLength: 1 });
  const filter = fc.option(names, { nil: undefined });
  const entry = fc.record({ route: fc.constantFrom('r0', 'r1', 'r2', 'gone'), models: filter, channels: filter });
  const route = fc.record({
    models: fc.subarray(['a', 'b', 'c', 'd']),
    channels: fc.subarray(['a', 'b', 'c', 'd']),
    priorities: fc.array(fc.nat({ max: 2 }), { minLength: 4, maxLength: 4 }),
  });
  fc.assert(
    fc.property(fc.array(route, { maxLength: 3 }), fc.array(entry, { maxLength: 4 }), (routes, entries) => {
      const snapshot = snapshotOf({
        accounts: [accountOf('x')],
        groups: [
          directGroup(
            'g',
            entries.map(({ route, models, channels }) =>
              routeEntry(route, { models: models && { names: models }, channels: channels && { names: channels } }),
            ),
          ),
        ],
        routes: routes.map(({ models, channels, priorities }, index) =>
          routeOf(
            `r${index}`,
            models.map((name) => modelOf(name)),
            channels.map((name, at) => channelOf(name, { priority: priorities[at] ?? 0 })),
          ),
        ),
      });
      const expected = new Set(
        entries.flatMap(({ route, models, channels }) => {
          const source = routes[Number(route.slice(1))] ?? { models: [], channels: [] };
          const used = source.channels.filter((channel) => !channels || channels.includes(channel));
          return source.models
            .filter((model) => !models || models.includes(model))
            .flatMap((model) => used.map((channel) => `${model}@${route}/${channel}`));
        }),
      );
      const offers = compile(snapshot).groups.get('g')?.offers ?? new Map<string, Offer>();
      const actual = [...offers.values()].flatMap(({ model, tiers }) =>
        tiers.flat().map(({ target }) => `${model}@${target.id}`),
      );
      assert.deepEqual(actual.sort(), [...expected].sort());
      for (const { tiers } of offers.values()) {
        const priorities = tiers.map((tier) => new Set(tier.map(({ priority }) => priority)));
        assert.ok(priorities.every(({ size }) => size === 1));
        const order = priorities.flatMap((tier) => [...tier]);
        assert.deepEqual(
          order,
          [...new Set(order)].sort((a, b) => a - b),
        );
      }
    }),
  );
});

test('limits on money have their windows, and the credit beside limits is the true one', () => {
  const quota = { nanoUsd: 7n, period: Period.WEEKLY, timeZone: 'Europe/Berlin' };
  const limits = [
    { nanoUsd: 5n, period: Period.DAILY, timeZone: 'UTC' },
    { nanoUsd: 6n, period: Period.NEVER, timeZone: '' },
  ];
  const account = { ...accountOf('team-a'), creditNanoUsd: -1n, limitedCreditNanoUsd: 9n, limits };
  const keys = [keyOf('ci', { limitNanoUsd: 0n, quota })];
  const state = compile(snapshotOf({ keys, accounts: [account] }));
  const [credential] = state.credentials.values();
  assert.equal(credential?.key.period, 'Weekly');
  const { amountNanoUsd, window, timeZone } = credential.key.quota;
  assert.deepEqual(
    { amountNanoUsd, window, timeZone },
    { amountNanoUsd: 7n, window: 'Week', timeZone: 'Europe/Berlin' },
  );
  const { credit, spending = [] } = state.accounts.get('team-a/team-a') ?? {};
  assert.equal(credit?.amountNanoUsd, 9n);
  assert.deepEqual(
    spending.map((limit) => [limit.amountNanoUsd, limit.window, limit.timeZone, limit.isLimit]),
    [
      [5n, 'Day', undefined, true],
      [6n, 'Total', undefined, true],
    ],
  );
});

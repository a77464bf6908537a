/** Prices in the console: the same as a proxy shows, from the same objects. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { QuotaType } from '#snapshot/snapshot.gen.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { offerDollars } from '#web/pricing/dollars.ts';
import { pricingJson } from '#web/pricing/json.ts';
import { compile } from '../../../../dataplane/state/compile.ts';
import { buildResources } from '../../../../contract/objects/resources.ts';
import { createConsoleFixture } from '../../../support/console-access.ts';
import { REALISTIC, sampleSnapshot } from '../../dataplane/server/pricing/sample.ts';
import { walletStand } from '../wallet/stand.ts';
import { compilePriceList, createPriceLists } from '../../../../console/queries/price-lists.ts';
import { TRANSLATOR } from '../../../../operator/translate/translator.ts';

function manifest(kind: string, name: string, spec: object): unknown {
  return { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata: { namespace: 'model-gateway', name }, spec };
}

const PRICES = [
  manifest('PriceCatalog', 'all', {
    models: [
      {
        name: 'claude-sonnet-4-5',
        vendor: 'Anthropic',
        quotaType: 'Token',
        modelRatio: '1.5',
        completionRatio: '5',
        cacheRatio: '0.1',
      },
      { name: 'flux', vendor: '<b>BFL</b>', quotaType: 'Request', requestUsd: '0.04' },
    ],
  }),
  manifest('ModelRoute', 'all', {
    models: [
      {
        name: 'claude-sonnet-4-5',
        contextTokens: 200_000,
        maxOutputTokens: 64_000,
      },
      { name: 'flux', endpoints: ['Images'] },
    ],
    channels: [{ name: 'direct', protocol: 'OpenAI', baseUrl: 'http://provider.example/v1' }],
  }),
  manifest('Group', 'vip', {
    displayName: 'VIP',
    priceRatio: '1.5',
    allowedNamespaces: { from: 'All' },
    routes: [{ routeSelector: {} }],
  }),
];

/** Everything that the page shows of a list. */
function shown({ pricing, groups }: ReturnType<typeof compilePriceList>): unknown {
  return {
    json: pricingJson(pricing),
    offers: [...groups.values()].map(({ name, offers }) => [
      name,
      [...offers]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([model, offer]) => [
          model,
          offerDollars(offer),
          [...new Set(offer.tiers.flat().map(({ group }) => group))],
        ]),
    ]),
  };
}

/** Every second model costs something else on the channels of every route. */
function withChannelPrices(catalog: Snapshot['catalogs'][number], { routes }: Snapshot): Snapshot['catalogs'][number] {
  const ids = routes.flatMap(({ name, channels }) => channels.map((channel) => `${name}/${channel.name}`));
  const [first, ...others] = ids;
  return {
    ...catalog,
    models: catalog.models.map((price, index) =>
      index % 2 === 1 || first === undefined
        ? price
        : {
            ...price,
            channelPrices: others.map((name) => ({ name, multiplierE9: 1_500_000_000n })),
            channelRates:
              price.quotaType === QuotaType.REQUEST
                ? []
                : [{ channel: first, usdPerMillion: { input: 7_000_000_000n }, contextTiers: [] }],
          },
    ),
  };
}

describe("the operator's price list", () => {
  test("is the proxies'", () => {
    const snapshot = sampleSnapshot(REALISTIC);
    assert.deepEqual(shown(compilePriceList(snapshot)), shown(compile(snapshot)));
  });

  test("is the proxies', however groups, routes and catalogs are made", () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const ratio = fc.integer({ min: 0, max: 40 }).map((tenths) => (tenths / 10).toFixed(1));
    const some = fc.option(fc.array(name, { maxLength: 3 }), { nil: undefined });
    fc.assert(
      fc.property(
        fc.array(fc.record({ models: some, channels: some, priceRatio: ratio }), { minLength: 1, maxLength: 3 }),
        fc.array(ratio, { minLength: 1, maxLength: 2 }),
        fc.uniqueArray(name),
        (direct, automatic, priced) => {
          const base = sampleSnapshot({
            tokens: priced.map((model) => [model, 'v', '1.5', '5', '0.1'] as const),
            routed: ['a', 'b', 'c'],
            groups: [
              ...direct.map(({ models, priceRatio }, index) => ({
                name: `g${index}`,
                priceRatio,
                ...(models ? { models } : {}),
              })),
              ...automatic.map((priceRatio, index) => ({
                name: `auto${index}`,
                priceRatio,
                members: ['g0', 'gone', 'g1', 'auto0'],
              })),
            ],
          });
          const snapshot: Snapshot = {
            ...base,
            catalogs: [
              ...base.catalogs.map((catalog) => withChannelPrices(catalog, base)),
              ...base.catalogs.map((catalog) => ({ ...catalog, name: 'later', ratioBaseUsdE9: 9n })),
            ],
            groups: base.groups.map((group, index) =>
              group.access?.$case === 'direct' && direct[index]?.channels
                ? {
                    ...group,
                    access: {
                      ...group.access,
                      value: {
                        routes: group.access.value.routes.map((route) => ({
                          ...route,
                          channels: { names: direct[index]?.channels ?? [] },
                        })),
                      },
                    },
                  }
                : group,
            ),
          };
          assert.deepEqual(shown(compilePriceList(snapshot)), shown(compile(snapshot)));
        },
      ),
      { numRuns: 100 },
    );
  });

  test('is worked out again only when something has changed that prices come from', () => {
    const resources = buildResources({
      objects: createConsoleFixture(PRICES).objects.values(),
      secrets: [],
      namespaces: new Map(),
    });
    const lists = createPriceLists({ gatewayNamespace: 'model-gateway', translator: TRANSLATOR });
    const first = lists(resources, 0);
    assert.deepEqual(
      first.pricing.rows.map(({ modelName }) => modelName),
      ['claude-sonnet-4-5', 'flux'],
    );
    assert.equal(lists({ ...resources, apiKeys: new Map() }, 0), first);
    assert.notEqual(lists({ ...resources, priceCatalogs: [] }, 0), first);
    assert.deepEqual(
      createPriceLists({ gatewayNamespace: 'other', translator: TRANSLATOR })(resources, 0).pricing.rows,
      [],
    );
  });
});

describe('/models', () => {
  test('is the price list within the console, for everybody who is signed in', async () => {
    const stand = walletStand(undefined, PRICES);
    for (const person of ['alice', 'nobody']) {
      const { status, body } = await stand.see(
        person,
        '/models?calc=claude-sonnet-4-5&at=vip&input=1000000&cached=0&output=0',
      );
      assert.equal(status, 200);
      assert.match(body, /2 models/);
      assert.match(body, /data-sum>\$4\.50</);
      assert.match(body, /href="https:\/\/models\.example\.com\/pricing"/);
      assert.match(body, /aria-current="page">Models</);
      assert.match(body, /&lt;b&gt;BFL&lt;\/b&gt;/);
      assert.doesNotMatch(body, /<b>BFL|style=|onclick/);
    }
    const part = (await stand.see('alice', '/models?calc=flux&at=vip&n=2&part=calculation')).body;
    assert.match(part, /^<div id="calculation"/);
    assert.match(part, /data-sum>\$0\.12</);
    await stand.app.close();
  });

  test('says what to do while nothing is priced', async () => {
    const stand = walletStand(undefined);
    assert.match((await stand.see('alice', '/models')).body, /No models are priced yet/);
    await stand.app.close();
  });
});

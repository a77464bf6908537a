/** What channels cost by the PriceCatalogs that they refer to, and what is refused of a channel's own price. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { Translation } from '../../../../operator/translate/assemble.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, platformManifest, resourcesOf } from '../support.ts';

function refusal(model: string): string | undefined {
  const resources = resourcesOf(
    'apiVersion: modelgateway.dev/v1alpha1\nkind: PriceCatalog\nmetadata: {name: c}\n' +
      `spec: {models: [{name: m, vendor: V, ${model}}]}\n`,
  );
  const { statuses } = translate(resources, { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
  return statuses[0]?.refused?.message;
}

const TOKEN = 'quotaType: Token, usdPerMillion: {input: "1", cacheRead: "0.1"}';

describe("a channel's own price", () => {
  it('is accepted', () => {
    for (const model of [
      `${TOKEN}, channels: [{channel: r/a, usdPerMillion: {input: "2", cacheRead: "1"}}]`,
      'quotaType: Request, requestUsd: "1", channels: [{channel: r/a, requestUsd: "2"}]',
    ])
      assert.equal(refusal(model), undefined);
  });

  it('is reported for a channel that no route has, and accepted all the same', () => {
    const text = platformManifest().replace(
      'modelRatio: "1"',
      'modelRatio: "1", channels: [{channel: openai/direct, ' +
        'multiplier: "2"}, {channel: openai/drect, multiplier: "2"}]',
    );
    const { statuses, snapshot } = translate(resourcesOf(text), { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
    assert.deepEqual(statuses.find(({ name }) => name === 'acme')?.remark, {
      reason: 'ChannelNotFound',
      message: 'No ModelRoute has the channel "openai/drect"; the other prices apply.',
    });
    assert.equal(snapshot.catalogs[0]?.sheets.length, 1);
  });

  for (const [what, model, words] of [
    [
      'of no kind',
      `${TOKEN}, channels: [{channel: r/a}]`,
      /"r\/a" has one of multiplier, usdPerMillion and requestUsd/,
    ],
    [
      'of two kinds',
      `${TOKEN}, channels: [{channel: r/a, multiplier: "2", usdPerMillion: {input: "2"}}]`,
      /has one of/,
    ],
    [
      'without a class that the price has',
      `${TOKEN}, channels: [{channel: r/a, usdPerMillion: {input: "2"}}]`,
      /channels "r\/a": usdPerMillion lacks "cacheRead"/,
    ],
    [
      'without a step that the price has',
      `${TOKEN}, contextTiers: [{above: 9, inputMultiplier: "2"}], channels: [` +
        '{channel: r/a, usdPerMillion: {input: "2", cacheRead: "1"}}]',
      /contextTiers lacks the steps 9/,
    ],
    [
      'with steps and no rates',
      `${TOKEN}, channels: [{channel: r/a, multiplier: "2", contextTiers: [{above: 9, inputMultiplier: "2"}]}]`,
      /contextTiers needs usdPerMillion/,
    ],
    [
      'beside rates of a service tier',
      `${TOKEN}, serviceTiers: {flex: {usdPerMillion: {input: "1", cacheRead: "1"}}}, ` +
        'channels: [{channel: r/a, usdPerMillion: {input: "2", cacheRead: "1"}}]',
      /needs service tiers with a multiplier; give "flex" one/,
    ],
    [
      'of tokens for a price of generations',
      'quotaType: Request, requestUsd: "1", channels: [{channel: r/a, usdPerMillion: {input: "2"}}]',
      /usdPerMillion is for quotaType Token/,
    ],
    [
      'of generations for a price of tokens',
      `${TOKEN}, channels: [{channel: r/a, requestUsd: "2"}]`,
      /requestUsd replaces the requestUsd of the model/,
    ],
  ] as const)
    it(`is refused ${what}`, () => assert.match(refusal(model) ?? 'accepted', words));
});

const CATALOG = 'apiVersion: modelgateway.dev/v1alpha1\nkind: PriceCatalog\n';

function translated(cost: string, ...catalogs: readonly string[]): Translation {
  const text = [platformManifest(`cost: ${cost}`), ...catalogs.map((catalog) => CATALOG + catalog)].join('---\n');
  return translate(resourcesOf(text), { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
}

const conditionOf = ({ statuses }: Translation, name: string) => statuses.find((status) => status.name === name);

describe("a channel's cost", () => {
  it('is a catalog of costs, which prices no model and is published with all of its prices', () => {
    const costs =
      'metadata: {name: costs}\nspec: {purpose: Costs, models: [{name: gpt, vendor: A, quotaType: Token, ' +
      'modelRatio: "0.5"}]}\n';
    const result = translated('{catalogRef: {name: costs}, multiplier: "0.85"}', costs);
    const [acme, own] = result.snapshot.catalogs;
    assert.deepEqual([acme?.name, acme?.models.length, acme && 'costs' in acme], ['acme', 1, false]);
    assert.deepEqual([own?.name, own?.models.length, own?.sheets.length], ['costs', 0, 0]);
    assert.deepEqual(
      own?.costs?.models.map(({ name, modelRatioE9 }) => [name, modelRatioE9]),
      [['gpt', 500_000_000n]],
    );
    const channel = result.snapshot.routes[0]?.channels[0];
    assert.deepEqual(channel?.cost, { catalog: 'costs', multiplierE9: 850_000_000n });
    assert.equal(conditionOf(result, 'costs')?.fields.models, 1);
    assert.equal(conditionOf(result, 'openai')?.unresolved, undefined);
  });

  it('may be a catalog of prices, also of those that another catalog claimed first', () => {
    const list =
      'metadata: {name: list}\nspec: {models: [{name: gpt, vendor: A, quotaType: Token, modelRatio: "3"}]}\n';
    const { catalogs } = translated('{catalogRef: {name: list}}', list).snapshot;
    const own = catalogs.find(({ name }) => name === 'list');
    assert.deepEqual(
      [own?.models.length, own?.costs?.models.map(({ modelRatioE9 }) => modelRatioE9)],
      [0, [3_000_000_000n]],
    );
  });

  it("is unknown without the catalog, which the route's status says while the channel serves", () => {
    const result = translated('{catalogRef: {name: nowhere}}');
    assert.equal(result.snapshot.routes[0]?.channels.length, 1);
    assert.deepEqual(conditionOf(result, 'openai')?.unresolved, {
      reason: 'CatalogNotFound',
      message:
        'Channel "direct" serves calls, but its cost is unknown: the PriceCatalog "nowhere" does not exist or is not Accepted.',
    });
  });
});

/** What is refused of a channel's own price in a PriceCatalog. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, platformManifest, resourcesOf } from '../support.ts';

function refusal(model: string): string | undefined {
  const resources = resourcesOf('apiVersion: modelgateway.dev/v1alpha1\nkind: PriceCatalog\nmetadata: {name: c}\n' +
    `spec: {models: [{name: m, vendor: V, ${model}}]}\n`);
  const { statuses } = translate(resources, { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
  return statuses[0]?.refused?.message;
}

const TOKEN = 'quotaType: Token, usdPerMillion: {input: "1", cacheRead: "0.1"}';

describe('a channel\'s own price', () => {
  it('is accepted', () => {
    for (const model of [
      `${TOKEN}, channels: [{channel: r/a, usdPerMillion: {input: "2", cacheRead: "1"}}]`,
      'quotaType: Request, requestUsd: "1", channels: [{channel: r/a, requestUsd: "2"}]',
    ]) assert.equal(refusal(model), undefined);
  });

  it('is reported for a channel that no route has, and accepted all the same', () => {
    const text = platformManifest().replace('modelRatio: "1"', 'modelRatio: "1", channels: [{channel: openai/direct, ' +
      'multiplier: "2"}, {channel: openai/drect, multiplier: "2"}]');
    const { statuses, snapshot } = translate(resourcesOf(text), { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
    assert.deepEqual(statuses.find(({ name }) => name === 'acme')?.remark, {
      reason: 'ChannelNotFound', message: 'No ModelRoute has the channel "openai/drect"; the other prices count.',
    });
    assert.equal(snapshot.catalogs[0]?.sheets.length, 1);
  });

  for (const [what, model, words] of [
    ['of no kind', `${TOKEN}, channels: [{channel: r/a}]`,
      /"r\/a" has one of multiplier, usdPerMillion and requestUsd/],
    ['of two kinds', `${TOKEN}, channels: [{channel: r/a, multiplier: "2", usdPerMillion: {input: "2"}}]`,
      /has one of/],
    ['without a class that the price has', `${TOKEN}, channels: [{channel: r/a, usdPerMillion: {input: "2"}}]`,
      /channels "r\/a": usdPerMillion lacks "cacheRead"/],
    ['without a step that the price has', `${TOKEN}, contextTiers: [{above: 9, inputMultiplier: "2"}], channels: [` +
      '{channel: r/a, usdPerMillion: {input: "2", cacheRead: "1"}}]', /contextTiers lacks the steps 9/],
    ['with steps and no rates', `${TOKEN}, channels: [{channel: r/a, multiplier: "2", contextTiers: [{above: 9, ` +
      'inputMultiplier: "2"}]}]', /contextTiers needs usdPerMillion/],
    ['beside rates of a service tier',
      `${TOKEN}, serviceTiers: {flex: {usdPerMillion: {input: "1", cacheRead: "1"}}}, ` +
      'channels: [{channel: r/a, usdPerMillion: {input: "2", cacheRead: "1"}}]',
    /needs service tiers with a multiplier; give "flex" one/],
    ['of tokens for a price of generations', 'quotaType: Request, requestUsd: "1", channels: [{channel: r/a, ' +
      'usdPerMillion: {input: "2"}}]', /usdPerMillion is for quotaType Token/],
    ['of generations for a price of tokens', `${TOKEN}, channels: [{channel: r/a, requestUsd: "2"}]`,
      /requestUsd takes the place of the price's own/],
  ] as const)
    it(`is refused ${what}`, () => assert.match(refusal(model) ?? 'accepted', words));
});

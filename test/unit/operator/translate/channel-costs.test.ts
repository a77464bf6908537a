/** PriceCatalogs that channels refer to for their cost. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { translate } from '../../../../operator/translate/translate.ts';
import type { Translation } from '../../../../operator/translate/assemble.ts';
import { GATEWAY_NAMESPACE, NOW_MS, platformManifest, resourcesOf } from '../support.ts';

const CATALOG = 'apiVersion: modelgateway.dev/v1alpha1\nkind: PriceCatalog\n';

function translated(cost: string, ...catalogs: readonly string[]): Translation {
  const text = [platformManifest(`cost: ${cost}`), ...catalogs.map((catalog) => CATALOG + catalog)].join('---\n');
  return translate(resourcesOf(text), { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
}

const conditionOf = ({ statuses }: Translation, name: string) => statuses.find((status) => status.name === name);

describe('a channel\'s cost', () => {
  it('is a catalog of costs, which gives no model a price and is published completely', () => {
    const costs = 'metadata: {name: costs}\nspec: {purpose: Costs, models: [{name: gpt, vendor: A, quotaType: Token, ' +
      'modelRatio: "0.5"}]}\n';
    const result = translated('{catalogRef: {name: costs}, multiplier: "0.85"}', costs);
    const [acme, own] = result.snapshot.catalogs;
    assert.deepEqual([acme?.name, acme?.models.length, acme && 'costs' in acme], ['acme', 1, false]);
    assert.deepEqual([own?.name, own?.models.length, own?.sheets.length], ['costs', 0, 0]);
    assert.deepEqual(own?.costs?.models.map(({ name, modelRatioE9 }) => [name, modelRatioE9]), [['gpt', 500_000_000n]]);
    const channel = result.snapshot.routes[0]?.channels[0];
    assert.deepEqual(channel?.cost, { catalog: 'costs', multiplierE9: 850_000_000n });
    assert.equal(conditionOf(result, 'costs')?.fields.models, 1);
    assert.equal(conditionOf(result, 'openai')?.unresolved, undefined);
  });

  it('may be a catalog of prices, also for models that another catalog prices', () => {
    const list = 'metadata: {name: list}\n' +
      'spec: {models: [{name: gpt, vendor: A, quotaType: Token, modelRatio: "3"}]}\n';
    const { catalogs } = translated('{catalogRef: {name: list}}', list).snapshot;
    const own = catalogs.find(({ name }) => name === 'list');
    assert.deepEqual([own?.models.length, own?.costs?.models.map(({ modelRatioE9 }) => modelRatioE9)],
      [0, [3_000_000_000n]]);
  });

  it('is unknown without the catalog, which the route\'s status reports while the channel serves', () => {
    const result = translated('{catalogRef: {name: nowhere}}');
    assert.equal(result.snapshot.routes[0]?.channels.length, 1);
    assert.deepEqual(conditionOf(result, 'openai')?.unresolved, {
      reason: 'CatalogNotFound',
      message: 'Channel "direct" serves, but what it costs is unknown: there is no PriceCatalog "nowhere" in force.',
    });
  });
});

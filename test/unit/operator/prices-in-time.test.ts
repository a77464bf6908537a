/** Prices that count for a time: from and until a moment, before the standing price, whichever catalog is older. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { pricesOf } from '#snapshot/catalog-prices.ts';
import { translate } from '../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, resourcesOf } from './support.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: PriceCatalog\n';
const resources = resourcesOf(`${HEAD}metadata: {name: standing, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {models: [{name: m, vendor: V, quotaType: Token, modelRatio: "3"}]}
---
${HEAD}metadata: {name: promotion, creationTimestamp: "2026-06-01T00:00:00Z"}
spec:
  models:
  - {name: m, vendor: V, quotaType: Token, modelRatio: "1", validFrom: "2026-12-01T00:00:00Z",
     validUntil: "2026-12-24T12:00:00+02:00"}
  - {name: new, vendor: V, quotaType: Token, modelRatio: "7", validFrom: "2027-01-01T00:00:00Z"}
`);

const [FROM, UNTIL, NEW_YEAR] = [Date.UTC(2026, 11, 1), Date.UTC(2026, 11, 24, 10), Date.UTC(2027, 0, 1)] as const;

test.each([
  { name: 'a millisecond before', nowMs: FROM - 1, ratios: { m: 3 }, nextMs: FROM },
  { name: 'at its first moment', nowMs: FROM, ratios: { m: 1 }, nextMs: UNTIL },
  { name: 'a millisecond before its end', nowMs: UNTIL - 1, ratios: { m: 1 }, nextMs: UNTIL },
  { name: 'at its end', nowMs: UNTIL, ratios: { m: 3 }, nextMs: NEW_YEAR },
  { name: 'once the last price has begun', nowMs: NEW_YEAR, ratios: { m: 3, new: 7 }, nextMs: undefined },
])('$name, and the moment of the next change is known', ({ nowMs, ratios, nextMs }) => {
  const { snapshot, statuses, nextChangeMs } = translate(resources, { gatewayNamespace: GATEWAY_NAMESPACE, nowMs });
  const inForce = snapshot.catalogs
    .flatMap(pricesOf)
    .map(({ name, modelRatioE9 }) => [name, Number(modelRatioE9 / 10n ** 9n)] as const);
  assert.deepEqual(Object.fromEntries(inForce), ratios);
  assert.equal(inForce.length, Object.keys(ratios).length, 'no model has two prices');
  assert.equal(nextChangeMs, nextMs);
  assert.doesNotMatch(JSON.stringify(statuses), /Conflicted/);
});

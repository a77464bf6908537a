/** A change of a channel's price in the money of the calls that it served. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { catalogsOf, diffCatalogs } from '#usage/catalog-diff.ts';
import { NO_TOKENS } from '#price/tokens.ts';
import type { UsageRecord } from '#usage/record.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../../operator/support.ts';

const snapshotOf = (channels: string) =>
  translate(
    resourcesOf(`apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: prices}
spec: {models: [{name: gpt, vendor: V, quotaType: Token, usdPerMillion: {input: "2"}, channels: [${channels}]}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: costs}
spec: {purpose: Costs, models: [{name: gpt, vendor: V, quotaType: Token, usdPerMillion: {input: "99"}}]}
`),
    { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS },
  ).snapshot;

const call = (channel: string): UsageRecord => ({
  callId: channel,
  keyUid: 'key-1',
  account: 'team-a/team-a',
  createdMs: NOW_MS,
  group: 'main',
  model: 'gpt',
  channel,
  catalog: 'model-gateway/prices@1',
  costNanoUsd: 0n,
  tokens: { ...NO_TOKENS, input: 1000 },
  usageSource: 'Provider',
  status: 'Succeeded',
  unbilledNanoUsd: 0n,
  durationMs: 1,
});

test('a diff of catalogs prices each call on the channel that served it, and no costs', async () => {
  const before = snapshotOf('{channel: openai/dear, multiplier: "2"}');
  const after = snapshotOf('{channel: openai/dear, usdPerMillion: {input: "7"}}');
  const noKeys = new Map<string, string>();
  const catalogs = [catalogsOf(before, after, noKeys), catalogsOf(after, before, noKeys)] as const;
  const { total, calls } = await diffCatalogs(...catalogs, [call('openai/dear'), call('openai/cheap')]);
  // 1000 tokens at $4 or $7 per million, and at $2
  assert.deepEqual(
    calls.map(({ oldNanoUsd, newNanoUsd }) => [oldNanoUsd, newNanoUsd]),
    [[4_000_000n, 7_000_000n]],
  );
  assert.deepEqual([total.oldNanoUsd, total.newNanoUsd], [6_000_000n, 9_000_000n]);
});

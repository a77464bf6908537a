/** A change of catalogs in the money of calls that were billed. */
import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { formatDiff } from '../../../../bin/catalog/diff-report.ts';
import { readUsageJson } from '../../../../bin/catalog/read-usage.ts';
import { usageWriter } from '../../../../bin/usage/format.ts';
import { NO_TOKENS } from '#price/tokens.ts';
import type { UsageRecord } from '#usage/record.ts';
import type { BillLine } from '#price/bill.ts';
import { catalogsOf, diffCatalogs } from '#usage/catalog-diff.ts';
import type { DiffedCall } from '#usage/catalog-diff.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../../operator/support.ts';

const snapshotOf = (models: string) =>
  translate(
    resourcesOf(`apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: prices}
spec: {models: [${models}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: vip}
spec: {priceRatio: "2", routes: [{routeSelector: {}}]}
`),
    { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS },
  ).snapshot;

const OLD = snapshotOf(`{name: gpt, vendor: V, quotaType: Token, contextTiers: [{above: 1000, inputMultiplier: "2"}],
  usdPerMillion: {input: "2", output: "10", audioInput: "40"}, serviceTiers: {priority: {multiplier: "2"}},
  perUse: {webSearchUsd: "0.01"}}, {name: old, vendor: V, quotaType: Token, modelRatio: "1"},
  {name: image, vendor: V, quotaType: Request, requestUsd: "0.04"}`);
const NEW = snapshotOf(`{name: gpt, vendor: V, quotaType: Token, usdPerMillion: {input: "3", output: "10"}},
  {name: image, vendor: V, quotaType: Request, requestUsd: "0.05"}`);

let calls = 0;
function call(lines: readonly BillLine[], more: Partial<UsageRecord> = {}): UsageRecord {
  return {
    callId: `req_${++calls}`,
    keyUid: 'key-1',
    account: 'team-a/team-a',
    createdMs: NOW_MS,
    group: 'main',
    model: 'gpt',
    channel: 'openai/direct',
    catalog: 'model-gateway/prices@1',
    costNanoUsd: 0n,
    tokens: NO_TOKENS,
    usageSource: 'Provider',
    status: 'Succeeded',
    unbilledNanoUsd: 0n,
    durationMs: 1,
    lines,
    ...more,
  };
}
const line = (dimension: string, quantity: number, more: Partial<BillLine> = {}): BillLine => ({
  dimension,
  quantity,
  rateUsd: '1',
  ...more,
});

type Snapshot = ReturnType<typeof snapshotOf>;

const catalogsOfBoth = (before: Snapshot, after: Snapshot) =>
  [catalogsOf(before, after, new Map()), catalogsOf(after, before, new Map())] as const;

const diff = (records: readonly DiffedCall[]) => diffCatalogs(...catalogsOfBoth(OLD, NEW), records);

describe('a diff of catalogs', () => {
  test('prices images by the size and quality that were billed, and videos by their seconds', async () => {
    const before = snapshotOf(`{name: film, vendor: V, quotaType: Request, perSecondUsd: "0.1"},
      {name: image, vendor: V, quotaType: Request, perImage: [{size: 1x1, quality: low, usd: "0.01"}, {usd: "0.2"}]}`);
    const after = snapshotOf(`{name: film, vendor: V, quotaType: Request, requestUsd: "1"},
      {name: image, vendor: V, quotaType: Request, perImage: [{size: 1x1, quality: low, usd: "0.03"}, {usd: "0.2"}]}`);
    const { total, unpriced } = await diffCatalogs(...catalogsOfBoth(before, after), [
      call([line('generation', 2, { size: '1x1', quality: 'low' })], { model: 'image' }), // 0.02; 0.06
      call([line('second', 8)], { model: 'film' }), // 0.8; seconds have no price any more
    ]);
    assert.equal(total.oldNanoUsd, 820_000_000n);
    assert.ok(JSON.stringify(unpriced).includes('second'));
  });
  test('prices videos by the size that was billed, and by the highest price where nobody named it', async () => {
    const films = (other: string) =>
      snapshotOf(`{name: film, vendor: V, quotaType: Request,
        perSecond: [{size: 1280x720, usd: "0.1"}, {size: 1792x1024, usd: "0.3"}, {usd: "${other}"}]}`);
    const calls = [
      call([line('second', 8, { size: '1280x720' })], { model: 'film' }), // 0.8; 0.8
      call([line('second', 4, { size: '720x1280' })], { model: 'film' }), // 0.8; 1.6
      call([line('second', 4)], { model: 'film' }), // 1.2; 1.6
    ];
    const { total, unpriced } = await diffCatalogs(...catalogsOfBoth(films('0.2'), films('0.4')), calls);
    assert.deepEqual(total, { calls: 3, oldNanoUsd: 2_800_000_000n, newNanoUsd: 4_000_000_000n });
    assert.deepEqual(unpriced, []);
  });

  test('prices an image of an entry for any quality by the very entry', async () => {
    const images = (usd: string) =>
      snapshotOf(`{name: image, vendor: V, quotaType: Request,
        perImage: [{size: 1024x1024, usd: "${usd}"}, {usd: "0.25"}]}`);
    const calls = [call([line('generation', 1, { size: '1024x1024', quality: 'medium' })], { model: 'image' })];
    const { total } = await diffCatalogs(...catalogsOfBoth(images('0.05'), images('0.10')), calls);
    assert.deepEqual(total, { calls: 1, oldNanoUsd: 50_000_000n, newNanoUsd: 100_000_000n });
  });

  test('leaves out what is not billed, and what is charged for a job that still runs', async () => {
    const statuses = ['Succeeded', 'Running', 'Refunded', 'Failed'] as const;
    const { total } = await diff(statuses.map((status) => call([line('input', 1_000_000)], { status })));
    assert.equal(total.calls, 1);
  });

  test("prices each call by both, in its tiers, at its group's ratio", async () => {
    const { total, by } = await diff([
      call([line('input', 500), line('output', 100)]), // 0.001 + 0.001; 0.0015 + 0.001
      call([line('input', 1001, { above: 1000 })], { group: 'vip' }), // 2 · 0.004004; 2 · 0.003003
      call([line('input', 100, { serviceTier: 'priority' })], { keyUid: 'key-2' }), // 0.0004; 0.0003
      call([line('input', 600), line('input', 600)]), // two requests below the step: 0.0024; 0.0036
      call([line('generation', 3)], { model: 'image' }), // 0.12; 0.15
      call([line('input', 9_999_999)], { status: 'Refunded' }),
      call([line('input', 9_999_999)], { status: 'Failed' }),
    ]);
    assert.deepEqual(total, { calls: 5, oldNanoUsd: 132_808_000n, newNanoUsd: 162_406_000n });
    assert.deepEqual(by.model, [
      ['image', { calls: 1, oldNanoUsd: 120_000_000n, newNanoUsd: 150_000_000n }],
      ['gpt', { calls: 4, oldNanoUsd: 12_808_000n, newNanoUsd: 12_406_000n }],
    ]);
    assert.deepEqual(by.group.find(([name]) => name === 'vip')?.[1], {
      calls: 1,
      oldNanoUsd: 8_008_000n,
      newNanoUsd: 6_006_000n,
    });
    assert.deepEqual(by.key.find(([name]) => name === 'key-2')?.[1], {
      calls: 1,
      oldNanoUsd: 400_000n,
      newNanoUsd: 300_000n,
    });
  });

  test("counts an automatic group's own ratio for the keys that are known to call through one", async () => {
    const automatic = (ratio: string) =>
      translate(
        resourcesOf(`apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: prices}
spec: {models: [{name: gpt, vendor: V, quotaType: Token, usdPerMillion: {input: "2"}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: openai}
spec:
  models: [{name: gpt, contextTokens: 1000, maxOutputTokens: 100}]
  channels: [{name: direct, protocol: OpenAI, baseUrl: "https://api.test/v1"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: vip}
spec: {priceRatio: "2", routes: [{routeSelector: {}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: smart}
spec: {type: Automatic, priceRatio: "${ratio}", members: [{name: vip}]}
`),
        { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS },
      ).snapshot;
    const [before, after] = [automatic('1.5'), automatic('3')];
    const groupOfKey = new Map([
      ['smart-key', 'smart'],
      ['vip-key', 'vip'],
    ]);
    const { by } = await diffCatalogs(catalogsOf(before, after, groupOfKey), catalogsOf(after, before, groupOfKey), [
      ...['smart-key', 'vip-key', 'unknown'].map((keyUid) => call([line('input', 1000)], { group: 'vip', keyUid })),
      // of the time before the key's group was automatic
      call([line('input', 1000)], { group: 'plain', keyUid: 'smart-key' }),
    ]);
    // 0.002 · 2, times 1.5 and 3 through the automatic group
    assert.deepEqual(
      new Map(by.key.map(([name, { oldNanoUsd, newNanoUsd }]) => [name, [oldNanoUsd, newNanoUsd]])),
      new Map([
        ['smart-key', [8_000_000n, 14_000_000n]],
        ['vip-key', [4_000_000n, 4_000_000n]],
        ['unknown', [4_000_000n, 4_000_000n]],
      ]),
    );
  });

  test('names what has no price any more', async () => {
    const { unpriced } = await diff([
      call([line('input', 5, { serviceTier: 'priority' }), line('webSearch', 2)]),
      call([line('audioInput', 5), line('webSearch', 1)]),
      call([line('input', 5)], { model: 'old' }),
    ]);
    assert.deepEqual(
      new Map(unpriced),
      new Map([
        ['webSearch', 2],
        ['service tier priority', 1],
        ['audioInput', 1],
        ['model old', 1],
      ]),
    );
  });

  test('lists the ten calls that change most, and none that does not', async () => {
    const records = Array.from({ length: 15 }, (_, index) => call([line('input', (index + 1) * 10)]));
    const { calls: top } = await diff([...records, call([line('output', 1_000_000)])]);
    assert.deepEqual(
      top.map(({ callId }) => callId),
      records
        .slice(5)
        .toReversed()
        .map(({ callId }) => callId),
    );
  });

  test('is the same from the records that mgw usage prints', async () => {
    const records = [
      call([line('input', 500), line('webSearch', 1)]),
      call([line('input', 9, { serviceTier: 'priority' })]),
      call([], { tokens: { ...NO_TOKENS, input: 100, output: 7 } }),
    ];
    const writer = usageWriter('json');
    const printed = readUsageJson(writer.begin + records.map((record) => writer.row(record)).join('') + writer.end());
    assert.deepEqual(await diff(printed), await diff(records));
  });

  test('is a table, JSON, and Markdown whose cells cannot break out', async () => {
    const found = await diff([call([line('input', 500_000_000), line('webSearch', 1)], { account: 'a|b' })]);
    const table = formatDiff(found, 'table', 30);
    assert.ok(
      table.startsWith(
        '1 call of the last 30 days: 2000.01 at the old prices, 1500.00 at the new prices (-500.01 (-25.0 %))\n',
      ),
      table,
    );
    assert.match(table, /By model\n {2}Model +Calls +Old USD/);
    const markdown = formatDiff(found, 'markdown', 30);
    assert.match(markdown, /\| a b \| 1 \| 2000\.01 \| 1500\.00 \|/);
    assert.ok(
      markdown.includes(
        '### Without a price in the new catalogs\n\n| What | Calls |\n| --- | --- |\n| webSearch | 1 |',
      ),
      markdown,
    );
    assert.deepEqual((JSON.parse(formatDiff(found, 'json', 30)) as { total: unknown }).total, {
      calls: 1,
      old_usd: '2000.01',
      new_usd: '1500.00',
      change_usd: '-500.01',
    });
  });
});

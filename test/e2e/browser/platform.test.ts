/** Overview, groups, routes and YAML in a real Chromium: light and dark, on a desktop and on a phone. */
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { LATENCY_CLASSES_MS } from '#activity/activity.ts';
import { keyManifest, TEST_NOW_MS } from '../../support/console-access.ts';
import { need } from '../../support/needs.ts';
import { activityOf, manyCalls, usageBook, walletStand } from '../../unit/console/wallet/stand.ts';
import type { WalletStand } from '../../unit/console/wallet/stand.ts';
import { openStage } from './console-stage.ts';
import type { Stage, Visitor } from './console-stage.ts';

const chromium = await need('chromium');

function manifest(kind: string, name: string, spec: object): unknown {
  return { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata: { namespace: 'model-gateway', name }, spec };
}

const MANIFESTS = [
  manifest('ModelRoute', 'openai', {
    models: [
      { name: 'gpt-5-mini', contextTokens: 200_000, maxOutputTokens: 64_000 },
      { name: 'flux', endpoints: ['Images'] },
    ],
    channels: [
      {
        name: 'direct',
        protocol: 'OpenAI',
        baseUrl: 'https://api.openai.example/v1',
        maxConcurrency: 40,
        cost: { catalogRef: { name: 'all' }, multiplier: '0.85' },
      },
      { name: 'spare', protocol: 'OpenAI', baseUrl: 'https://spare.openai.example/v1', priority: 1 },
    ],
  }),
  manifest('PriceCatalog', 'all', {
    models: [
      { name: 'gpt-5-mini', vendor: 'OpenAI', quotaType: 'Token', modelRatio: '0.125', completionRatio: '8' },
      { name: 'flux', vendor: 'BFL', quotaType: 'Request', requestUsd: '0.04' },
    ],
  }),
  manifest('Group', 'vip', {
    displayName: 'VIP',
    priceRatio: '1.5',
    allowedNamespaces: { from: 'All' },
    routes: [{ routeSelector: {} }],
  }),
  manifest('Group', 'auto', {
    displayName: 'Automatic',
    type: 'Automatic',
    priceRatio: '1',
    allowedNamespaces: { from: 'All' },
    members: [{ name: 'vip' }],
  }),
  keyManifest('team-a', 'gone', { accountRef: { name: 'main' }, expirationTime: '2026-11-20T00:00:00Z' }),
];

const REPORT = {
  atMs: TEST_NOW_MS,
  channels: [
    {
      channel: 'openai/direct',
      inFlight: 7,
      attempts: 200,
      failed: 9,
      skipped: 3,
      latency: [...LATENCY_CLASSES_MS.map((end) => (end === 500 ? 180 : 0)), 20],
      lastFailure: { atMs: TEST_NOW_MS - 20_000, outcome: 'status_529' },
    },
  ],
};

describe.skipIf(chromium.skip)('the platform team in a browser', () => {
  let stand: WalletStand;
  let stage: Stage;
  let visitor: Visitor;
  let url = '';

  beforeAll(async () => {
    const records: ReturnType<typeof manyCalls> = [];
    stand = walletStand(usageBook(records), MANIFESTS, activityOf([], [], [REPORT]));
    records.push(
      ...manyCalls(400, [stand.world.apiKey('team-a', 'ci').metadata.uid ?? '']).map((each, index) =>
        index % 9 === 0 ? each : { ...each, upstreamCostNanoUsd: (each.costNanoUsd * 17n) / 20n },
      ),
    );
    await stand.app.listen({ host: '127.0.0.1', port: 0 });
    url = `http://127.0.0.1:${(stand.app.server.address() as AddressInfo).port}`;
    stage = await openStage(chromium.path);
    visitor = await stage.visitor();
    const { page } = visitor;
    await page.goto(url);
    await page.locator('input[name=token]').fill('petra');
    await page.locator('main button[type=submit]').click();
    await page.waitForURL(`${url}/`);
  });
  afterAll(async () => {
    await stage.close();
    await stand.app.close();
  });

  test('sees on the first page what needs attention', async () => {
    const { page, inspect } = visitor;
    await page.getByText('openai/direct').waitFor();
    await page.getByRole('link', { name: 'gone' }).waitFor();
    await inspect('overview');
  });

  test('drains a channel in two clicks from there, and uses it again', async () => {
    const { page, inspect } = visitor;
    await page.locator('main').getByRole('link', { name: 'Routes', exact: true }).click();
    await page.getByText('Some calls fail').waitFor();
    await inspect('routes');
    await page.getByRole('button', { name: 'Drain direct of openai' }).click();
    await page.getByText('Draining', { exact: true }).waitFor();
    await inspect('routes-draining');
    await page.getByRole('button', { name: 'Use again direct of openai' }).click();
    await page.getByText('The channel openai/direct gets calls again.').waitFor();
  });

  test('sees a route as YAML, and the order of groups', async () => {
    const { page, inspect } = visitor;
    await page.getByRole('link', { name: 'YAML of openai' }).click();
    assert.match(await page.locator('#yaml').innerText(), /kind: ModelRoute/);
    await inspect('route-yaml');
    await page.getByRole('link', { name: 'Groups', exact: true }).click();
    for (const fold of await page.locator('details.fold').all()) await fold.locator('summary').click();
    await page.getByText('$0.06 per image').first().waitFor();
    await inspect('groups');
  });

  test('previews an edit of a catalog in money before it is saved', async () => {
    const { page, inspect } = visitor;
    await page.getByRole('link', { name: 'Price catalogs', exact: true }).first().click();
    await inspect('catalogs');
    await page.getByRole('link', { name: 'Preview a change' }).first().click();
    const manifest = page.getByLabel('Manifest');
    await manifest.fill((await manifest.inputValue()).replace('"0.125"', '"-1"'));
    visitor.expectStatus(422);
    await page.getByRole('button', { name: 'Show what changes' }).click();
    await page.getByText('spec.models[0].modelRatio').waitFor();
    await inspect('price-change-mistake');
    await manifest.fill((await manifest.inputValue()).replace('"-1"', '"0.25"'));
    await page.getByRole('button', { name: 'Show what changes' }).click();
    await page.getByRole('heading', { name: 'Calls that change most' }).waitFor();
    await inspect('price-change');
  });

  test('adds a model with its price in three clicks, and sees before what it changes', async () => {
    const { page, inspect } = visitor;
    let clicks = 0;
    const click = async (role: 'link' | 'button', name: string): Promise<void> => {
      clicks += 1;
      await page.getByRole(role, { name, exact: true }).first().click();
    };
    await page.getByRole('link', { name: 'Models', exact: true }).first().click();
    await click('link', 'Add a model');
    await page.getByLabel('Name', { exact: true }).fill('gpt-new');
    await page.getByLabel('Vendor').fill('OpenAI');
    await page.getByLabel('USD per million').fill('input=1\noutput=4');
    await inspect('new-model');
    await page.getByLabel('Context tokens').fill('128000');
    await page.getByLabel('Max output tokens').fill('16000');
    await click('button', 'Preview');
    await page.getByRole('cell', { name: '$1.50 input, $6.00 output' }).first().waitFor();
    await inspect('new-model-preview');
    await click('button', 'Save');
    await page.getByRole('heading', { name: 'gpt-new', level: 1 }).waitFor();
    assert.equal(clicks, 3);
  });

  test('edits a group and a channel by forms over their schemas', async () => {
    const { page, inspect } = visitor;
    await page.getByRole('link', { name: 'Groups', exact: true }).first().click();
    await page.getByRole('link', { name: 'Edit VIP' }).click();
    await page.getByLabel('Price ratio').fill('2');
    await page.getByRole('button', { name: 'Preview', exact: true }).last().click();
    await page.getByRole('heading', { name: 'Copy as patch: Group vip' }).waitFor();
    await inspect('edit-group');
    await page.goto(`${url}/routes`);
    await page.getByRole('link', { name: 'Edit spare of openai' }).click();
    await inspect('edit-channel');
    visitor.expectStatus(422);
    await page.getByLabel('Base URL').fill('not a URL');
    await page.getByRole('button', { name: 'Preview', exact: true }).last().click();
    await page.getByText('Nothing was changed yet').waitFor();
    await inspect('edit-channel-mistake');
  });

  test('margins are a table with the sums of all, whose rows are cards on a phone', async () => {
    const { page, inspect } = visitor;
    await page.getByRole('link', { name: 'Usage', exact: true }).click();
    await page.getByRole('link', { name: 'Margins' }).click();
    await page.getByRole('rowheader', { name: 'All', exact: true }).waitFor();
    await inspect('margins');
  });
});

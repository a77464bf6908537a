/** The calculator in a real Chromium: its script computes what the server would, and it works without scripts. */
import assert from 'node:assert/strict';
import type { BrowserContextOptions, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { servePrices } from '../../unit/dataplane/server/pricing/price-server.ts';
import type { PriceServer } from '../../unit/dataplane/server/pricing/price-server.ts';
import { e9, REALISTIC, sampleSnapshot } from '../../unit/dataplane/server/pricing/sample.ts';
import { compile } from '../../../dataplane/state/compile.ts';
import { noteComplaints, suiteBrowser } from '../../support/browser.ts';
import { need } from '../../support/needs.ts';

const chromium = await need('chromium');
const snapshot = sampleSnapshot({
  ...REALISTIC,
  tokens: [
    ...(REALISTIC.tokens ?? []),
    ['odd', 'Odd', '0.333333333', '8.333333333', '0.123456789', '1.1', '1.999999999'],
    ['dear', 'Odd', '9999999999', '9999999999', '1', '9999999999.999999999'],
    ['steps', 'Odd', '0', '0', '0.1'],
  ],
  routed: [...(REALISTIC.routed ?? []), 'odd', 'dear', 'steps'],
});
/** A model with a price in each dimension of a token request. */
const state = compile({
  ...snapshot,
  catalogs: snapshot.catalogs.map((catalog) => ({
    ...catalog,
    models: catalog.models.map((price) =>
      price.name === 'steps'
        ? {
            ...price,
            usdPerMillion: { input: e9('2'), output: e9('10'), audioInput: e9('6') },
            contextTiers: [
              { above: 200_000, usdPerMillion: { input: e9('4'), output: e9('15'), audioInput: e9('8') } },
            ],
            serviceTiers: [{ name: 'priority', multiplierE9: e9('2'), usdPerMillion: undefined, contextTiers: [] }],
            regions: [{ name: 'eu', multiplierE9: e9('1.1') }],
            perUse: { webSearchNanoUsd: e9('0.01') },
          }
        : price,
    ),
  })),
});

/** Chooses another model, and types while it loads; the given function lets the response arrive. */
async function typeWhileAsking(page: Page, answer: (route: Route) => Promise<void>): Promise<() => void> {
  const typed = Promise.withResolvers<undefined>();
  await page.route('**part=calculation*', async (route) => {
    await typed.promise;
    await answer(route);
  });
  await page.getByRole('combobox', { name: 'Model to price' }).selectOption('claude-sonnet-4-5');
  for (const [name, value] of [
    ['input', '1000000'],
    ['cached', '0'],
    ['output', '0'],
  ] as const)
    await page.locator(`#calc-${name}`).fill(value);
  return () => typed.resolve(undefined);
}

describe.skipIf(chromium.skip)('the calculator in a browser', () => {
  const browser = suiteBrowser(chromium.path);
  let server: PriceServer;

  beforeAll(async () => {
    server = await servePrices(() => state);
  });
  afterAll(() => server.stop());

  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.open(options);
    noteComplaints(page, browser.complaints);
    await page.goto(server.url + path);
    return page;
  }

  /** The result's text as the server renders it for these counts. */
  async function rendered(page: Page, query: Record<string, string>): Promise<string> {
    const text =
      await page.evaluate<string>(`fetch('/pricing?${new URLSearchParams({ ...query, part: 'calculation' }).toString()}').then((answer) => answer.text()).then((markup) => {
      const holder = document.createElement('div'); holder.innerHTML = markup; document.body.append(holder);
      const text = holder.querySelector('.estimate').innerText; holder.remove(); return text; })`);
    return text;
  }

  for (const [model, at] of [
    ['claude-sonnet-4-5', ''],
    ['claude-sonnet-4-5', 'smart'],
    ['odd', 'auto-a'],
    ['dear', 'auto-a'],
    ['gpt-4o-mini', 'budget'],
  ] as const) {
    test(`shows the server's results while typing: ${model} at ${at || 'base prices'}`, async () => {
      const page = await open(`/pricing?calc=${model}&at=${at}`);
      for (const counts of [
        {
          input: '1',
          cached: '',
          write5m: '0',
          write1h: '7',
          output: '3',
        },
        { input: '123,456', cached: '999999999999999', write5m: '3000', write1h: '1000', output: '0' },
      ]) {
        // a model has no field for a price that its catalog does not have
        for (const [name, value] of Object.entries(counts))
          for (const field of await page.locator(`#calc-${name}`).all()) await field.fill(value);
        assert.equal(await page.locator('#estimate').innerText(), await rendered(page, { calc: model, at, ...counts }));
      }
    });
  }

  test('computes context tiers, service tiers, regions, audio and searches as the server does', async () => {
    const page = await open('/pricing?calc=steps');
    for (const [name, value] of [
      ['input', '100,000'],
      ['audio_in', '1000'],
      ['cached', '0'],
      ['output', '1000'],
      ['searches', '3'],
    ] as const)
      await page.locator(`#calc-${name}`).fill(value);
    assert.equal(await page.locator('[data-sum]').innerText(), '$0.246');
    await page.locator('#calc-cached').fill('100,000');
    await page.locator('[data-sum]', { hasText: /^\$0\.853$/ }).waitFor();
    assert.match(await page.locator('#estimate').innerText(), /more than 200,000 tokens of input/);
    await page.getByRole('combobox', { name: 'Service tier' }).selectOption('priority');
    await page.getByRole('combobox', { name: 'Region' }).selectOption('eu');
    await page.locator('[data-sum]', { hasText: /^\$1\.8406$/ }).waitFor();
    await page.locator('#calc-output').fill('2000');
    assert.equal(await page.locator('[data-sum]').innerText(), '$1.8736');
    assert.equal(
      await page.locator('#estimate').innerText(),
      await rendered(page, {
        calc: 'steps',
        tier: 'priority',
        region: 'eu',
        input: '100,000',
        audio_in: '1000',
        cached: '100,000',
        output: '2000',
        searches: '3',
      }),
    );
    await page.locator('#calc-cached').fill('0');
    await page.locator('[data-sum]', { hasText: /^\$0\.5272$/ }).waitFor();
  });

  test("shows the fields of another model's price, and remembers counts", async () => {
    const page = await open('/pricing');
    await page.locator('#calc-output').fill('4321');
    await page.getByRole('combobox', { name: 'Model to price' }).selectOption('flux-1.1-pro');
    await page.locator('#calc-n').fill('4');
    assert.match(await page.locator('[data-sum]').innerText(), /^\$0\.16$/);
    await page.getByRole('combobox', { name: 'At the prices of' }).selectOption('vip');
    await page.locator('[data-sum]', { hasText: '$0.24' }).waitFor();
    await page.getByRole('combobox', { name: 'Model to price' }).selectOption('claude-sonnet-4-5');
    await page.locator('#calc-output').waitFor();
    assert.equal(await page.locator('#calc-output').inputValue(), '4321');
    assert.equal(await page.locator('tbody tr:not([hidden])').count(), 29, 'the list stays as it is');
  });

  test('keeps input and focus while another model loads', async () => {
    const page = await open('/pricing?calc=gpt-4o-mini');
    const answer = await typeWhileAsking(page, (route) => route.continue());
    await page.locator('#calc-input').press('Home');
    answer();
    await page.locator('[data-sum]', { hasText: /^\$3\.00$/ }).waitFor();
    await page.keyboard.type('2');
    assert.equal(await page.locator('#calc-input').inputValue(), '21000000');
    assert.equal(await page.locator('[data-sum]').innerText(), '$63.00');
  });

  test('keeps input when loading another model fails', async () => {
    const page = await browser.open({});
    await page.goto(`${server.url}/pricing?calc=gpt-4o-mini`);
    const fail = await typeWhileAsking(page, (route) => route.abort());
    fail();
    await page.waitForURL(/calc=claude-sonnet-4-5/);
    assert.equal(await page.locator('#calc-input').inputValue(), '1000000');
    assert.equal(await page.locator('[data-sum]').innerText(), '$3.00');
  });

  test('keeps input from before its script was loaded', async () => {
    const page = await browser.open({});
    noteComplaints(page, browser.complaints);
    for (const choice of ['gpt-4o-mini', 'claude-sonnet-4-5']) {
      const loaded = Promise.withResolvers<undefined>();
      await page.route('**/pricing*.js*', async (route) => {
        await loaded.promise;
        await route.continue();
      });
      await page.goto(`${server.url}/pricing?calc=gpt-4o-mini`, { waitUntil: 'commit' });
      await page.getByRole('combobox', { name: 'Model to price' }).selectOption(choice);
      for (const [name, value] of [
        ['input', '1000000'],
        ['cached', '0'],
        ['output', '0'],
      ] as const)
        await page.locator(`#calc-${name}`).fill(value);
      loaded.resolve(undefined);
      await page.locator('[data-sum]', { hasText: choice === 'gpt-4o-mini' ? /^\$0\.15$/ : /^\$3\.00$/ }).waitFor();
      await page.unrouteAll({ behavior: 'wait' });
    }
  });

  test('reports invalid numbers at their field', async () => {
    const page = await open('/pricing');
    await page.getByLabel('Input tokens').fill('many');
    assert.equal(await page.locator('#calc-input-fault').isVisible(), true);
    assert.equal(await page.locator('[data-sum]').innerText(), '—');
    await page.getByLabel('Input tokens').fill('5');
    assert.equal(await page.locator('#calc-input-fault').isVisible(), false);
    assert.notEqual(await page.locator('[data-sum]').innerText(), '—');
  });

  test("is a form without scripts, and keeps the list's view", async () => {
    const page = await open('/pricing?q=claude&sort=-model', { javaScriptEnabled: false });
    await page.getByRole('combobox', { name: 'Model to price' }).selectOption('claude-sonnet-4-5');
    await page.getByRole('combobox', { name: 'At the prices of' }).selectOption('vip');
    for (const [name, value] of [
      ['input', '1000'],
      ['cached', '20000'],
      ['write5m', '3000'],
      ['write1h', '1000'],
      ['output', '500'],
    ] as const)
      await page.locator(`#calc-${name}`).fill(value);
    await page.getByRole('button', { name: 'Calculate' }).click();
    assert.equal(await page.locator('[data-sum]').innerText(), '$0.050625');
    assert.equal(await page.locator('tbody tr:not([hidden])').count(), 4);
    assert.match(page.url(), /#calculator$/);
  });
});

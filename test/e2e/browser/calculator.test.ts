/** The calculator in a real Chromium: it counts as one types what the server would count, and works without scripts. */
import assert from 'node:assert/strict';
import type { BrowserContextOptions, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { servePrices } from '../../unit/dataplane/pricing/price-server.ts';
import type { PriceServer } from '../../unit/dataplane/pricing/price-server.ts';
import { REALISTIC, sampleState } from '../../unit/dataplane/pricing/sample.ts';
import { noteComplaints, suiteBrowser } from '../../support/browser.ts';
import { need } from '../../support/needs.ts';

const chromium = await need('chromium');
const state = sampleState({
  ...REALISTIC,
  tokens: [...REALISTIC.tokens ?? [], [
    'odd', 'Odd', '0.333333333', '8.333333333', '0.123456789', '1.1', '1.999999999',
  ], ['dear', 'Odd', '9999999999', '9999999999', '1', '9999999999.999999999']],
  routed: [...REALISTIC.routed ?? [], 'odd', 'dear'],
});

/** Chooses another model, and types while it is asked for; what is given lets the answer come. */
async function typeWhileAsking(page: Page, answer: (route: Route) => Promise<void>): Promise<() => void> {
  const typed = Promise.withResolvers<undefined>();
  await page.route('**part=calculation*', async (route) => {
    await typed.promise;
    await answer(route);
  });
  await page.getByRole('combobox', { name: 'Model to price' }).selectOption('claude-sonnet-4-5');
  for (const [name, value] of [['input', '1000000'], ['cached', '0'], ['output', '0']] as const)
    await page.locator(`#calc-${name}`).fill(value);
  return () => typed.resolve(undefined);
}

describe.skipIf(chromium.skip)('the calculator in a browser', () => {
  const browser = suiteBrowser(chromium.path);
  let server: PriceServer;

  beforeAll(async () => { server = await servePrices(() => state); });
  afterAll(() => server.stop());

  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.open(options);
    noteComplaints(page, browser.complaints);
    await page.goto(server.url + path);
    return page;
  }

  /** The result's text as the server writes it for these counts. */
  async function rendered(page: Page, query: Record<string, string>): Promise<string> {
    const text = await page.evaluate<string>(`fetch('/pricing?${new URLSearchParams({
      ...query, part: 'calculation',
    }).toString()}').then((answer) => answer.text()).then((markup) => {
      const holder = document.createElement('div'); holder.innerHTML = markup; document.body.append(holder);
      const text = holder.querySelector('.estimate').innerText; holder.remove(); return text; })`);
    return text;
  }

  for (const [model, at] of [[
    'claude-sonnet-4-5', '',
  ], ['claude-sonnet-4-5', 'smart'], ['odd', 'auto-a'], ['dear', 'auto-a'], ['gpt-4o-mini', 'budget']] as const) {
    test(`${model} at ${at || 'base prices'}: as one types, what the server says`, async () => {
      const page = await open(`/pricing?calc=${model}&at=${at}`);
      for (const counts of [{
        input: '1', cached: '', write5m: '0', write1h: '7', output: '3',
      }, { input: '123,456', cached: '999999999999999', write5m: '3000', write1h: '1000', output: '0' }]) {
        // a model has no field for what its catalog states no price of
        for (const [name, value] of Object.entries(counts))
          for (const field of await page.locator(`#calc-${name}`).all()) await field.fill(value);
        assert.equal(await page.locator('#estimate').innerText(), await rendered(page, { calc: model, at, ...counts }));
      }
    });
  }

  test('another model asks for what it is priced by, and counts are remembered', async () => {
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
    assert.equal(await page.locator('tbody tr:not([hidden])').count(), 28, 'the list stays as it is');
  });

  test('what is typed while another model is asked for stays, and so does where one types', async () => {
    const page = await open('/pricing?calc=gpt-4o-mini');
    const answer = await typeWhileAsking(page, (route) => route.continue());
    await page.locator('#calc-input').press('Home');
    answer();
    await page.locator('[data-sum]', { hasText: /^\$3\.00$/ }).waitFor();
    await page.keyboard.type('2');
    assert.equal(await page.locator('#calc-input').inputValue(), '21000000');
    assert.equal(await page.locator('[data-sum]').innerText(), '$63.00');
  });

  test('what is typed while another model is asked for stays, also where the answer does not come', async () => {
    const page = await browser.open({});
    await page.goto(`${server.url}/pricing?calc=gpt-4o-mini`);
    const fail = await typeWhileAsking(page, (route) => route.abort());
    fail();
    await page.waitForURL(/calc=claude-sonnet-4-5/);
    assert.equal(await page.locator('#calc-input').inputValue(), '1000000');
    assert.equal(await page.locator('[data-sum]').innerText(), '$3.00');
  });

  test('what was chosen and typed before its script came counts as well', async () => {
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
      for (const [name, value] of [['input', '1000000'], ['cached', '0'], ['output', '0']] as const)
        await page.locator(`#calc-${name}`).fill(value);
      loaded.resolve(undefined);
      await page.locator('[data-sum]', { hasText: choice === 'gpt-4o-mini' ? /^\$0\.15$/ : /^\$3\.00$/ }).waitFor();
      await page.unrouteAll({ behavior: 'wait' });
    }
  });

  test('says at the field what is no number', async () => {
    const page = await open('/pricing');
    await page.getByLabel('Input tokens').fill('many');
    assert.equal(await page.locator('#calc-input-fault').isVisible(), true);
    assert.equal(await page.locator('[data-sum]').innerText(), '—');
    await page.getByLabel('Input tokens').fill('5');
    assert.equal(await page.locator('#calc-input-fault').isVisible(), false);
    assert.notEqual(await page.locator('[data-sum]').innerText(), '—');
  });

  test('without scripts it is a form, and the list\'s view stays', async () => {
    const page = await open('/pricing?q=claude&sort=-model', { javaScriptEnabled: false });
    await page.getByRole('combobox', { name: 'Model to price' }).selectOption('claude-sonnet-4-5');
    await page.getByRole('combobox', { name: 'At the prices of' }).selectOption('vip');
    for (const [name, value] of [
      ['input', '1000'], ['cached', '20000'], ['write5m', '3000'], ['write1h', '1000'], ['output', '500'],
    ] as const) await page.locator(`#calc-${name}`).fill(value);
    await page.getByRole('button', { name: 'Calculate' }).click();
    assert.equal(await page.locator('[data-sum]').innerText(), '$0.050625');
    assert.equal(await page.locator('tbody tr:not([hidden])').count(), 4);
    assert.match(page.url(), /#calculator$/);
  });
});

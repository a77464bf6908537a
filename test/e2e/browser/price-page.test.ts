/** The price page in a real Chromium, with and without scripts, light and dark, on a phone and on a desktop. */
import assert from 'node:assert/strict';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest';
import type { State } from '../../../dataplane/state/state.ts';
import { axeFaults, noteComplaints, overflow, suiteBrowser, themeOf } from '../../support/browser.ts';
import type { SuiteBrowser } from '../../support/browser.ts';
import { need } from '../../support/needs.ts';
import { servePrices } from '../../unit/dataplane/server/pricing/price-server.ts';
import type { PriceServer } from '../../unit/dataplane/server/pricing/price-server.ts';
import { REALISTIC, sampleState } from '../../unit/dataplane/server/pricing/sample.ts';

const chromium = await need('chromium');
const realistic = sampleState(REALISTIC);
const HOSTILE_NAME = '<img src=x onerror="document.title=\'broken\'">';
const hostile = sampleState({
  tokens: [
    [HOSTILE_NAME, '"><script>document.title="broken"</script>', '0.333333333', '8.333333333', '0.1'],
    ['x'.repeat(200), 'y'.repeat(200), '9999999999', '9999999999', '0.000000001', '9999999999.999999999'],
    ['\u202Eevil\u202C', 'مزود النماذج', '1', '1', '1'],
    ['ok', 'ok', '1', '1', '1'],
  ],
  groups: [
    {
      name: 'g',
      displayName: 'z'.repeat(60),
    },
    { name: 'h', displayName: '\'"><b>' },
    ...Array.from({ length: 12 }, (_, index) => ({ name: `n${index}` })),
  ],
});

const DESK = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };

let state: State = realistic;
let server: PriceServer;
let browser: SuiteBrowser;

/** Opens a page at `path`; the browser's errors are collected. */
async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.open({ viewport: DESK, ...options });
  const { complaints } = browser;
  noteComplaints(page, complaints);
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? '';
    // the browser aborts what is under way when the page is left
    if (why !== 'net::ERR_ABORTED') complaints.push(`failed: ${request.url()} ${why}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`);
  });
  await page.goto(server.url + path);
  return page;
}

function visibleModels(page: Page): Promise<string[]> {
  return page.locator('tbody tr:not([hidden]) > th bdi').allTextContents();
}

/** Returns the rows in the server's order for this view. */
async function renderedModels(page: Page, query: string): Promise<string[]> {
  const other = await page.context().newPage();
  await other.goto(`${server.url}/pricing${query}`);
  const models = await visibleModels(other);
  await other.close();
  return models;
}

function queryOf(page: Page): Promise<string> {
  return page.evaluate<string>('location.search');
}

function choice(page: Page, name: string): Locator {
  return page.getByRole('combobox', { name, exact: true });
}

describe.skipIf(chromium.skip)('price page in a browser', () => {
  browser = suiteBrowser(chromium.path);
  beforeAll(async () => {
    server = await servePrices(() => state);
  });
  afterAll(() => server.stop());
  afterEach(() => {
    state = realistic;
    server.asked.length = 0;
  });

  test('sorts each column by mouse, in both directions, as the server does', async () => {
    const page = await open('/pricing');
    for (const [title, column] of [
      ['Model Name', 'model'],
      ['Quota Type', 'type'],
      ['Model Ratio', 'model_ratio'],
      ['Completion Ratio', 'completion_ratio'],
      ['Cache Ratio', 'cache_ratio'],
      ['Enabled Groups', 'groups'],
      ['Vendor / Owner', 'vendor'],
    ] as const) {
      const heading = page.locator('thead th', { hasText: title });
      for (const [query, order] of [
        [column, 'ascending'],
        [`-${column}`, 'descending'],
      ] as const) {
        await heading.getByRole('button').click();
        assert.equal(await heading.getAttribute('aria-sort'), order);
        assert.equal(await page.locator('thead [aria-sort]').count(), 1);
        assert.equal(await queryOf(page), query === 'vendor' ? '' : `?sort=${query}`);
        assert.deepEqual(await visibleModels(page), await renderedModels(page, `?sort=${query}`), query);
      }
    }
  });

  test('sorts by keyboard, and keeps the focus', async () => {
    const page = await open('/pricing');
    await page.getByRole('button', { name: 'Model Name' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Space');
    assert.equal(await queryOf(page), '?sort=-model');
    assert.equal((await visibleModels(page))[0], 'text-embedding-3-small');
    assert.equal(await page.evaluate('document.activeElement.innerText'), 'Model Name');
  });

  test('leads to the list with the first Tab', async () => {
    const page = await open('/pricing');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the price list');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'list');
  });

  test('filters while typing, shows the count, and sends no request', async () => {
    const page = await open('/pricing');
    await page.getByLabel('Search').pressSequentially('openai mini');
    assert.deepEqual(await visibleModels(page), ['gpt-4.1-mini', 'gpt-4o-mini', 'gpt-5-mini', 'o4-mini']);
    assert.equal(await page.getByRole('status').innerText(), '4 of 26 models');
    assert.equal(await queryOf(page), '?q=openai+mini');
    await page.getByLabel('Search').press('Enter');
    assert.deepEqual(
      server.asked.filter((path) => path.startsWith('/pricing?')),
      [],
    );
    await page.getByLabel('Search').fill('');
    assert.equal(await page.getByRole('status').innerText(), '26 models');
    assert.equal(await queryOf(page), '');
  });

  test('filters by vendor, quota type and context, and keeps the view after a reload', async () => {
    const page = await open('/pricing');
    await choice(page, 'Vendor').selectOption('OpenAI');
    await choice(page, 'Quota type').selectOption('Per-request');
    assert.deepEqual(await visibleModels(page), ['gpt-image-1', 'sora-2']);
    assert.equal(await queryOf(page), '?vendor=OpenAI&type=request');
    await page.reload();
    assert.deepEqual(await visibleModels(page), ['gpt-image-1', 'sora-2']);
    assert.equal(await choice(page, 'Vendor').inputValue(), 'OpenAI');
    await choice(page, 'Quota type').selectOption('All types');
    assert.equal((await visibleModels(page)).length, 11);
    await choice(page, 'Context').selectOption('200K or more');
    assert.equal((await visibleModels(page)).length, 9);
    assert.equal(await queryOf(page), '?vendor=OpenAI&context=200000');
  });

  test("shows a group's models at its prices, and keeps the other filters", async () => {
    const page = await open('/pricing');
    await page.getByRole('button', { name: 'Model Ratio' }).click();
    await page.getByLabel('Search').fill('claude');
    await choice(page, 'Group and its prices').selectOption('VIP · × 1.5');
    await page.locator('#basis', { hasText: 'VIP' }).waitFor();
    assert.deepEqual(await visibleModels(page), [
      'claude-haiku-4-5',
      'claude-sonnet-4-5',
      'claude-opus-4-5',
      'claude-opus-4-1',
    ]);
    assert.match(await page.locator('tbody tr', { hasText: 'claude-sonnet-4-5' }).innerText(), /\$4\.50 input/);
    assert.equal(await queryOf(page), '?q=claude&group=vip&sort=model_ratio');
    await page.getByLabel('Search').fill('');
    assert.equal((await visibleModels(page)).length, 8);
    await choice(page, 'Group and its prices').selectOption('All groups');
    await page.locator('#basis', { hasText: 'base prices' }).waitFor();
    assert.equal((await visibleModels(page)).length, 26);
    await page.locator('tbody tr', { hasText: 'claude-sonnet-4-5' }).filter({ hasText: '$3.00 input' }).waitFor();
  });

  test('shows all again with one click if nothing matches', async () => {
    const page = await open('/pricing?q=zzz&group=vip');
    await page.getByRole('link', { name: 'Show all models' }).click();
    await page.locator('#basis', { hasText: 'base prices' }).waitFor();
    assert.equal((await visibleModels(page)).length, 26);
    assert.equal(await queryOf(page), '');
    assert.equal(await page.locator('#none').isVisible(), false);
  });

  test('groups by vendor only if the list is ordered by vendor', async () => {
    const page = await open('/pricing');
    assert.equal(await page.locator('tr.lead').count(), 9);
    await page.getByLabel('Search').fill('mini');
    assert.equal(await page.locator('tr.lead').count(), 2);
    await page.getByRole('button', { name: 'Cache Ratio' }).click();
    assert.equal(await page.locator('tr.lead').count(), 0);
  });

  test('expands cache writes', async () => {
    const page = await open('/pricing');
    const row = page.locator('tbody tr', { hasText: 'claude-sonnet-4-5' });
    assert.equal(await row.getByText('1 h write').isVisible(), false);
    await row.locator('summary').press('Enter');
    assert.equal(await row.getByText('1 h write').isVisible(), true);
    assert.match(await row.innerText(), /\$6\.00/);
  });

  test('works without scripts by its form', async () => {
    const page = await open('/pricing', { javaScriptEnabled: false });
    await page.getByLabel('Search').fill('claude');
    await choice(page, 'Group and its prices').selectOption('VIP · × 1.5');
    await page.getByRole('button', { name: 'Apply' }).click();
    assert.equal(await page.locator('tbody tr:not([hidden])').count(), 4);
    assert.match(await page.locator('tbody').innerText(), /\$4\.50 input/);
    await page.getByRole('button', { name: 'Model Ratio' }).click();
    await page.getByRole('button', { name: 'Model Ratio' }).click();
    assert.deepEqual(await visibleModels(page), [
      'claude-opus-4-1',
      'claude-opus-4-5',
      'claude-sonnet-4-5',
      'claude-haiku-4-5',
    ]);
    assert.equal(await page.getByLabel('Search').inputValue(), 'claude');
  });

  test('has a sort control of its own on a phone', async () => {
    const page = await open('/pricing', { viewport: PHONE });
    await choice(page, 'Sort by').selectOption('Model ratio ↓');
    assert.equal((await visibleModels(page))[0], 'claude-opus-4-1');
    assert.equal(await queryOf(page), '?sort=-model_ratio');
  });

  test('stays responsive with thousands of models', async () => {
    state = sampleState({
      tokens: Array.from(
        { length: 2000 },
        (_, index) => [`model-${index}`, `vendor-${index % 40}`, `${index % 97}.${index}`, '4', '0.5'] as const,
      ),
      groups: [{ name: 'a' }],
    });
    const page = await open('/pricing');
    await page.getByRole('button', { name: 'Model Ratio' }).click();
    await page.getByLabel('Search').fill('model-19');
    assert.equal(await page.getByRole('status').innerText(), '111 of 2,000 models');
    assert.deepEqual(await visibleModels(page), await renderedModels(page, '?sort=model_ratio&q=model-19'));
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [name, viewport] of [
      ['desk', DESK],
      ['phone', PHONE],
    ] as const) {
      test(`has no axe violation and no overflow: ${colorScheme} on a ${name}`, async () => {
        const page = await open('/pricing?sort=vendor&group=smart', { colorScheme, viewport });
        for (const summary of await page.locator('tbody summary').all())
          if (await summary.isVisible()) await summary.click();
        assert.deepEqual(await axeFaults(page), []);
        assert.equal(await overflow(page), 0);
        assert.equal(await themeOf(page), colorScheme);

        state = hostile;
        await page.goto(`${server.url}/pricing`);
        assert.deepEqual(await axeFaults(page), []);
        assert.equal(await overflow(page), 0);
        assert.equal(await page.title(), 'Pricing · Model Gateway');
        assert.ok((await visibleModels(page)).includes(HOSTILE_NAME));

        state = sampleState({});
        await page.goto(`${server.url}/pricing`);
        assert.deepEqual(await axeFaults(page), []);
        assert.equal(await overflow(page), 0);
      });
    }
  }

  test('filters by hostile names of vendors and groups', async () => {
    state = hostile;
    const page = await open('/pricing');
    await choice(page, 'Vendor').selectOption('مزود النماذج');
    assert.equal((await visibleModels(page)).length, 1);
    await choice(page, 'Vendor').selectOption({ index: 0 });
    await choice(page, 'Group and its prices').selectOption('h');
    await page.locator('#basis', { hasText: '\'"><b>' }).waitFor();
    assert.equal((await visibleModels(page)).length, 4);
  });
});

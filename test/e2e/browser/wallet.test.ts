/**
 * The Wallet and the prices in a real Chromium: light and dark, on a phone and on a desktop, with and without scripts.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { UsageRecord } from '#usage/record.ts';
import { axeFaults, noteComplaints, overflow, suiteBrowser } from '../../support/browser.ts';
import { need } from '../../support/needs.ts';
import { accountManifest, call, manyCalls, usageBook, walletStand } from '../../unit/console/wallet/stand.ts';
import type { WalletStand } from '../../unit/console/wallet/stand.ts';

const chromium = await need('chromium');
const DESK = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };
const HOSTILE = '<img src=x onerror="document.title=\'broken\'">';

describe.skipIf(chromium.skip)('the Wallet in a browser', () => {
  const records: UsageRecord[] = [];
  const browser = suiteBrowser(chromium.path);
  let stand: WalletStand;
  let url = '';

  beforeAll(async () => {
    stand = walletStand(usageBook(records), [
      accountManifest('team-a', 'x'.repeat(60), [
        {
          name: 'y'.repeat(63),
          usd: '8999999999.999999999',
          reason: HOSTILE + 'z'.repeat(200),
        },
      ]),
    ]);
    const uids = ['ci', 'app'].map((name) => stand.world.apiKey('team-a', name).metadata.uid ?? '');
    records.push(
      ...manyCalls(400, uids),
      call('req_hostile', uids[0] ?? '', {
        model: HOSTILE + 'm'.repeat(150),
        unbilledNanoUsd: 1n,
        usageSource: 'Estimated',
      }),
    );
    await stand.app.listen({ host: '127.0.0.1', port: 0 });
    url = `http://127.0.0.1:${(stand.app.server.address() as AddressInfo).port}`;
  });
  afterAll(() => stand.app.close());

  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.open({ viewport: DESK, timezoneId: 'Asia/Tokyo', ...options });
    await page.goto(`${url}/sign-in`);
    await page.locator('input[name=token]').fill('alice');
    await page.locator('main button[type=submit]').click();
    await page.waitForURL(`${url}/keys`);
    noteComplaints(page, browser.complaints);
    await page.goto(url + path);
    return page;
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [name, viewport] of [
      ['desk', DESK],
      ['phone', PHONE],
    ] as const) {
      test(`has no axe violation and no overflow: ${colorScheme} on a ${name}`, async () => {
        const page = await open('/wallet', { colorScheme, viewport });
        for (const path of [
          '/wallet',
          '/wallet/team-a/main?days=90',
          '/wallet/team-a/main?key=ci',
          `/wallet/team-a/${'x'.repeat(60)}`,
          '/wallet/team-a/main/calls',
          '/wallet/team-a/main/calls?key=nope',
          '/models',
        ]) {
          await page.goto(url + path);
          for (const summary of await page.locator('main summary').all())
            if (await summary.isVisible()) await summary.click();
          assert.deepEqual(await axeFaults(page), [], path);
          assert.equal(await overflow(page), 0, path);
          assert.doesNotMatch(await page.title(), /broken/);
        }
      });
    }
  }

  test("shows times in the reader's zone, and in UTC without scripts", async () => {
    const shown = (page: Page): Promise<string> => page.locator('.calls time').first().innerText();
    assert.equal(await shown(await open('/wallet/team-a/main')), '2026-11-21 20:59:00');
    assert.equal(
      await shown(await open('/wallet/team-a/main', { javaScriptEnabled: false })),
      '2026-11-21 11:59:00 UTC',
    );
  });

  test('grants credit without scripts', async () => {
    const page = await open('/wallet/team-a/main', { javaScriptEnabled: false });
    const grant = page.getByRole('button', { name: 'Grant', exact: true });
    await page.getByRole('button', { name: 'Grant credit' }).click();
    await page.getByLabel('Amount in USD').fill('no');
    await grant.click();
    await page.getByRole('link', { name: /Amount: It must be a decimal/ }).click();
    assert.deepEqual(browser.complaints.splice(0), [
      'Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)',
    ]);
    await page.getByLabel('Amount in USD').fill('12.50');
    await page.getByLabel('Reason').fill(HOSTILE);
    await grant.click();
    await page.getByText('Granted: 12.50 USD as 2026-11').waitFor();
    assert.match(
      await page.locator('#grants tbody').innerText(),
      /2026-11\s+<img src=x[^\n]*\s+alice\s+2026-11-21 12:00 UTC\s+\$12\.50/,
    );
  });

  test('filters, pages and downloads calls by keyboard', async () => {
    const page = await open('/wallet/team-a/main');
    await page.getByRole('link', { name: 'All calls' }).press('Enter');
    await page.getByLabel('Model').fill('gpt-5-mini');
    await page.getByLabel('Model').press('Enter');
    await page.waitForURL(/model=gpt-5-mini/);
    const models = await page.locator('.calls td[data-label=Model] bdi:first-child').allInnerTexts();
    assert.ok(models.length > 0 && models.every((model) => ['gpt-5-mini', 'auto-a'].includes(model)));
    await page.getByRole('link', { name: 'Clear' }).press('Enter');
    await page.getByRole('link', { name: 'Older' }).press('Enter');
    await page.getByRole('link', { name: 'Newest' }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download as CSV' }).press('Enter'),
    ]);
    assert.equal(download.suggestedFilename(), 'calls-team-a-main.csv');
    assert.match(await readFile(await download.path(), 'utf8'), /^id,created_at,key,/);
  });
});

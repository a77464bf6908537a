/** All tasks at the console of one machine: `mgw run`, a real Chromium, and calls by a real SDK. */
import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { openEmbeddedLedger } from '../../../dataplane/ledger/embedded.ts';
import { need } from '../../support/needs.ts';
import { startMachine } from './console-machine.ts';
import type { Machine } from './console-machine.ts';
import { fillLedger, teamManifests } from './console-scene.ts';
import { openStage } from './console-stage.ts';
import type { Stage, Visitor } from './console-stage.ts';
import {
  call,
  downloadCsv,
  eventually,
  isTaken,
  remove,
  rotate,
  rowOf,
  shownKey,
  showToken,
  untilRefused,
  untilTaken,
} from './console-stories.ts';
import { pattern } from '../../support/pattern.ts';

const chromium = await need('chromium');

describe.skipIf(chromium.skip)('the console of one machine in a browser', () => {
  let machine: Machine;
  let stage: Stage;
  let admin: Visitor;
  let page: Page;
  let url = '';
  let sdkUrl = '';
  let token = '';
  let made = '';

  const manifestPath = (name: string): string => join(machine.path, 'manifests', name);
  const manifest = (name: string): Promise<string> => readFile(manifestPath(name), 'utf8');
  const at =
    (path: string) =>
    (address: URL): boolean =>
      address.pathname === path;

  beforeAll(async () => {
    machine = await startMachine({
      teams: { research: teamManifests('research'), support: teamManifests('support') },
      async fill(data) {
        const clock = { nowMs: 0 };
        const ledger = await openEmbeddedLedger({ path: join(data, 'ledger.db'), clock: () => clock.nowMs });
        await fillLedger(ledger, { clock, uidOf: (namespace, name) => `${namespace}/${name}`, nowMs: Date.now() });
      },
    });
    ({ consoleUrl: url, sdkUrl, adminToken: token } = machine);
    stage = await openStage(chromium.path);
    admin = await stage.visitor();
    ({ page } = admin);
    await admin.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  });
  afterAll(async () => {
    try {
      await stage?.close();
    } finally {
      await machine?.close();
    }
  });

  test('signs in with the right token only, then opens the requested page', async () => {
    await page.goto(`${url}/wallet`);
    assert.equal(new URL(page.url()).pathname, '/sign-in');
    await admin.inspect('sign-in');
    admin.expectStatus(422);
    await showToken(admin, 'Admin token', 'mgw-nobody');
    await page.getByText('This is not the admin token').waitFor();
    await showToken(admin, 'Admin token', token);
    await page.waitForURL(at('/wallet'));
    assert.equal(await page.evaluate('document.cookie'), '', 'scripts see no cookie');
  });

  test('lists keys with all columns, search, filters and sorting', async () => {
    await page.goto(`${url}/keys`);
    assert.equal(await page.locator('#keys-table tbody tr').count(), 8);
    assert.match(
      await rowOf(page, 'nightly-evals').innerText(),
      /research[\s\S]*sk-[\s\S]*Active[\s\S]*Batch[\s\S]*of \$60\.00[\s\S]*this month/,
    );
    await admin.inspect('keys');
    await page.getByRole('searchbox', { name: 'Search' }).pressSequentially('support');
    await page.getByRole('status').getByText('3 of 8 keys').waitFor();
    await page.getByRole('combobox', { name: 'Status', exact: true }).selectOption('Disabled');
    await page.getByRole('status').getByText('1 of 8 keys').waitFor();
    assert.deepEqual(await page.locator('#keys-table tbody th a').allInnerTexts(), ['voice-pilot']);
    await page.getByRole('searchbox', { name: 'Search' }).fill('no such key');
    await page.getByText('No key matches').waitFor();
    await admin.inspect('keys-no-match');
    await page.getByRole('link', { name: 'Show all keys' }).click();
    await page.getByRole('link', { name: 'Spent of limit' }).click();
    await page.waitForURL(/sort=-?spent/);
    const first = await page.locator('#keys-table tbody th').first().innerText();
    await page.getByRole('link', { name: 'Spent of limit' }).click();
    await page.waitForURL((address) => address.search !== '' && !address.search.includes(first));
    assert.equal(await page.locator('#keys-table thead [aria-sort]').count(), 1);
  });

  test('shows the wallet with charts, ranges, filtered and paged calls, and CSV', async () => {
    await page.goto(`${url}/wallet`);
    await page.getByRole('link', { name: 'main' }).first().click();
    await page.waitForURL(at('/wallet/research/main'));
    await page.getByRole('link', { name: '30 days' }).click();
    await page.waitForURL(/days=30|\/main$/);
    await page.locator('.chart .column').nth(20).waitFor();
    await admin.inspect('wallet');
    await page.getByText('As a table').click();
    assert.ok((await page.locator('.chart table tbody tr').count()) > 20);
    const [, sum = ''] = /\$([\d,.]+) for/.exec(await page.locator('.chart figcaption').innerText()) ?? [];
    assert.ok(Number(sum) > 50, sum);
    await page.getByRole('link', { name: 'All calls' }).click();
    await page.locator('.calls tbody tr').nth(49).waitFor();
    await admin.inspect('calls');
    const newest = await page.locator('.calls tbody th').first().innerText();
    await page.getByRole('link', { name: 'Older' }).click();
    await page.waitForURL(/before=/);
    assert.notEqual(await page.locator('.calls tbody th').first().innerText(), newest);
    await page.getByLabel('Key', { exact: true }).fill('ci-bot');
    await page.getByLabel('Status').selectOption('Failed');
    await admin.press('Apply');
    await page.waitForURL(/status=Failed/);
    const shown = await page.locator('.calls tbody tr').count();
    assert.ok(shown > 0);
    const lines = await downloadCsv(page);
    assert.equal(lines.length, shown);
    assert.ok(lines.every((line) => line.includes('ci-bot') && line.includes('Failed')));
    await page.getByLabel('Model').fill('no-such-model');
    await admin.press('Apply');
    await page.getByText('No call matches').waitFor();
    await admin.inspect('calls-none');
  });

  test('creates a key: shows an error at its field, and the key once, which works', async () => {
    await page.goto(`${url}/keys`);
    await page.getByRole('link', { name: 'Create key' }).click();
    await page.getByLabel('Account').selectOption('research/main');
    await page.getByLabel('Name', { exact: true }).fill('From Browser');
    await page.getByText('It will be called from-browser.').waitFor();
    await page.locator('input[name=group][value=priority]').check();
    await page.getByLabel('A limit in US dollars').check();
    await page.locator('input[name=limitUsd]').fill('lots');
    await admin.inspect('key-new');
    admin.expectStatus(422);
    await admin.press('Create key');
    await page.locator('#f-limitUsd-fault').waitFor();
    assert.equal(await page.locator('input[name=name]').inputValue(), 'From Browser');
    assert.equal(await page.evaluate('document.activeElement.id'), 'f-limitUsd', 'the first fault has the focus');
    assert.equal(await page.locator('input[name=limitUsd]').getAttribute('aria-invalid'), 'true');
    await admin.inspect('key-new-refused');
    await page.locator('input[name=limitUsd]').fill('3');
    await admin.press('Create key');
    made = await shownKey(admin);
    await admin.inspect('key-made');
    await page.locator('button[data-copy=key-text]').click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), made);
    const snippet = await page.locator('#snippet-openai-ts').innerText();
    assert.ok(snippet.includes(`${sdkUrl}/v1`) && snippet.includes(made));
    assert.notEqual(await call(sdkUrl, made), '');
    assert.match(await manifest('research-from-browser.yaml'), /limitUsd: "3"/);
    await page.reload();
    assert.ok(!(await page.content()).includes(made), 'it is shown once');
    await admin.inspect('key-made-over');
  });

  test('updates the list with spending, and the wallet', async () => {
    await page.goto(`${url}/keys?q=from-browser`);
    await page.evaluate('window.stays = document.querySelector("#keys-table tbody tr")');
    await call(sdkUrl, made);
    await rowOf(page, 'from-browser')
      .getByText(/^\$0\.00\d+|^< ?\$0\.01|^\$0\.0[1-9]/)
      .first()
      .waitFor();
    assert.equal(await page.evaluate('window.stays.isConnected'), true, 'the row was not replaced');
    await page.goto(`${url}/wallet/research/main?key=from-browser`);
    await eventually('both calls are in the wallet', async () => {
      // the ledger writes its file a little later
      await page.reload();
      return (await page.locator('.calls tbody tr').count()) === 2;
    });
    assert.match(
      await page.locator('.calls tbody tr').first().innerText(),
      /from-browser[\s\S]*gpt-4o[\s\S]*Succeeded[\s\S]*\$0\.\d+/,
    );
    await page.goto(`${url}/wallet`);
    await admin.inspect('wallets');
  });

  test('edits a key: shows an error at its field, changes one value of the file, and reports a conflict', async () => {
    const before = await manifest('research.yaml');
    await page.goto(`${url}/keys/research/nightly-evals`);
    await admin.inspect('key');
    const tabs = [
      ['Activity', 'key-activity'],
      ['Use it', 'key-use'],
      ['Settings', 'key-settings'],
    ] as const;
    for (const [tab, name] of tabs) {
      await page.getByRole('link', { name: tab, exact: true }).click();
      await admin.inspect(name);
    }
    admin.expectStatus(422);
    await page.locator('input[name=limitUsd]').fill('-1');
    await admin.press('Save');
    await page.locator('#f-limitUsd-fault').waitFor();
    await page.locator('input[name=limitUsd]').fill('75.50');
    await admin.press('Save');
    await page.waitForURL(/nightly-evals\/settings\?done=/);
    assert.equal(await manifest('research.yaml'), before.replace('"60.00"', '"75.50"'));

    const theirs = before.replace('"60.00"', '"90.00"');
    await writeFile(manifestPath('research.yaml'), theirs);
    admin.expectStatus(409);
    await page.locator('input[name=limitUsd]').fill('80');
    await admin.press('Save');
    await page.locator('#conflict').waitFor();
    assert.match(await page.locator('#conflict tr[data-field]').innerText(), /75\.50[\s\S]*90[\s\S]*80/);
    assert.equal(await manifest('research.yaml'), theirs, 'nothing is overwritten');
    await admin.inspect('key-settings-conflict');
    await admin.press('Apply on top of the new state');
    await page.waitForURL(/nightly-evals\/settings\?done=/);
    assert.equal(await manifest('research.yaml'), theirs.replace('"90.00"', '"80"'));
  });

  test('rotates a key: shows the new key once, and the old one is refused', async () => {
    const next = await rotate(admin, `${url}/keys/research/from-browser`);
    assert.notEqual(next, made);
    assert.deepEqual([await isTaken(sdkUrl, made), await isTaken(sdkUrl, next)], [false, true], 'at once');
    made = next;
  });

  test('disables a key, and enables it again', async () => {
    await page.goto(`${url}/keys?q=from-browser`);
    // the switch moves before the response
    const answered = page.waitForResponse((response) => response.request().method() === 'POST');
    await rowOf(page, 'from-browser').getByRole('switch').click();
    await answered;
    assert.equal(await isTaken(sdkUrl, made), false, 'at once');
    await rowOf(page, 'from-browser').getByText('Disabled').waitFor();
    // the offer stays for as long as the pointer is on it
    await page.getByText('from-browser is switched off').hover();
    await admin.inspect('keys-undo');
    await admin.press('Undo');
    await rowOf(page, 'from-browser').getByText('Active', { exact: true }).waitFor();
    assert.equal(await page.getByText('from-browser is switched off').count(), 0);
    await untilTaken(sdkUrl, made);
    await page.clock.install();
    await rowOf(page, 'from-browser').getByRole('switch').click();
    await page.getByText('from-browser is switched off').waitFor();
    await page.mouse.move(0, 0);
    await page.clock.runFor(10_500);
    assert.equal(await page.getByText('from-browser is switched off').count(), 0, 'ten seconds are over');
    await page.clock.resume();
    await rowOf(page, 'from-browser').getByText('Disabled').waitFor();
    await rowOf(page, 'from-browser').getByRole('switch').press('Space');
    await rowOf(page, 'from-browser').getByText('Active', { exact: true }).waitFor();
    await untilTaken(sdkUrl, made);
  });

  test('signs in with an API key, which sees only itself', async () => {
    const holder = await stage.visitor();
    await holder.page.goto(url);
    await showToken(holder, 'Admin token or API key', made);
    await holder.page.waitForURL(at('/keys/research/from-browser'));
    await holder.inspect('holder-key');
    for (const [tab, name] of [
      ['Activity', 'holder-activity'],
      ['Use it', 'holder-use'],
    ] as const) {
      await holder.page.getByRole('link', { name: tab, exact: true }).click();
      await holder.inspect(name);
    }
    assert.ok(!(await holder.page.content()).includes(made), 'it is shown nowhere');
    for (const path of ['/keys/research/ci-bot', '/wallet/research/main']) {
      holder.expectStatus(403);
      await holder.page.goto(url + path);
      await holder.page.getByRole('heading', { level: 1, name: 'You may not do this' }).waitFor();
    }
    await holder.page.goto(`${url}/keys`);
    assert.equal(await holder.page.locator('#keys-table tbody tr').count(), 1);
    assert.equal(await holder.page.getByRole('switch').isEnabled(), false);
    await holder.page.getByRole('button', { name: 'Sign out' }).click();
    await holder.page.getByText('You are signed out.').waitFor();
    await holder.context.close();
  });

  test('asks for the name before a deletion', async () => {
    await page.goto(`${url}/keys?q=from-browser`);
    await rowOf(page, 'from-browser').getByRole('link', { name: 'Delete' }).click();
    await admin.inspect('key-delete');
    await remove(admin, `${url}/keys/research/from-browser`, 'from-browser');
    await untilRefused(sdkUrl, made);
    assert.deepEqual((await readdir(join(machine.path, 'manifests'))).sort(), [
      'platform.yaml',
      'research.yaml',
      'support.yaml',
    ]);
    await page.goto(`${url}/wallet/research/main`);
    // what it has spent stays, under the name that it had
    await page.getByRole('link', { name: 'from-browser' }).first().waitFor();
  });

  test('grants credit: shows an error at its field, then adds a line to the manifest', async () => {
    await page.goto(`${url}/wallet/support/main`);
    admin.expectStatus(422);
    await admin.press('Grant credit');
    await admin.inspect('wallet-grant');
    await page.getByLabel('$25', { exact: false }).check();
    await page.getByText(/^The balance goes from \$[\d.]+ to \$[\d.]+\.$/).waitFor();
    const [before = 0, after = 0] = ((await page.locator('#credit-after').innerText()).match(/\d+\.\d+/g) ?? []).map(
      (usd) => Math.round(Number(usd) * 100),
    );
    assert.equal(after - before, 2500);
    await page.getByLabel('Amount in USD').fill('lots');
    await admin.press('Grant');
    await page.locator('#f-usd-fault').waitFor();
    assert.equal(await page.evaluate('document.activeElement.id'), 'f-usd', 'the fault has the focus');
    await admin.inspect('wallet-grant-refused');
    await page.getByLabel('Name', { exact: true }).fill('extra');
    await page.getByLabel('Amount in USD').fill('12.50');
    await page.getByLabel('Reason').fill('For the voice pilot');
    await admin.press('Grant');
    await page.getByText('Granted: 12.5').waitFor();
    const text = await manifest('support.yaml');
    assert.match(
      text,
      pattern(
        /November's budget, as agreed with finance"\}/,
        /\n {2}- name: extra\n {4}usd: "12\.50?"\n {4}reason: For the voice pilot/,
        /\n {4}grantedBy: admin\n {4}grantTime: .*Z"?\n---/,
      ),
    );
    assert.match(text, /^# Whoever needs more credit asks finance\.\n/);
    await page.goto(`${url}/wallet`);
    await page.getByText('$262.50').waitFor();
  });

  test('asks for confirmation before it takes credit back, with the balance before and after', async () => {
    await page.goto(`${url}/wallet/support/main`);
    await page.getByRole('link', { name: 'Take credit back' }).click();
    await page.getByLabel('Amount in USD').fill('2.50');
    await admin.inspect('wallet-take-back');
    await admin.press('Continue');
    await page.getByText(/The balance goes from \$\d+\.\d+ to \$\d+\.\d+/).waitFor();
    await admin.inspect('wallet-take-back-confirm');
    await admin.press('Take $2.50 back');
    await page.getByText('Taken back: 2.50 USD').waitFor();
    assert.match(await page.locator('#grants tbody tr').first().innerText(), /admin[\s\S]*−\$2\.50/);
  });

  test('shows models with prices, and the cost of a call', async () => {
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    await page.getByLabel('Model to price').selectOption('claude-sonnet-4-6');
    await page.getByLabel('Input tokens').fill('1000000');
    await page.getByLabel('Cached input').fill('0');
    await page.getByLabel('Output tokens').fill('0');
    await page.locator('[data-sum]', { hasText: /^\$3\.00$/ }).waitFor();
    await page.getByLabel('At the prices of').selectOption({ value: 'batch' });
    await page.locator('[data-sum]', { hasText: /^\$1\.50$/ }).waitFor();
    await admin.inspect('models');
  });

  test('shows overview and usage', async () => {
    await page.goto(url);
    await page.getByRole('heading', { name: 'Balances' }).waitFor();
    await admin.inspect('overview');
    await page.goto(`${url}/usage`);
    await page.locator('.chart rect').nth(20).waitFor();
    await admin.inspect('usage');
  });

  test("shows an unknown address as an error in the console's layout", async () => {
    admin.expectStatus(404);
    await page.goto(`${url}/keys/research/never-was`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await admin.inspect('fault');
  });

  test('signs out', async () => {
    await page.goto(`${url}/keys`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    await page.goBack();
    await page.waitForURL((address) => address.pathname === '/sign-in');
  });

  test('works without scripts: keys, form, switch, wallet and prices', async () => {
    const plain = await stage.visitor({ javaScriptEnabled: false });
    const { page: sheet, press } = plain;
    await sheet.goto(`${url}/keys`);
    await showToken(plain, 'Admin token', token);
    await sheet.getByRole('searchbox', { name: 'Search' }).fill('paper');
    await press('Apply');
    assert.equal(await sheet.locator('#keys-table tbody tr').count(), 1);
    await rowOf(sheet, 'paper-search').getByRole('switch').click();
    await rowOf(sheet, 'paper-search').getByRole('switch', { checked: false }).waitFor();
    await press('Undo');
    await rowOf(sheet, 'paper-search').getByRole('switch', { checked: true }).waitFor();
    await rowOf(sheet, 'paper-search').getByRole('switch').click();
    await rowOf(sheet, 'paper-search').getByRole('switch', { checked: false }).waitFor();
    assert.match(sheet.url(), /q=paper/, 'the view stays');
    await sheet.goto(`${url}/keys/new?namespace=support`);
    await sheet.getByLabel('Name', { exact: true }).fill('plain');
    await sheet.locator('input[name=group][value=standard]').check();
    await press('Create key');
    const key = sheet.locator('#key-text');
    for (let looks = 0; looks < 100 && (await key.count()) === 0; looks++) await sheet.reload();
    assert.match(await call(sdkUrl, await key.innerText()), /./);
    assert.equal(await sheet.locator('button[data-copy]:visible').count(), 0, 'what needs scripts is not there');
    await sheet.goto(`${url}/keys/support/plain/settings`);
    await sheet.locator('input[name=maxConcurrency]').fill('4');
    await press('Save');
    assert.match(await manifest('support-plain.yaml'), /maxConcurrency: 4/);
    await sheet.goto(`${url}/keys/support/plain/delete`);
    await sheet.locator('input[name=confirm]').fill('plain');
    await press('Delete this key');
    await sheet.waitForURL(at('/keys'));
    await sheet.goto(`${url}/wallet/support/main/calls`);
    await sheet.getByLabel('Status').selectOption('Client left');
    await press('Apply');
    assert.ok((await sheet.locator('.calls tbody tr').count()) > 0);
    await sheet.goto(`${url}/models`);
    await sheet.getByLabel('Model to price').selectOption('gpt-4o');
    await sheet.getByLabel('Output tokens').fill('1000000');
    await press('Calculate');
    assert.match(await sheet.locator('[data-sum]').innerText(), /^\$10\.\d+$/);
    await sheet.getByRole('button', { name: 'Sign out' }).click();
    await sheet.getByText('You are signed out.').waitFor();
  });
});

/** The console of one machine as its admin has it: `mgw run`, a real Chromium, real calls, and the manifests that come of it. */
import assert from 'node:assert/strict';
import { cp, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openBrowser } from '../dataplane/pricing/browser.ts';
import { startMgw, tempFolder } from '../support/cli.ts';
import type { RunningCli } from '../support/cli.ts';
import { need } from '../support/needs.ts';

const QUICKSTART = join(import.meta.dirname, '..', '..', 'docs', 'examples', 'quickstart');
const chromium = await need('chromium');
const PATIENCE_MS = 15_000;

describe('the console of mgw run', { skip: chromium.skip }, () => {
  let folder: Awaited<ReturnType<typeof tempFolder>>;
  let demo: RunningCli;
  let gateway: RunningCli;
  let browser: Browser;
  let page: Page;
  let url = '';
  let sdkUrl = '';
  let team = '';
  const complaints: string[] = [];
  const manifest = (name: string): Promise<string> => readFile(join(folder.path, 'manifests', name), 'utf8');
  const submit = (name: string): Promise<void> => page.locator('main').getByRole('button', { name, exact: true }).click();

  before(async () => {
    folder = await tempFolder();
    await cp(QUICKSTART, join(folder.path, 'manifests'), { recursive: true });
    demo = startMgw(['demo-provider', '--listen', '127.0.0.1:0']);
    const [, demoUrl = ''] = await demo.until(/the demo provider answers on (\S+)/);
    const platform = join(folder.path, 'manifests', 'platform.yaml');
    await writeFile(platform, (await readFile(platform, 'utf8')).replaceAll('http://127.0.0.1:4010', demoUrl));
    team = await manifest('team-a.yaml');
    gateway = startMgw(['run', '--config', 'manifests', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--console', '127.0.0.1:0', '--hello'], { cwd: folder.path });
    [, url = ''] = await gateway.until(/Console +(http:\S+):/);
    [, sdkUrl = ''] = await gateway.until(/Prices +(http:\S+)\/pricing/);
    const [, token = ''] = await gateway.until(/^ {2}(mgw-[\w-]{43})$/m);
    browser = await openBrowser(chromium.path);
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(url);
    await page.getByLabel('Admin token').fill(token);
    await submit('Sign in');
    await page.waitForURL(`${url}/keys`);
  });
  after(async () => {
    await browser.close();
    for (const cli of [gateway, demo]) await cli[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
    assert.deepEqual(complaints, []);
  });

  async function call(key: string): Promise<Response> {
    const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] });
    const answer = await fetch(`${sdkUrl}/v1/chat/completions`, { method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' }, body });
    await answer.text();
    return answer;
  }

  async function shownKey(): Promise<string> {
    await page.waitForURL('**/created?*');
    return /sk-\w{48}/.exec(await page.locator('main').innerText())?.[0] ?? '';
  }

  test('a key is made, called with, changed, rotated, disabled and deleted', async () => {
    await page.goto(`${url}/keys/new?namespace=team-a`);
    await page.locator('input[name=name]').fill('from-console');
    await page.locator('input[name=group][value=standard]').check();
    await page.locator('input[name=quota][value=Limited]').check();
    await page.locator('input[name=limitUsd]').fill('3');
    await page.locator('main form button[type=submit]').last().click();
    const key = await shownKey();
    assert.equal((await call(key)).status, 200);
    assert.match(await manifest('team-a-from-console.yaml'), /limitUsd: "3"/);
    await page.reload();
    assert.ok(!(await page.content()).includes(key), 'its text is shown once');

    await page.goto(`${url}/keys/team-a/first`);
    await page.locator('input[name=limitUsd]').fill('7.25');
    await page.locator('main form', { has: page.locator('input[name=limitUsd]') }).locator('button[type=submit]').last().click();
    await page.waitForURL('**/keys/team-a/first?done=*');
    assert.equal(await manifest('team-a.yaml'), team.replace('limitUsd: "5.00"', 'limitUsd: "7.25"'), 'one value is other');

    await page.goto(`${url}/keys/team-a/from-console/rotate`);
    await page.locator('main form input[type=radio]').first().check();
    await submit('Make a new key');
    const next = await shownKey();
    assert.notEqual(next, key);
    assert.deepEqual([(await call(key)).status, (await call(next)).status], [401, 200]);

    await page.goto(`${url}/keys`);
    const row = page.locator('tr', { hasText: 'from-console' });
    const answered = page.waitForResponse((response) => response.request().method() === 'POST'); // the switch moves before it
    await row.getByRole('switch').click();
    await answered;
    await row.getByRole('switch', { checked: false }).waitFor();
    assert.equal((await call(next)).status, 401);

    await page.goto(`${url}/keys/team-a/from-console/delete`);
    await page.locator('input[name=confirm]').fill('from-console');
    await submit('Delete this key');
    await page.waitForURL((at) => at.pathname === '/keys');
    assert.deepEqual((await readdir(join(folder.path, 'manifests'))).sort(), ['platform.yaml', 'team-a.yaml']);
  });

  test('the wallet shows the calls, and takes a grant', async () => {
    await page.goto(`${url}/wallet/team-a/team-a/calls`);
    await page.locator('td', { hasText: 'gpt-4o-mini' }).first().waitFor();
    await page.goto(`${url}/wallet/team-a/team-a`);
    const form = page.locator('form[action$="/grants"]');
    await form.locator('input[name=name]').fill('more');
    await form.locator('input[name=usd]').fill('10');
    await form.locator('button[type=submit]').click();
    await page.waitForLoadState();
    assert.match(await manifest('team-a.yaml'), /\{name: welcome, usd: "25\.00", reason: to try things out\}\n {2}- name: more\n {4}usd: "10"/);
    await page.goto(`${url}/wallet/team-a/team-a`);
    await page.getByText('$35.00').first().waitFor();
  });

  test('a change by somebody else meanwhile is shown, not overwritten', async () => {
    await page.goto(`${url}/keys/team-a/first`);
    const theirs = (await manifest('team-a.yaml')).replace('limitUsd: "7.25"', 'limitUsd: "9"');
    await writeFile(join(folder.path, 'manifests', 'team-a.yaml'), theirs);
    await page.locator('input[name=limitUsd]').fill('8');
    await page.locator('main form', { has: page.locator('input[name=limitUsd]') }).locator('button[type=submit]').last().click();
    await page.getByText(/changed/i).first().waitFor();
    assert.equal(await manifest('team-a.yaml'), theirs);
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes('409'))); // Chromium notes the status
  });
});

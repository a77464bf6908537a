/** The tasks of each role in a real Chromium, with the number of clicks that they take; typing does not count. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { loadAssets } from '../../../console/assets.ts';
import { createConsoleFixture } from '../../support/console-access.ts';
import { need } from '../../support/needs.ts';
import { ACCOUNT, ANNA, BOTH, keysIn, keysStand, PLATFORM, READER, TENANTS } from '../../unit/console/keys/stand.ts';
import { call, usageBook } from '../../unit/console/wallet/stand.ts';
import { openStage } from './console-stage.ts';
import type { Stage, Visitor } from './console-stage.ts';
import { rowOf, showToken } from './console-stories.ts';

const chromium = await need('chromium');
const KEY = `sk-${'k'.repeat(48)}`;
const PHONE = { width: 390, height: 844 };

describe.skipIf(chromium.skip)('tasks of each role', () => {
  let stage: Stage;
  const running: { close(): PromiseLike<unknown> }[] = [];

  beforeAll(async () => {
    stage = await openStage(chromium.path);
  });
  afterAll(async () => {
    try {
      await stage?.close();
    } finally {
      for (const app of running) await app.close();
    }
  });

  /** A console over these objects. */
  async function serve(
    manifests: readonly unknown[],
  ): Promise<{ url: string; world: ReturnType<typeof createConsoleFixture> }> {
    const world = createConsoleFixture([...PLATFORM, ...manifests]);
    const usage = usageBook(
      [...world.objects.values()]
        .filter(({ kind }) => kind === 'ApiKey')
        .map(({ metadata }) => call(`req_${metadata.name}`, metadata.uid ?? '', { account: 'team-a/team-a' })),
    );
    const { app } = keysStand({ world, usage, assets: loadAssets(), keys: keysIn(world) });
    await app.listen({ host: '127.0.0.1', port: 0 });
    running.push(app);
    return { url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, world };
  }

  /** A person who is signed in, with clicks counted from there. */
  async function enter(url: string, token: string): Promise<Visitor & { clicks: () => number }> {
    const visitor = await stage.visitor();
    let clicks = 0;
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await visitor.page.goto(url);
    await showToken(visitor, 'Token or API key', token);
    await visitor.page.locator('.site-person').waitFor();
    await visitor.page.exposeFunction('countClick', () => {
      clicks++;
    });
    const count = 'addEventListener("pointerdown", () => window.countClick(), true)';
    await visitor.page.addInitScript(count);
    await visitor.page.evaluate(count);
    return { ...visitor, clicks: () => clicks };
  }

  const clipboard = (page: Page): Promise<string> => page.evaluate('navigator.clipboard.readText()');

  test('take a newcomer to the first call, with the key in it, in at most 5 clicks', async () => {
    const { url, world } = await serve([ACCOUNT]);
    const { page, press, inspect, clicks } = await enter(url, ANNA.name);
    await page.getByRole('link', { name: 'Create key' }).click();
    await page.locator('input[name=name]:focus').waitFor();
    await page.keyboard.type('My CI Bot');
    await press('Create key');
    const key = world.mint('team-a', 'my-ci-bot');
    await page.locator('#key-text').waitFor();
    await page.locator('button[data-copy^="snippet-"]').first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    assert.ok((await clipboard(page)).includes(key));
    assert.ok(clicks() <= 5, `${clicks()} clicks`);
    await inspect('role-first-call');
  });

  test('let a newcomer create an account on the way to the key', async () => {
    const { url, world } = await serve([]);
    const { page, press, inspect } = await enter(url, ANNA.name);
    await page.goto(`${url}/keys/new`);
    await inspect('role-no-account');
    world.put({
      ...createConsoleFixture([ACCOUNT]).objects.get('Account team-a/team-a')!,
      metadata: {
        namespace: 'team-b',
        name: 'team-b',
        uid: 'b',
        generation: 1,
      },
    });
    await page.getByRole('link', { name: 'Create account' }).click();
    await page.getByLabel('Credit in USD').fill('25');
    await inspect('account-new');
    await press('Create account');
    await page.waitForURL(/\/keys\/new\?account=/);
    assert.equal(await page.getByLabel('Account', { exact: true }).inputValue(), 'team-a/main');
    await inspect('role-account-made');
  });

  test('let a payer top up an account in 3 clicks', async () => {
    const { url, world } = await serve(TENANTS);
    const { page, press, clicks } = await enter(url, BOTH.name);
    await page.getByRole('navigation').getByRole('link', { name: 'Wallet' }).click();
    await page.getByRole('link', { name: 'Grant credit to team-a/team-a' }).click();
    await page.locator('#credit-form').waitFor();
    assert.equal(await page.evaluate('document.activeElement.name'), 'usd');
    await page.keyboard.type('25');
    await page.getByText(/^The balance goes from \$182\.43 to \$207\.43\.$/).waitFor();
    await press('Grant');
    await page.getByText('Granted: 25 USD').waitFor();
    assert.ok(clicks() <= 3, `${clicks()} clicks`);
    assert.match(JSON.stringify(world.objects.get('Account team-a/team-a')?.spec), /"usd":"25"/);
  });

  test('let the owner of a key set it to Unlimited in 3 clicks', async () => {
    const { url, world } = await serve(TENANTS);
    const { page, press, clicks, inspect } = await enter(url, ANNA.name);
    await page.getByRole('link', { name: 'ci-bot', exact: true }).click();
    await page.getByRole('button', { name: 'Change limit' }).click();
    await inspect('role-limit');
    await press('Set to Unlimited');
    await page.getByText('The limit is changed.').waitFor();
    assert.ok(clicks() <= 3, `${clicks()} clicks`);
    assert.equal(world.apiKey('team-a', 'ci-bot').spec.quota.limitUsd, 'Unlimited');
  });

  test('show what changes in the list of keys without moving people from their place', async () => {
    const { url, world } = await serve(TENANTS);
    const { page } = await enter(url, ANNA.name);
    await page.setViewportSize({ width: 900, height: 300 });
    await page.goto(`${url}/keys?sort=name`);
    const row = rowOf(page, 'ci-bot');
    await row.getByRole('switch').focus();
    await page.evaluate(`{
      const row = document.querySelector('[data-key="team-a/ci-bot"]');
      row.seen = true;
      document.querySelector('[data-key="team-a/intern-2026"] details').open = true;
      getSelection().selectAllChildren(row.querySelector('a bdi'));
      scrollTo(0, 120);
    }`);
    const place = `({
      seen: document.querySelector('[data-key="team-a/ci-bot"]').seen,
      focus: document.activeElement.closest('tr')?.dataset.key,
      selected: String(getSelection()),
      scrolled: scrollY,
      opened: document.querySelector('[data-key="team-a/intern-2026"] details').open,
    })`;
    const before = await page.evaluate(place);
    const changed = world.apiKey('team-a', 'ci-bot');
    const { metadata } = changed;
    world.put({ ...changed, metadata: { ...metadata, name: 'a-new-one', uid: 'a-new-one' } });
    world.put({ ...changed, spec: { ...changed.spec, enabled: false } });
    await rowOf(page, 'a-new-one').waitFor();
    await row.getByText('Disabled').waitFor();
    assert.equal(await row.getByRole('switch').getAttribute('aria-checked'), 'false');
    assert.deepEqual(await page.evaluate(place), before);
    assert.deepEqual(before, {
      seen: true,
      focus: 'team-a/ci-bot',
      selected: 'ci-bot',
      scrolled: 120,
      opened: true,
    });
    const times = await page.locator('#keys-table time').evaluateAll((all) => all.map((each) => each.textContent));
    assert.notEqual(times.length, 0);
    assert.ok(
      times.every((text) => !text.includes('UTC')),
      'times stay local',
    );
  });

  test('show a reader why calls are refused, without an offer to change anything', async () => {
    const { url } = await serve(TENANTS);
    const { page, inspect } = await enter(url, READER.name);
    await page.getByRole('navigation').getByRole('link', { name: 'API Keys' }).click();
    assert.match(await rowOf(page, 'intern-2026').innerText(), /Not accepted/);
    assert.equal(await page.locator('#keys-table tbody tr').first().getAttribute('data-key'), 'team-a/intern-2026');
    await inspect('role-reader');
    assert.equal(await page.getByRole('link', { name: /^(Edit|Copy|Rotate|Delete|Create)/ }).count(), 0);
    await page.goto(`${url}/wallet/team-a/team-a`);
    assert.equal(await page.getByText(/Grant credit|Take credit back/).count(), 0);
  });

  test('show the holder of a key the remaining money at once, and an example in 2 clicks', async () => {
    const { url, world } = await serve(TENANTS);
    const ciBot = world.apiKey('team-a', 'ci-bot');
    world.put({ ...ciBot, status: { ...ciBot.status, keyHash: hash('sha256', KEY, 'hex') } });
    const { page, clicks, inspect } = await enter(url, KEY);
    await page.getByText('$3.61').first().waitFor();
    await inspect('role-holder');
    await page.getByRole('link', { name: 'Use it' }).click();
    await page.locator('button[data-copy^="snippet-"]').first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    assert.match(await clipboard(page), /\$MGW_KEY/);
    assert.ok(clicks() <= 2, `${clicks()} clicks`);
  });

  test("show the first key on a phone's first screen, on compressed pages", async () => {
    const { url } = await serve(TENANTS);
    const { page } = await enter(url, ANNA.name);
    await page.setViewportSize(PHONE);
    const response = await page.goto(`${url}/keys`);
    assert.equal(response?.headers()['content-encoding'], 'gzip');
    const box = await page.locator('#keys-table tbody tr').first().boundingBox();
    assert.ok(box && box.y + box.height <= PHONE.height, JSON.stringify(box));
    for (const path of ['/', '/keys', '/models', '/playground']) {
      await page.goto(`${url}${path}`);
      const item = await page.locator('.site-nav [aria-current]').boundingBox();
      assert.ok(item && item.x >= 0 && item.x + item.width <= PHONE.width, `${path} ${JSON.stringify(item)}`);
    }
  });
});

/** Signing in and out in a real Chromium, light and dark, on a phone and on a desktop, with and without scripts. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { html } from '#web/html.ts';
import { AccessError } from '../../../console/access/access.ts';
import { loadAssets } from '../../../console/assets.ts';
import type { ConsoleRoute } from '../../../console/route.ts';
import { postForm } from '../../../console/components/form.ts';
import { axeFaults, noteComplaints, overflow, suiteBrowser } from '../../support/browser.ts';
import { need } from '../../support/needs.ts';
import { ALICE, stand } from '../../unit/console/stand.ts';
import type { Stand } from '../../unit/console/stand.ts';

const chromium = await need('chromium');
const FOLDER = process.env['SCREENSHOTS'];

const ROUTES: ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/keys',
    handle: ({ person, csrf }) => ({
      page: {
        title: 'Keys',
        active: 'keys',
        body: html`<h1>Keys of ${person.person.name}</h1>
          ${postForm({ action: '/keys', csrf }, html`<button type="submit">Change</button>`)}`,
      },
    }),
  },
  { method: 'POST', path: '/keys', handle: () => ({ redirect: '/keys?changed' }) },
  {
    method: 'GET',
    path: '/refused',
    handle: () => {
      throw new AccessError('Invalid', 'Some fields are not valid. Nothing was changed.', {
        fields: [{ path: 'spec.quota.limitUsd', message: 'must be a decimal' }],
      });
    },
  },
];

describe.skipIf(chromium.skip)('signing in with a browser', () => {
  const browser = suiteBrowser(chromium.path);
  let made: Stand;
  let url = '';

  beforeAll(async () => {
    made = stand({ routes: ROUTES, assets: loadAssets() });
    await made.app.listen({ host: '127.0.0.1', port: 0 });
    url = `http://127.0.0.1:${(made.app.server.address() as AddressInfo).port}`;
  });
  afterAll(() => made.app.close());

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.open(options);
    noteComplaints(page, browser.complaints, (text) => /Content Security Policy/.test(text));
    return page;
  }

  async function signIn(page: Page, token = ALICE): Promise<void> {
    await page.getByLabel('Token', { exact: true }).fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [name, width] of [
      ['desk', 1280],
      ['phone', 360],
    ] as const) {
      test(`has no axe violation and no overflow: ${colorScheme}, on a ${name}`, async () => {
        const page = await open({ colorScheme, viewport: { width, height: 800 }, bypassCSP: true });
        const check = async (what: string): Promise<void> => {
          assert.deepEqual(await axeFaults(page), [], what);
          assert.equal(await overflow(page), 0, `${what} is wider than the window`);
          if (FOLDER !== undefined)
            await page.screenshot({
              path: `${FOLDER}/${what.replaceAll(' ', '-')}-${colorScheme}-${name}.png`,
              fullPage: true,
            });
        };
        await page.goto(`${url}/keys`);
        await check('the sign-in page');
        await signIn(page, 'wrong');
        await page.getByRole('alert').waitFor();
        await check('the sign-in page after a wrong token');
        await signIn(page);
        await page.getByRole('heading', { name: 'Keys of alice' }).waitFor();
        await check('a page');
        await page.goto(`${url}/refused`);
        await check('a refusal');
      });
    }
  }

  test('works with the keyboard and without scripts, and returns to the requested page', async () => {
    const page = await open({ javaScriptEnabled: false });
    await page.goto(`${url}/keys?search=ci`);
    await page.keyboard.press('Tab'); // from the token's field, which has the focus, to the button
    await page.getByLabel('Token', { exact: true }).focus();
    await page.keyboard.type(ALICE);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Keys of alice' }).waitFor();
    assert.equal(page.url(), `${url}/keys?search=ci`);
    await page.getByRole('button', { name: 'Change' }).click();
    await page.waitForURL(`${url}/keys?changed`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    await page.goto(`${url}/keys`);
    assert.match(page.url(), /\/sign-in\?next=%2Fkeys$/);
  });

  test('skips the navigation with the first Tab', async () => {
    const page = await open();
    await page.goto(`${url}/keys`);
    await signIn(page);
    await page.getByRole('heading', { name: 'Keys of alice' }).waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the page');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main');
  });

  test('protects the session from other sites, whose links need one click to lead in', async () => {
    let body = '';
    const other = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(body));
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.2', resolve);
    });
    try {
      const page = await open();
      await page.goto(`${url}/keys`);
      await signIn(page);
      await page.getByRole('heading', { name: 'Keys of alice' }).waitFor();
      const cookies = await page.context().cookies();
      assert.deepEqual(
        cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite]),
        [[true, 'Strict']],
      );
      assert.equal(await page.evaluate('document.cookie'), '');

      body =
        `<a href="${url}/keys">look</a><form method="post" ` +
        `action="${url}/keys"><button>attack</button></form><iframe src="${url}/sign-in"></iframe>`;
      const evil = `http://127.0.0.2:${(other.address() as AddressInfo).port}/`;
      await page.goto(evil);
      await page.getByRole('link', { name: 'look' }).click();
      await page.getByText('You followed a link from another site.').waitFor();
      await page.getByRole('link', { name: 'go on to the page' }).click();
      await page.getByRole('heading', { name: 'Keys of alice' }).waitFor();
      await page.goto(evil);
      await page.getByRole('button', { name: 'attack' }).click();
      await page.getByText('This form came from another site').waitFor();
      // the test is that no page can frame it
      const others = browser.complaints.splice(0).filter((text) => !text.includes('frame-ancestors'));
      assert.deepEqual(others, []);
    } finally {
      other.closeAllConnections();
      other.close();
    }
  });
});

/** The console below a path in a real Chromium, behind a proxy that removes the path and serves nothing else. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, request as forward } from 'node:http';
import type { Server } from 'node:http';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { need } from '../../support/needs.ts';
import { startMachine } from './console-machine.ts';
import type { Machine } from './console-machine.ts';
import { teamManifests } from './console-scene.ts';
import { openStage } from './console-stage.ts';
import type { Stage, Visitor } from './console-stage.ts';
import { eventually, showToken } from './console-stories.ts';

const chromium = await need('chromium');
const BASE = '/llm/console';
const MAX_PAGES = 400;

describe.skipIf(chromium.skip)('the console below a path', () => {
  let proxy: Server;
  let machine: Machine;
  let stage: Stage;
  let admin: Visitor;
  let page: Page;
  let origin = '';
  /** Requests that are not below the path. */
  const strayed: string[] = [];

  beforeAll(async () => {
    proxy = createServer((request, response) => {
      const { url = '', method = 'GET', headers } = request;
      if (!url.startsWith(`${BASE}/`)) {
        strayed.push(url);
        response.writeHead(404).end();
        return;
      }
      const path = url.slice(BASE.length);
      const passed = forward(new URL(machine.consoleUrl), { method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      passed.on('error', () => response.destroy());
      request.pipe(passed);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const address = proxy.address();
    origin = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
    machine = await startMachine({
      teams: { research: teamManifests('research') },
      flags: ['--console-url', `${origin}${BASE}/`],
    });
    stage = await openStage(chromium.path);
    admin = await stage.visitor();
    ({ page } = admin);
  });
  afterAll(async () => {
    try {
      await stage?.close();
    } finally {
      await machine?.close();
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  const at = (path: string): string => `${origin}${BASE}${path}`;

  test('signs in, and returns to the page that was asked for', async () => {
    await page.goto(at('/wallet'));
    assert.equal(page.url(), at('/sign-in?next=%2Fwallet'));
    await showToken(admin, 'Admin token', machine.adminToken);
    await page.waitForURL(at('/wallet'));
  });

  test('has no link, form or asset elsewhere, and every page opens', async () => {
    const left = [at('/')];
    const seen = new Set(left);
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const response = await page.request.get(next, { maxRedirects: 0 });
      assert.ok(response.status() < 400, `${next}: ${response.status()}`);
      if (!(response.headers()['content-type'] ?? '').startsWith('text/html')) continue;
      const markup = await response.text();
      for (const [, name, value = ''] of markup.matchAll(/\s(href|src|action|formaction)="([^"]*)"/g)) {
        const url = new URL(value.replaceAll('&amp;', '&'), next);
        if (url.origin !== origin) continue;
        assert.ok(url.pathname.startsWith(`${BASE}/`), `${next} leads to ${value}`);
        url.hash = '';
        const isPage = name === 'href' || name === 'src';
        if (!isPage || seen.has(url.href) || seen.size >= MAX_PAGES) continue;
        seen.add(url.href);
        left.push(url.href);
      }
    }
    assert.ok(seen.size > 50, `${seen.size} pages`);
  });

  test('filters, switches and downloads keys without leaving the path', async () => {
    await page.goto(at('/keys'));
    await page.getByRole('searchbox', { name: 'Search' }).fill('nightly');
    await page.waitForURL(at('/keys?q=nightly'));
    await eventually('one row', async () => (await page.locator('#keys-table tbody tr').count()) === 1);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download as CSV' }).click(),
    ]);
    assert.equal(download.url(), at('/keys.csv?q=nightly'));
    await page.getByRole('switch').click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually('on again', async () => (await page.getByRole('switch').getAttribute('aria-checked')) === 'true');
    assert.equal(page.url(), at('/keys?q=nightly'));
  });

  test('streams a call in the playground', async () => {
    const secret = await readFile(join(machine.path, 'data', 'secrets', 'research', 'ci-bot-key.yaml'), 'utf8');
    await page.goto(at('/playground'));
    await page.getByLabel('Key', { exact: true }).selectOption('paste');
    await page.getByLabel('API key', { exact: true }).fill(/sk-\w+/.exec(secret)?.[0] ?? '');
    await page.getByLabel('API key', { exact: true }).press('Tab');
    await page.getByLabel('Prompt', { exact: true }).fill('Hello');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.pg-turn').last().locator('.pg-facts', { hasText: '$' }).waitFor();
  });

  test('links from a refusal to the page of the key', async () => {
    const response = await fetch(`${machine.sdkUrl}/`, { headers: { accept: 'text/html' } });
    assert.ok((await response.text()).includes(at('')));
  });

  test('signs out', async () => {
    await page.goto(at('/keys'));
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(at('/sign-in?why=out'));
    await page.goto(at('/keys'));
    assert.equal(page.url(), at('/sign-in?next=%2Fkeys'));
    assert.deepEqual(strayed, []);
  });
});

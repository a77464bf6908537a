/**
 * A real Chromium for tests: one browser for a suite, pages in contexts of their own, what the browser complains of,
 * and what every page must pass: nothing for axe to find, nothing wider than the screen.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';

/** Two cores may be busy with other suites. */
const PATIENCE_MS = 60_000;
const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];
/** Rules about a page as a whole and about contrast; what is only advice is left out. */
const AXE_RUN = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => ` +
  `id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`;

let axe: Promise<string> | undefined;

/** A browser with a fresh profile; its contexts share nothing. */
export function openBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: FLAGS, headless: true });
}

export interface SuiteBrowser {
  /** A page in a context that ends with the test. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** What the browser has complained of in this test. Whatever is in it when the test ends fails it. */
  readonly complaints: string[];
}

/** To be called first in a suite: opens a browser before its tests and closes it after them. */
export function suiteBrowser(executablePath: string): SuiteBrowser {
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];
  beforeAll(async () => { browser = await openBrowser(executablePath); });
  afterAll(() => browser?.close());
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    assert.deepEqual(complaints.splice(0), []);
  });
  return {
    complaints,
    async open(options) {
      const context = await browser.newContext(options);
      contexts.push(context);
      context.setDefaultTimeout(PATIENCE_MS);
      return context.newPage();
    },
  };
}

/** What a browser says of a test that types before the page's own choice of a field has come: no fault of the page. */
export function isOfHaste(text: string): boolean {
  return text.startsWith('Autofocus processing was blocked');
}

/** Notes what the page's console says, as far as it counts, and every script that fails. */
export function noteComplaints(page: Page, complaints: string[], counts: (text: string) => boolean = () => true): void {
  page.on('console', (message) => { if (!isOfHaste(message.text()) && counts(message.text()))
    complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(error.message));
}

/** What axe finds wrong with the page that is open. */
export async function axeFaults(page: Page): Promise<string[]> {
  axe ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(await axe);
  return page.evaluate<string[]>(AXE_RUN);
}

/** By how many pixels the page is wider than its window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/** Whether the page's ground is light or dark. */
export async function themeOf(page: Page): Promise<'light' | 'dark'> {
  await page.waitForLoadState('domcontentloaded'); // a page that has just been navigated to has no body yet
  const [red = 0] =
    await page.evaluate<number[]>('getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)');
  return red > 127 ? 'light' : 'dark';
}

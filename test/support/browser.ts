/**
 * A real Chromium for tests: one browser for a suite, a context for each page, the browser's errors, and the checks of
 * every page: no violation by axe, and no horizontal overflow.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';

/** Other suites may keep both cores busy. */
const TIMEOUT_MS = 60_000;
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** axe's rules about whole pages and contrast; advice is left out. */
const AXE_RUN =
  `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => ` +
  `id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`;

let axe: Promise<string> | undefined;

/** A browser with a fresh profile; its contexts share nothing. */
export function openBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: FLAGS, headless: true });
}

export interface SuiteBrowser {
  /** Opens a page in a context that is closed after the test. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** The browser's errors in this test. The test fails if there are any at its end. */
  readonly complaints: string[];
}

/** Call it first in a suite: it opens a browser before the tests and closes it after them. */
export function suiteBrowser(executablePath: string): SuiteBrowser {
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await openBrowser(executablePath);
  });
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
      context.setDefaultTimeout(TIMEOUT_MS);
      return context.newPage();
    },
  };
}

/** A browser's message if a test types before the page sets the focus, which is not an error of the page. */
export function isOfHaste(text: string): boolean {
  return text.startsWith('Autofocus processing was blocked');
}

/** Records the page's console messages and script errors. */
export function noteComplaints(page: Page, complaints: string[], counts: (text: string) => boolean = () => true): void {
  page.on('console', (message) => {
    if (!isOfHaste(message.text()) && counts(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
}

/** Returns axe's violations on the open page. */
export async function axeFaults(page: Page): Promise<string[]> {
  axe ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(await axe);
  return page.evaluate<string[]>(AXE_RUN);
}

/** Returns the overflow of the page in pixels. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/** Whether the page's background is light or dark. */
export async function themeOf(page: Page): Promise<'light' | 'dark'> {
  await page.waitForLoadState('domcontentloaded'); // a page that has just been navigated to has no body yet
  const [red = 0] = await page.evaluate<number[]>(
    'getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)',
  );
  return red > 127 ? 'light' : 'dark';
}

/**
 * A real Chromium for the console's tests: one browser for a suite, a context for each person, and one inspection of
 * every page, in both themes and two widths: no violation by axe, no horizontal overflow, and, where MGW_SCREENSHOTS
 * names a folder, a screenshot. The browser's errors (scripts, refused content, failed requests) are collected.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { axeFaults, isOfHaste, openBrowser, overflow, themeOf } from '../../support/browser.ts';

/** Other suites may keep both cores busy. */
export const TIMEOUT_MS = 60_000;
const DESK = { width: 1280, height: 860 };
const PHONE = { width: 390, height: 844 };
const WIDTHS = [DESK, PHONE];
const THEMES = ['light', 'dark'] as const;

export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Inspects the open page. `name` is for its screenshots. */
  readonly inspect: (name: string) => Promise<void>;
  /** Submits the form with this button. */
  readonly press: (name: string) => Promise<void>;
  /** Accepts an expected status of 400 or above, for which the browser logs an error. */
  readonly expectStatus: (status: number) => void;
}

export interface Stage {
  visitor(options?: BrowserContextOptions): Promise<Visitor>;
  /** Fails if a browser has logged an error. */
  close(): Promise<void>;
}

export async function openStage(chromiumPath: string): Promise<Stage> {
  const browser: Browser = await openBrowser(chromiumPath);
  const complaints: string[] = [];
  return {
    async visitor(options = {}) {
      const context = await browser.newContext({
        viewport: DESK,
        colorScheme: 'light',
        timezoneId: 'Europe/Berlin',
        ...options,
      });
      context.setDefaultTimeout(TIMEOUT_MS);
      const page = await context.newPage();
      const expected: number[] = [];
      listen(page, complaints, expected);
      return {
        page,
        context,
        inspect: (name) => inspect(page, name),
        press: (name) => page.locator('main').getByRole('button', { name, exact: true }).click(),
        expectStatus: (status) => {
          expected.push(status);
        },
      };
    },
    async close() {
      await browser.close();
      assert.deepEqual(complaints, []);
    },
  };
}

function listen(page: Page, complaints: string[], expected: number[]): void {
  const note = (text: string): void => {
    complaints.push(`${page.url()}: ${text}`);
  };
  page.on('console', (message) => {
    if (isOfHaste(message.text())) return;
    const [, status] = /status of (\d+)/.exec(message.text()) ?? [];
    const at = expected.indexOf(Number(status));
    if (at >= 0) expected.splice(at, 1);
    else note(message.text());
  });
  page.on('pageerror', (error) => note(error.message));
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? '';
    // a poll that navigation interrupts, and a file that is saved instead of shown
    if (why !== 'net::ERR_ABORTED') note(`failed: ${request.url()} ${why}`);
  });
}

async function inspect(page: Page, name: string): Promise<void> {
  const folder = process.env['MGW_SCREENSHOTS'];
  for (const viewport of WIDTHS) {
    await page.setViewportSize(viewport);
    for (const colorScheme of THEMES) {
      const where = `${name}, ${colorScheme}, ${viewport.width} wide`;
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      assert.equal(await themeOf(page), colorScheme, where);
      assert.equal(await overflow(page), 0, `${where}: wider than the screen`);
      assert.deepEqual(await axeFaults(page), [], where);
      if (folder) await takePicture(page, viewport, join(folder, `${name}-${colorScheme}-${viewport.width}.png`));
    }
  }
  await page.setViewportSize(DESK);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
}

/** Of the whole page: rows below the window would not be rendered (content-visibility). */
async function takePicture(page: Page, viewport: typeof DESK, path: string): Promise<void> {
  await page.evaluate('scrollTo(0, 0)');
  const height = await page.evaluate('document.documentElement.scrollHeight');
  await page.setViewportSize({ ...viewport, height: Math.max(viewport.height, Number(height)) });
  await page.screenshot({ path, fullPage: true });
  await page.setViewportSize(viewport);
}

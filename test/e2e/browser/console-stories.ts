/** Tasks with a key, in the browser and with an SDK, for one machine and for a cluster. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import OpenAI, { AuthenticationError } from 'openai';
import type { Locator, Page } from 'playwright-core';
import { TIMEOUT_MS } from './console-stage.ts';
import type { Visitor } from './console-stage.ts';

const LOOK_AGAIN_MS = 200;

/** Makes a call as a program does. Resolves with the model's text. */
export async function call(sdkUrl: string, apiKey: string): Promise<string> {
  const client = new OpenAI({ apiKey, baseURL: `${sdkUrl}/v1`, maxRetries: 0 });
  const { choices } = await client.chat.completions.create({
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'Hello' }],
  });
  return choices[0]?.message.content ?? '';
}

/** Polls until the condition is true. */
export async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + TIMEOUT_MS; !(await holds()); await delay(LOOK_AGAIN_MS))
    assert.ok(performance.now() < deadline, `${what}: not in time`);
}

/** Proxies learn of a change a moment after the console has responded. */
export function untilTaken(sdkUrl: string, key: string): Promise<void> {
  return eventually('calls with the key are taken', () => isTaken(sdkUrl, key));
}

export function untilRefused(sdkUrl: string, key: string): Promise<void> {
  return eventually('calls with the key are refused', async () => !(await isTaken(sdkUrl, key)));
}

/** Whether a call with the key is served now. */
export async function isTaken(sdkUrl: string, key: string): Promise<boolean> {
  try {
    return (await call(sdkUrl, key)) !== '';
  } catch (error) {
    if (error instanceof AuthenticationError) return false;
    throw error;
  }
}

/** The row of a key in the list. */
export function rowOf(page: Page, name: string): Locator {
  return page.locator('#keys-table tbody tr', { hasText: name });
}

/** Signs in, on the page from which one is redirected to the sign-in. */
export async function showToken({ page, press }: Visitor, label: string, token: string): Promise<void> {
  await page.getByLabel(label).fill(token);
  await press('Sign in');
}

/** Returns the key that is shown on the page after its creation. */
export async function shownKey({ page }: Visitor): Promise<string> {
  const text = await page.locator('#key-text').innerText();
  assert.match(text, /^sk-\w{48}$/);
  assert.ok(!page.url().includes(text));
  return text;
}

/** Rotates the key without an overlap. Resolves with the new one. */
export async function rotate(visitor: Visitor, keyUrl: string): Promise<string> {
  const { page, press } = visitor;
  await page.goto(keyUrl);
  await page.getByRole('link', { name: 'Rotate', exact: true }).click();
  await visitor.inspect('key-rotate');
  await page.locator('input[name=overlap][value="0"]').check();
  await press('Make a new key');
  return shownKey(visitor);
}

/** Deletes the key, after a wrong name. */
export async function remove(visitor: Visitor, keyUrl: string, name: string): Promise<void> {
  const { page, press } = visitor;
  await page.goto(`${keyUrl}/delete`);
  visitor.expectStatus(422);
  await page.locator('input[name=confirm]').fill('another');
  await press('Delete this key');
  await page.locator('#f-confirm-fault').waitFor();
  await page.locator('input[name=confirm]').fill(name);
  await press('Delete this key');
  await page.waitForURL((address) => address.pathname === '/keys');
  await page.getByRole('status').first().waitFor();
  assert.equal(await rowOf(page, name).count(), 0);
}

/** Returns the CSV of a page of calls, without its header. */
export async function downloadCsv(page: Page): Promise<readonly string[]> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download as CSV' }).click(),
  ]);
  assert.match(download.suggestedFilename(), /\.csv$/);
  const [head = '', ...lines] = (await readFile(await download.path(), 'utf8')).trimEnd().split(/\r?\n/);
  assert.match(head, /model.*cost/i);
  return lines;
}

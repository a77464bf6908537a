/** Usage and calls in a real Chromium: each page light and dark, on a desktop and on a phone. */
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { UsageRecord } from '#usage/record.ts';
import type { ActivityEntry, RefusalCount } from '#activity/activity.ts';
import { TEST_NOW_MS } from '../../support/console-access.ts';
import { need } from '../../support/needs.ts';
import { refusedEntry, servedEntry } from '../../unit/dataplane/activity/entries.ts';
import { activityOf, manyCalls, ROUTE_WITH_COST, usageBook, walletStand } from '../../unit/console/wallet/stand.ts';
import type { WalletStand } from '../../unit/console/wallet/stand.ts';
import { openStage } from './console-stage.ts';
import type { Stage, Visitor } from './console-stage.ts';

const chromium = await need('chromium');
const DAY_MS = 86_400_000;
const TODAY = Math.floor(TEST_NOW_MS / DAY_MS);
const PATH = '/wallet/team-a/main';

describe.skipIf(chromium.skip)('usage in a browser', () => {
  let stand: WalletStand;
  let stage: Stage;
  let visitor: Visitor;
  let url = '';

  beforeAll(async () => {
    const records: UsageRecord[] = [];
    const entries: ActivityEntry[] = [];
    const counts: RefusalCount[] = [];
    stand = walletStand(usageBook(records), [ROUTE_WITH_COST], activityOf(entries, counts));
    const uids = ['ci', 'app'].map((name) => stand.world.apiKey('team-a', name).metadata.uid ?? '');
    fill({ records, entries, counts, uids });
    await stand.app.listen({ host: '127.0.0.1', port: 0 });
    url = `http://127.0.0.1:${(stand.app.server.address() as AddressInfo).port}`;
    stage = await openStage(chromium.path);
    visitor = await visitorAs('alice');
  });
  async function visitorAs(token: string): Promise<Visitor> {
    const signedIn = await stage.visitor();
    const { page } = signedIn;
    await page.goto(`${url}/sign-in`);
    await page.locator('input[name=token]').fill(token);
    await page.locator('main button[type=submit]').click();
    await page.waitForURL(`${url}/keys`);
    return signedIn;
  }
  afterAll(async () => {
    await stage.close();
    await stand.app.close();
  });

  test('shows refused calls two clicks from the account', async () => {
    const { page, inspect } = visitor;
    await page.goto(url + PATH);
    await page.getByText('13 refused today: 12 over a spending limit, 1 out of credit').waitFor();
    await inspect('account-with-refusals');
    await page.getByRole('link', { name: 'All refused calls' }).click();
    await page.getByText('This key has used up its quota').first().waitFor();
    await inspect('refused');
    await page.locator('.refused th a').first().click();
    await page.getByText('Refused: Out of credit').waitFor();
    await inspect('refused-call');
  });

  test("opens the calls of a chart's column", async () => {
    const { page, inspect } = visitor;
    await page.getByRole('link', { name: 'Usage', exact: true }).click();
    await page.getByRole('heading', { name: 'Cost by day and model' }).waitFor();
    await inspect('usage');
    for (const name of ['Key', 'Calls', '7 days', 'Hour'])
      await page.locator('.segments').getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name: 'Calls by hour and key' }).waitFor();
    await inspect('usage-by-hour');
    const part = page.locator('.stacked a', { has: page.locator('title', { hasText: 'team-a/ci' }) }).last();
    const title = await part.locator('title').textContent();
    await part.click();
    await page.getByRole('heading', { name: 'Calls', exact: true }).waitFor();
    const [, calls = ''] = /: (\d+ calls?)$/.exec(title ?? '') ?? [];
    assert.match(await page.locator('.bar-line').innerText(), new RegExp(`^${calls} · \\$`));
    assert.equal(await page.locator('.calls tbody tr').count(), Number.parseInt(calls, 10));
    await page.goto(`${url}/usage/calls?by=key&model=gpt-5-mini`);
    await inspect('usage-calls');
  });

  test('fits calls with all columns of cost into 1,280 pixels, and into a tablet', async () => {
    const { page, inspect } = await visitorAs('petra');
    for (const path of ['/usage/calls?since=2026-08-01', '/usage/refused?since=2026-08-01', `${PATH}/calls`]) {
      await page.goto(url + path);
      for (const width of [1280, 1024]) {
        await page.setViewportSize({ width, height: 860 });
        const box = await page
          .locator('.table-box:has(.calls)')
          .evaluate((each) => each.scrollWidth - each.clientWidth);
        assert.equal(box, 0, `${path} at ${width}: the table is wider than its box`);
        // a model's name has room for a word, and is not broken within it
        const narrowest = await page
          .locator('.calls td[data-label="Model"]')
          .evaluateAll((cells) => Math.min(...cells.map((cell) => cell.getBoundingClientRect().width)));
        assert.ok(narrowest >= 110, `${path} at ${width}: ${narrowest} px for a model`);
      }
    }
    await page.goto(`${url}/usage/calls?since=2026-08-01`);
    await inspect('usage-calls-with-margins');
    await page.goto(`${url}/usage/refused?since=2026-08-01`);
    await inspect('usage-refused');
  });

  test('downloads the month by team in three clicks, and prints it whole', async () => {
    const { page, inspect } = await visitorAs('petra');
    await page.getByRole('link', { name: 'Usage', exact: true }).click();
    await page.getByRole('link', { name: 'Months', exact: true }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download as CSV' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'usage-2026-11.csv');
    await inspect('usage-months');
    // A4 across, without its margins
    await page.setViewportSize({ width: 1032, height: 700 });
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.evaluate("document.querySelector('.month').scrollWidth > innerWidth"), false);
    assert.equal(await page.evaluate(displayOf('.month tfoot')), 'table-row-group');
    await page.goto(`${url}/usage?since=2026-08-01`);
    const folded = page.locator('details.fold > :not(summary)');
    assert.ok((await folded.count()) > 0);
    for (const part of await folded.all()) assert.ok(((await part.boundingBox())?.height ?? 0) > 20);
    // A4 upright: a table stays one
    await page.setViewportSize({ width: 718, height: 1000 });
    assert.equal(await page.evaluate(displayOf('.usage-names tbody tr')), 'table-row');
  });

  test('tells why a call was refused in three clicks, and goes back', async () => {
    const { page } = await visitorAs('petra');
    await page.goto(`${url}/keys`);
    await page.getByRole('link', { name: 'Usage', exact: true }).click();
    await page.getByRole('link', { name: 'Refused', exact: true }).click();
    await page.locator('.refused th a').first().click();
    await page.getByText('Refused: Out of credit').waitFor();
    await page
      .getByRole('navigation', { name: 'Where this page is' })
      .getByRole('link', { name: 'Refused calls' })
      .click();
    await page.waitForURL(/\/usage\/refused/);
  });

  test('finds a request id from any page by the keyboard, in any width', async () => {
    const { page, inspect } = await visitorAs('petra');
    await page.keyboard.press('/');
    await page.keyboard.type('req_1f0e58dfb2cf4b01a6a4f8c8d1a4d4aa');
    await page.keyboard.press('Enter');
    await page.getByText('Refused: Out of credit').waitFor();
    for (const width of [320, 1024, 1280]) {
      await page.setViewportSize({ width, height: 860 });
      assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, `${width}`);
      const broken = await page
        .locator('.site-nav a')
        .evaluateAll((links) =>
          links
            .filter((each) => each.getClientRects().length > 1 || each.clientHeight > 60)
            .map((each) => each.textContent),
        );
      assert.deepEqual(broken, [], `${width}`);
    }
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.locator('#find').fill('team-a');
    await page.keyboard.press('Enter');
    await page.waitForURL(/namespace=team-a/);
    await page.goto(`${url}/find?q=a`);
    await inspect('find');
  });

  test("shows a key's own chart, refusals and calls", async () => {
    const { page, inspect } = visitor;
    await page.goto(`${url}/keys/team-a/ci`);
    await page.getByRole('link', { name: 'Activity', exact: true }).click();
    await page.getByText('12 refused today').waitFor();
    await inspect('key-activity');
  });

  test("shows a call's attempts and its price by token class", async () => {
    const { page, inspect } = visitor;
    await page.goto(`${url}${PATH}/calls`);
    await inspect('calls');
    await page.locator('.calls th a').first().click();
    await page.getByRole('heading', { name: 'Tries' }).waitFor();
    assert.match(await page.locator('.call-price tfoot').innerText(), /Billed\s+\$0\.0/);
    await inspect('call');
  });
});

function displayOf(selector: string): string {
  return `getComputedStyle(document.querySelector('${selector}')).display`;
}

interface Filled {
  readonly records: UsageRecord[];
  readonly entries: ActivityEntry[];
  readonly counts: RefusalCount[];
  readonly uids: readonly string[];
}

function fill({ records, entries, counts, uids }: Filled): void {
  const [ci = '', app = ''] = uids;
  const long = ['Qwen/Qwen3-Coder-480B-A35B-Instruct', 'claude-sonnet-4-5-20250929-long-context'];
  records.push(
    ...manyCalls(400, uids).map((record, at) => ({
      ...record,
      group: 'main',
      model: long[at % 7] ?? record.model,
      ...(at % 3 > 0 && { upstreamCostNanoUsd: (record.costNanoUsd * 8n) / 10n }),
    })),
  );
  const latest = records.toSorted((a, b) => b.createdMs - a.createdMs)[0];
  assert.ok(latest);
  entries.push(
    servedEntry(latest.callId, { keyUid: latest.keyUid, atMs: latest.createdMs, model: latest.model }),
    refusedEntry('req_1f0e58dfb2cf4b01a6a4f8c8d1a4d4aa', {
      keyUid: app,
      atMs: TEST_NOW_MS - 20_000,
      httpStatus: 402,
      errorCode: 'credit_balance_exhausted',
      model: 'claude-sonnet-4-5',
      message:
        'The account team-a/main has used up its credit of $100.00. Its owner can ' +
        'grant more: https://console.example.com/wallet/team-a/main or spec.grants of Account team-a/main.',
    }),
    ...Array.from({ length: 8 }, (_, at) =>
      refusedEntry(`req_${String(at).padStart(32, '0')}`, {
        keyUid: ci,
        atMs: TEST_NOW_MS - at * 61_000 - 30_000,
        ...(at < 7 && { model: 'gpt-5-mini' }),
        message:
          'This key has used up its quota of $25.00 for November; it starts anew on 1 December (UTC). The owner ' +
          'of the key can raise it or set it to Unlimited: https://console.example.com/keys/team-a/ci.',
      }),
    ),
  );
  const count = (keyUid: string, errorCode: string, calls: number, day = TODAY): RefusalCount => ({
    account: 'team-a/main',
    day,
    keyUid,
    errorCode,
    calls,
  });
  counts.push(
    count(ci, 'insufficient_quota', 12),
    count(app, 'credit_balance_exhausted', 1),
    count(ci, 'insufficient_quota', 3, TODAY - 1),
    count(ci, 'rate_limit_exceeded', 1_204, TODAY - 3),
  );
}

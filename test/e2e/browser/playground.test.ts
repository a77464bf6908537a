/** The playground in a real Chromium: `mgw run`, the demo provider, and a key with credit. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
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

const videosAt = (demoUrl: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: videos}
spec:
  models: [{name: sora-2, endpoints: [Videos]}, {name: sora-2-pro, endpoints: [Videos]}]
  channels: [{name: demo, protocol: OpenAI, baseUrl: "${demoUrl}/v1"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: videos}
spec: {models: [{name: sora-2, vendor: OpenAI, quotaType: Request, requestUsd: "0.4"}, {name: sora-2-pro, vendor: OpenAI, quotaType: Request, perSecondUsd: "0.1"}]}
`;

describe.skipIf(chromium.skip)('the playground', () => {
  let machine: Machine;
  let stage: Stage;
  let admin: Visitor;
  let page: Page;
  let url = '';
  let sdkUrl = '';
  let token = '';
  let key = '';

  beforeAll(async () => {
    machine = await startMachine({
      teams: {
        research: `${teamManifests('research')}---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: tiny, namespace: research}
spec: {groupRef: {name: standard}, accountRef: {name: main}, quota: {limitUsd: "0.006", minOutputTokens: 16}}
`,
      },
      platform: videosAt,
    });
    ({ consoleUrl: url, sdkUrl, adminToken: token } = machine);
    const secret = await readFile(join(machine.path, 'data', 'secrets', 'research', 'ci-bot-key.yaml'), 'utf8');
    key = /sk-\w+/.exec(secret)?.[0] ?? assert.fail(secret);
    stage = await openStage(chromium.path);
    admin = await stage.visitor();
    ({ page } = admin);
    await admin.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(url);
    await showToken(admin, 'Admin token', token);
    await page.getByRole('link', { name: 'Playground' }).click();
  });
  afterAll(async () => {
    try {
      await stage?.close();
    } finally {
      await machine?.close();
    }
  });

  const answer = () => page.locator('.pg-turn').last();

  async function ask(prompt: string): Promise<string> {
    await page.getByLabel('Prompt', { exact: true }).fill(prompt);
    await page.getByRole('button', { name: 'Send' }).click();
    await answer().locator('.pg-facts', { hasText: '$' }).waitFor();
    return answer().locator('.pg-facts').innerText();
  }

  /** Returns the usage record as the key's holder gets it. */
  async function read(path: string): Promise<Record<string, unknown>> {
    const response = await fetch(sdkUrl + path, { headers: { authorization: `Bearer ${key}` } });
    return (await response.json()) as Record<string, unknown>;
  }

  test("calls a chosen key's models in each dialect, at the ledger's cost", async () => {
    await page.getByLabel('Key', { exact: true }).selectOption('research/ci-bot');
    await page.locator('#pg-model:enabled').waitFor();
    assert.deepEqual(await page.locator('#pg-model option').allInnerTexts(), [
      'claude-haiku-4-5',
      'claude-sonnet-4-6',
      'flux-1.1-pro',
      'gpt-4o',
      'gpt-4o-mini',
      'sora-2',
      'sora-2-pro',
      'text-embedding-3-small',
    ]);
    let spent = 0;
    for (const [model, api] of [
      ['gpt-4o', '/v1/chat/completions'],
      ['claude-haiku-4-5', '/v1/messages'],
      ['gpt-4o-mini', '/v1/responses'],
    ] as const) {
      await page.getByLabel('Model').selectOption(model);
      await page.getByLabel('API', { exact: true }).selectOption(api);
      const [called, facts] = await Promise.all([
        page.waitForResponse((response) => response.url().endsWith('/playground/calls')),
        ask(`Hello from ${model}`),
      ]);
      const id = called.headers()['x-request-id'] ?? '';
      assert.notEqual(await answer().locator('.pg-answer').innerText(), '');
      const record = await read(`/v1/usage/${id}`);
      assert.equal(record['model'], model);
      const [, cost = ''] =
        /^\$(\S+) · [\d,]+ tokens in.*, [\d,]+ out · [\d.]+ s, first words after [\d.]+ s · (\S+)$/.exec(facts) ??
        assert.fail(facts);
      assert.equal(cost, record['cost_usd']);
      spent += Number(cost);
      assert.match((await answer().locator('code').textContent()) ?? '', new RegExp(`^curl -N '${sdkUrl}${api}'`));
    }
    const { spent_usd: total } = await read('/v1/key');
    assert.ok(Math.abs(Number(total) - spent) < 1e-9, `${String(total)} and ${spent}`);
  });

  test('copies the call as curl, with the key from the environment', async () => {
    await answer().getByText('The same call as curl').click();
    await answer().getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    assert.match(copied, /Bearer \$MGW_KEY/);
    assert.ok(!copied.includes(key));
    await admin.inspect('playground');
  });

  test('creates an image with a pasted key, which stays in the page', async () => {
    await page.getByLabel('Key', { exact: true }).selectOption('paste');
    await page.getByLabel('API key').fill(key);
    await page.getByLabel('API key').press('Tab');
    await page.locator('#pg-model:enabled').waitFor();
    await page.getByLabel('Model').selectOption('flux-1.1-pro');
    assert.equal(await page.getByLabel('API', { exact: true }).isVisible(), false);
    assert.match(await ask('A lighthouse at dawn'), /^\$0\.04 · [\d.]+ s · flux-1\.1-pro$/);
    await answer().locator('img').waitFor();
    assert.ok(await page.evaluate('document.querySelector(".pg-answer img").decode().then(() => true)'));
    await admin.inspect('playground-image');
    assert.ok(!page.url().includes('sk-'));
    assert.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0);
    await page.reload();
    assert.ok(!(await page.content()).includes(key));
    assert.equal(await page.locator('.pg-turn').count(), 0);
  });

  test('creates an embedding and a video, waits for the video and saves it', async () => {
    await page.getByLabel('Key', { exact: true }).selectOption('research/ci-bot');
    await page.locator('#pg-model:enabled').waitFor();
    await page.getByLabel('Model').selectOption('text-embedding-3-small');
    assert.match(await ask('A lighthouse'), /^\$0\.0+\d+ · \d+ tokens in, 0 out · [\d.]+ s · text-embedding-3-small$/);
    assert.match(await answer().locator('.pg-answer').innerText(), /^64 dimensions: (?:-?0\.\d{4}, ){8}…$/);
    await page.getByLabel('Model').selectOption('sora-2');
    assert.match(await ask('A lighthouse at dusk'), /^\$0\.40 · [\d.]+ s · sora-2$/);
    await admin.inspect('playground-video');
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      answer()
        .getByRole('link', { name: /Save the video/ })
        .click(),
    ]);
    assert.equal(file.suggestedFilename(), 'video.avi');
    assert.equal((await readFile(await file.path())).subarray(0, 4).toString(), 'RIFF');
  });

  test('asks how many seconds where a video is paid by them', async () => {
    await page.getByLabel('Model').selectOption('sora-2');
    assert.equal(await page.getByLabel('Seconds of video').isVisible(), false);
    await page.getByLabel('Model').selectOption('sora-2-pro');
    await page.getByLabel('Seconds of video').fill('8');
    assert.match(await ask('A lighthouse at dawn'), /^\$0\.80 /);
  });

  test('reports a failed video, which costs nothing', async () => {
    await page.getByLabel('Prompt', { exact: true }).fill('fail later');
    const [made] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/playground/calls')),
      page.getByRole('button', { name: 'Send' }).click(),
    ]);
    await answer().getByRole('alert').waitFor();
    const record = await read(`/v1/usage/${made.headers()['x-request-id']}`);
    assert.deepEqual([record['status'], record['cost_usd']], ['Refunded', '0.00']);
    await page.getByRole('button', { name: 'New conversation' }).click();
  });

  test("shows the gateway's errors, and no key appears in logs", async () => {
    await page.getByLabel('Key', { exact: true }).selectOption('paste');
    admin.expectStatus(401);
    await page.getByLabel('API key').fill(`sk-${'x'.repeat(48)}`);
    await page.getByLabel('API key').press('Tab');
    await page
      .getByRole('alert')
      .getByText(/API key.*invalid_api_key/)
      .waitFor();
    await admin.inspect('playground-refused');
    for (const cli of machine.programs) {
      const said = cli.stdout() + cli.stderr();
      assert.ok(!said.includes(key) && !said.includes('xxxxxxxx') && !said.includes('lighthouse'));
    }
  });

  test('shows that a key whose call was refused for money has reached its limit', async () => {
    await page.getByLabel('Key', { exact: true }).selectOption('research/tiny');
    await page.locator('#pg-model:enabled').waitFor();
    await page.getByLabel('Model').selectOption('gpt-4o');
    admin.expectStatus(429);
    const refused = answer().getByRole('alert');
    for (let calls = 0; calls < 20 && (await refused.count()) === 0; calls++) {
      if (calls > 0) await page.getByRole('button', { name: 'New conversation' }).click();
      await page.getByLabel('Prompt', { exact: true }).fill('Hello');
      await page.getByRole('button', { name: 'Send' }).click();
      await answer().locator('.pg-facts', { hasText: '$' }).or(refused).waitFor();
    }
    await refused.getByText(/\$0\.000\d* is left of this key's quota.*insufficient_quota/).waitFor();
    await eventually('the status follows', async () => {
      await page.goto(`${url}/keys?status=LimitReached`);
      return (await page.locator('#keys-table tbody tr', { hasText: 'tiny' }).count()) === 1;
    });
    await page.getByRole('link', { name: 'tiny', exact: true }).click();
    await page.getByText(/\$0\.000\d remains, too little for its last call/).waitFor();
  });

  test('uses the key with which its holder has signed in', async () => {
    const holder = await stage.visitor();
    await holder.page.goto(url);
    await showToken(holder, 'Admin token or API key', key);
    await holder.page.getByRole('link', { name: 'Use it' }).click();
    await holder.page.getByRole('link', { name: 'Open in playground' }).click();
    await holder.page.getByText('Paid by research/ci-bot').waitFor();
    await holder.page.locator('#pg-model:enabled').waitFor();
    await holder.page.getByLabel('Prompt', { exact: true }).fill('Hello');
    await holder.page.getByLabel('Prompt', { exact: true }).press('Control+Enter');
    await holder.page.locator('.pg-facts', { hasText: '$' }).waitFor();
  });
});

/** The response at the gateway's root, for people and for programs. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { get, post, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

const NO_KEY = { 'no-key': '1' };

describe('GET /', () => {
  let stack: TestStack;
  let knownConsole: string | undefined;
  beforeAll(async () => {
    stack = await startTestStack({ consoleUrl: () => knownConsole });
  });
  afterAll(() => stack.stop());

  it('is a page for people, with the base URLs of both SDKs, the prices and the console', async () => {
    knownConsole = 'https://console.example';
    const page = await get(stack, '/', { ...NO_KEY, accept: 'text/html,*/*;q=0.8' });
    assert.equal(page.status, 200);
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    assert.ok(page.text.includes(`<code id="base-openai">${stack.gateway.url}/v1</code>`));
    assert.ok(page.text.includes(`<code id="base-anthropic">${stack.gateway.url}</code>`));
    assert.match(page.text, /<a href="pricing">.*<a href="https:\/\/console\.example">Console<\/a>/s);
  });
  it('is JSON for programs', async () => {
    knownConsole = undefined;
    const { url } = stack.gateway;
    for (const accept of ['application/json', '*/*'])
      assert.deepEqual((await get(stack, '/', { ...NO_KEY, accept })).json(), {
        object: 'gateway',
        name: 'Model Gateway',
        base_urls: { openai: `${url}/v1`, anthropic: url },
        models: `${url}/v1/models`,
        pricing: `${url}/pricing.json`,
        console: null,
      });
  });
  it('shows the address with which a proxy in front was called', async () => {
    const headers = { ...NO_KEY, accept: 'application/json', 'x-forwarded-proto': 'https' };
    const { base_urls: addresses } = (await get(stack, '/', headers)).json();
    assert.equal(addresses.anthropic, stack.gateway.url.replace('http:', 'https:'));
  });
  it('refuses POST', async () => {
    const answer = await post(stack, '/', {});
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'GET, HEAD']);
  });
});

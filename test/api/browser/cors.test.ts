/** Pages of allowed origins can call the API; other pages, and by default all, cannot. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { chat, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { openaiChat, openaiStream } from '../../support/provider-answers.ts';

const ORIGIN = 'https://app.example';
const PREFLIGHT = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,x-stainless-lang',
};

let stack: TestStack;
let open: TestStack;
let closed: TestStack;
beforeAll(async () => {
  [stack, open, closed] = await Promise.all([
    startTestStack({ corsOrigins: [ORIGIN] }),
    startTestStack({ corsOrigins: ['*'] }),
    startTestStack(),
  ]);
});
afterAll(() => Promise.all([stack.stop(), open.stop(), closed.stop()]));

const ask = (to: TestStack, method: string, path: string, headers: Record<string, string>): Promise<Response> =>
  fetch(to.gateway.url + path, { method, headers });
const call = (to: TestStack, headers: Record<string, string>, more: object = {}): Promise<Response> =>
  fetch(`${to.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(chat('gpt-model', { ...more })),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEYS.main}`, ...headers },
  });

describe('a preflight request', () => {
  it('is answered on every path, without a key', async () => {
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/models', '/v1/key', '/pricing.json', '/nowhere']) {
      const response = await ask(stack, 'OPTIONS', path, { origin: ORIGIN, ...PREFLIGHT });
      assert.equal(response.status, 204, path);
      assert.equal(response.headers.get('access-control-allow-origin'), ORIGIN);
      assert.equal(response.headers.get('access-control-allow-headers'), 'authorization,x-stainless-lang');
      assert.match(response.headers.get('access-control-allow-methods') ?? '', /POST/);
      assert.equal(response.headers.get('vary'), 'origin');
    }
  });

  it('is refused for other origins, and for every origin by default', async () => {
    const refused = [
      [stack, 'https://other.example'],
      [stack, `${ORIGIN}.evil`],
      [closed, ORIGIN],
    ] as const;
    for (const [to, origin] of refused) {
      const response = await ask(to, 'OPTIONS', '/v1/messages', { origin, ...PREFLIGHT });
      assert.notEqual(response.status, 204);
      assert.equal(response.headers.get('access-control-allow-origin'), null);
    }
  });
});

describe('a response', () => {
  it('can be read by a page of an allowed origin, with its headers, whole, streamed or an error', async () => {
    stack.openai.script(openaiChat({ content: 'ok' }), openaiStream(['ok']));
    const responses = [
      await call(stack, { origin: ORIGIN }),
      await call(stack, { origin: ORIGIN }, { stream: true }),
      await call(stack, { origin: ORIGIN, authorization: 'Bearer sk-wrong' }),
      await ask(stack, 'GET', '/v1/models', { origin: ORIGIN }),
      await ask(stack, 'GET', '/nowhere', { origin: ORIGIN }),
    ];
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200, 401, 401, 404],
    );
    for (const response of responses) {
      assert.equal(response.headers.get('access-control-allow-origin'), ORIGIN);
      const exposed = response.headers.get('access-control-expose-headers') ?? '';
      assert.match(exposed, /x-modelgateway-cost-usd/);
      assert.match(exposed, /x-ratelimit-remaining-output-tokens.*anthropic-ratelimit-input-tokens-reset/);
      await response.text();
    }
  });

  it('of the price list adds Origin to its other values of Vary', async () => {
    const response = await ask(stack, 'GET', '/pricing', { origin: ORIGIN, accept: 'application/json' });
    assert.match(response.headers.get('vary') ?? '', /accept.*origin/i);
    await response.text();
  });

  it('is readable by all origins if * is allowed, and by none by default', async () => {
    const [any, none] = [
      await ask(open, 'GET', '/pricing.json', { origin: 'https://x.example' }),
      await ask(closed, 'GET', '/pricing.json', { origin: ORIGIN }),
    ];
    assert.equal(any.headers.get('access-control-allow-origin'), 'https://x.example');
    assert.equal(none.headers.get('access-control-allow-origin'), null);
    await Promise.all([any.text(), none.text()]);
  });
});

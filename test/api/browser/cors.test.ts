/** Pages of an allowed origin may call the API; pages of other origins, and all of them by default, may not. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { chat, startWorld } from '../../support/api/world.ts';
import type { World } from '../../support/api/world.ts';
import { KEYS } from '../../support/manifests.ts';
import { openaiChat, openaiStream } from '../../support/provider-answers.ts';

const ORIGIN = 'https://app.example';
const PREFLIGHT = {
  'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,x-stainless-lang',
};

let world: World;
let open: World;
let closed: World;
beforeAll(async () => {
  [world, open, closed] = await Promise.all([
    startWorld({ corsOrigins: [ORIGIN] }), startWorld({ corsOrigins: ['*'] }), startWorld(),
  ]);
});
afterAll(() => Promise.all([world.stop(), open.stop(), closed.stop()]));

const ask = (to: World, method: string, path: string, headers: Record<string, string>): Promise<Response> =>
  fetch(to.gateway.url + path, { method, headers });
const call = (to: World, headers: Record<string, string>, more: object = {}): Promise<Response> =>
  fetch(`${to.gateway.url}/v1/chat/completions`, {
    method: 'POST', body: JSON.stringify(chat('gpt-model', { ...more })),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEYS.main}`, ...headers },
  });

describe('a preflight request', () => {
  it('is answered on every path, without a key', async () => {
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/models', '/v1/key', '/pricing.json', '/nowhere']) {
      const response = await ask(world, 'OPTIONS', path, { origin: ORIGIN, ...PREFLIGHT });
      assert.equal(response.status, 204, path);
      assert.equal(response.headers.get('access-control-allow-origin'), ORIGIN);
      assert.equal(response.headers.get('access-control-allow-headers'), 'authorization,x-stainless-lang');
      assert.match(response.headers.get('access-control-allow-methods') ?? '', /POST/);
      assert.equal(response.headers.get('vary'), 'origin');
    }
  });

  it('is refused for other origins, and for every origin by default', async () => {
    const refused = [[world, 'https://other.example'], [world, `${ORIGIN}.evil`], [closed, ORIGIN]] as const;
    for (const [to, origin] of refused) {
      const response = await ask(to, 'OPTIONS', '/v1/messages', { origin, ...PREFLIGHT });
      assert.notEqual(response.status, 204);
      assert.equal(response.headers.get('access-control-allow-origin'), null);
    }
  });
});

describe('a response', () => {
  it('can be read by a page of an allowed origin, with its headers, whole, streamed or an error', async () => {
    world.openai.script(openaiChat({ content: 'ok' }), openaiStream(['ok']));
    const responses = [
      await call(world, { origin: ORIGIN }), await call(world, { origin: ORIGIN }, { stream: true }),
      await call(world, { origin: ORIGIN, authorization: 'Bearer sk-wrong' }),
      await ask(world, 'GET', '/v1/models', { origin: ORIGIN }),
      await ask(world, 'GET', '/nowhere', { origin: ORIGIN }),
    ];
    assert.deepEqual(responses.map(({ status }) => status), [200, 200, 401, 401, 404]);
    for (const response of responses) {
      assert.equal(response.headers.get('access-control-allow-origin'), ORIGIN);
      assert.match(response.headers.get('access-control-expose-headers') ?? '', /x-modelgateway-cost-usd/);
      await response.text();
    }
  });

  it('of the price list adds Origin to its other values of Vary', async () => {
    const response = await ask(world, 'GET', '/pricing', { origin: ORIGIN, accept: 'application/json' });
    assert.match(response.headers.get('vary') ?? '', /accept.*origin/i);
    await response.text();
  });

  it('is readable by all origins if * is allowed, and by none by default', async () => {
    const [any, none] = [await ask(open, 'GET', '/pricing.json', { origin: 'https://x.example' }),
      await ask(closed, 'GET', '/pricing.json', { origin: ORIGIN })];
    assert.equal(any.headers.get('access-control-allow-origin'), 'https://x.example');
    assert.equal(none.headers.get('access-control-allow-origin'), null);
    await Promise.all([any.text(), none.text()]);
  });
});

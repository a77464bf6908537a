/** Errors in addition to troubleshooting.test.ts: other endpoints, variants, and the entries in log and status. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS, PROVIDER_KEYS } from '../../support/manifests.ts';
import { openaiChat, openaiError, anthropicError, anthropicMessage } from '../../support/provider-answers.ts';
import { chat, get, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ maxBodyBytes: 100_000 });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

interface Expected {
  readonly status: number;
  readonly openai: readonly [type: string, code: string | null];
  readonly anthropic: string;
}

/** Asserts the envelope of the path's dialect, with ids, and nothing of the other's. */
function assertError(answer: Answer, path: string, expected: Expected): string {
  assert.equal(answer.status, expected.status, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  const id = answer.headers.get('x-request-id');
  assert.match(id ?? '', /^req_/);
  assert.equal(answer.headers.get('request-id'), id);
  const body = answer.json();
  if (/^\/v1(\/v1)?\/messages/.test(path)) {
    assert.deepEqual(Object.keys(body), ['type', 'error', 'request_id']);
    assert.equal(body.type, 'error');
    assert.equal(body.error.type, expected.anthropic);
    assert.equal(body.request_id, id);
  } else {
    assert.deepEqual(Object.keys(body), ['error']);
    assert.deepEqual(Object.keys(body.error).toSorted(), ['code', 'message', 'param', 'type']);
    assert.deepEqual([body.error.type, body.error.code], expected.openai);
  }
  assert.ok(body.error.message.length > 10);
  for (const secret of [...Object.values(KEYS), ...Object.values(PROVIDER_KEYS), stack.openai.url, stack.anthropic.url])
    assert.ok(!answer.text.includes(secret), 'the message holds a secret');
  return body.error.message;
}

const BODIES: Record<string, (model?: string, more?: Record<string, unknown>) => Record<string, unknown>> = {
  '/v1/chat/completions': (model = 'gpt-model', more = {}) => chat(model, more),
  '/v1/messages': (model = 'claude-model', more = {}) => message(model, more),
};
const PATHS = Object.keys(BODIES);

describe('keys', () => {
  const row: Expected = {
    status: 401,
    openai: ['invalid_request_error', 'invalid_api_key'],
    anthropic: 'authentication_error',
  };
  it('are required on paths without a body too, and must not be empty', async () => {
    for (const path of ['/v1/models', '/v1/models/gpt-model', '/v1/key', '/v1/usage/req_1']) {
      assertError(await get(stack, path, { 'no-key': '1' }), path, row);
      assertError(await get(stack, path, { 'x-api-key': '' }), path, row);
    }
  });

  it('are refused if the header occurs twice', async () => {
    const headers = new Headers({ 'content-type': 'application/json' });
    headers.append('x-api-key', KEYS.main);
    headers.append('x-api-key', KEYS.small);
    const response = await fetch(`${stack.gateway.url}/v1/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify(message()),
    });
    assert.equal(response.status, 401);
    assert.match(await response.text(), /more than once/);
  });

  it('may be the same in both headers', async () => {
    stack.openai.script(openaiChat());
    const answer = await post(stack, '/v1/chat/completions', chat(), {
      authorization: `Bearer ${KEYS.main}`,
      'x-api-key': KEYS.main,
    });
    assert.equal(answer.status, 200);
  });

  it('are accepted in either header on either path', async () => {
    stack.openai.script(openaiChat());
    stack.anthropic.script(anthropicMessage());
    for (const headers of [
      { authorization: `Bearer ${KEYS.main}` },
      { authorization: `bearer ${KEYS.main}` },
      { 'x-api-key': KEYS.main },
    ] as Record<string, string>[])
      for (const path of PATHS) assert.equal((await post(stack, path, BODIES[path]!(), headers)).status, 200);
  });
});

describe('a model that cannot be called', () => {
  const row: Expected = {
    status: 404,
    openai: ['invalid_request_error', 'model_not_found'],
    anthropic: 'not_found_error',
  };
  for (const path of PATHS) {
    it(`unknown, without a route, or not for this key gets the same 404 on ${path}`, async () => {
      const unknown = assertError(await post(stack, path, BODIES[path]!('no-such-model')), path, row);
      const notMine = assertError(
        await post(stack, path, BODIES[path]!('gpt-model'), { 'x-api-key': KEYS.narrow }),
        path,
        row,
      );
      const shelf = assertError(await post(stack, path, BODIES[path]!('shelf-model')), path, row);
      const shape = (text: string): string => text.replace(/"[^"]*"/, '"…"');
      assert.equal(new Set([unknown, notMine, shelf].map(shape)).size, 1, 'they can be told apart');
    });
  }
  it('gets 404 at GET /v1/models/{id} too', async () => {
    assertError(await get(stack, '/v1/models/no-such-model'), '/v1/models/x', row);
    assertError(await get(stack, '/v1/models/unpriced-model'), '/v1/models/x', row);
  });
});

describe('paths and methods', () => {
  const row: Expected = { status: 404, openai: ['invalid_request_error', 'not_found'], anthropic: 'not_found_error' };
  it('return 404 outside of /v1', async () => {
    assertError(await get(stack, '/v2/nothing'), '/v2/nothing', row);
  });
  it('accept GET and HEAD for lists', async () => {
    const models = await post(stack, '/v1/models', {});
    assert.equal(models.status, 405);
    assert.equal(models.headers.get('allow'), 'GET, HEAD');
  });
});

describe('bad requests', () => {
  const row = (code: string): Expected => ({
    status: 400,
    openai: ['invalid_request_error', code],
    anthropic: 'invalid_request_error',
  });
  for (const path of PATHS) {
    it(`return 400 for malformed JSON on ${path}`, async () => {
      for (const body of ['{"model": ', 'not json', '[]', '"text"', 'null', ''])
        assertError(await post(stack, path, body), path, row('invalid_json'));
    });
    it(`name the missing or wrong field on ${path}`, async () => {
      const param = (answer: Answer): unknown => answer.json().error.param;
      const cases: [Record<string, unknown>, string][] = [
        [{ messages: [] }, 'model'],
        [{ ...BODIES[path]!(), model: 7 }, 'model'],
        [{ model: 'gpt-model' }, 'messages'],
        [{ ...BODIES[path]!(), messages: 'x' }, 'messages'],
        [{ ...BODIES[path]!(), stream: 'yes' }, 'stream'],
        [{ ...BODIES[path]!(), max_tokens: -1 }, 'max_tokens'],
      ];
      for (const [body, name] of cases) {
        const answer = await post(stack, path, body);
        const said = assertError(answer, path, row('invalid_value'));
        if (path !== '/v1/messages') assert.equal(param(answer), name);
        assert.ok(said.includes(name), `${said} names ${name}`);
      }
    });
  }
});

describe('responses of providers', () => {
  const both = [
    ['/v1/chat/completions', () => stack.openai, openaiError] as const,
    [
      '/v1/messages',
      () => stack.anthropic,
      (status: number, text?: string): ReturnType<typeof anthropicError> => anthropicError(status, 'api_error', text),
    ] as const,
  ];
  for (const [path, provider, error] of both) {
    it(`that refuse the gateway's credential or model on ${path} are reported in log and status`, async () => {
      provider().script(error(404, `Incorrect API key provided: ${PROVIDER_KEYS.openai}`));
      assert.equal((await post(stack, path, BODIES[path]!())).status, 502);
      assert.ok(stack.gateway.logs.some((line) => line.includes('rejects the credential')));
      const statuses = await stack.gateway.operator.statuses();
      const route = statuses.find(
        ({ kind, name }) => kind === 'ModelRoute' && name === (path === '/v1/messages' ? 'anthropic' : 'openai'),
      );
      const warning = route?.status.conditions.find(({ type }) => type === 'UpstreamRefused');
      assert.deepEqual([warning?.status, warning?.reason], ['True', 'ModelRefused']);
      assert.match(warning?.message ?? '', /Channel "direct".*404/);
    });
    it(`that redirect are named a redirect in log and status on ${path}`, async () => {
      provider().script({ status: 307, headers: { location: 'https://elsewhere.test/v1' }, steps: [] });
      const answer = await post(stack, path, BODIES[path]!());
      assert.equal(answer.status, 502);
      assert.match(answer.json().error.message, /answers with a redirect \(307\)/);
      assert.ok(stack.gateway.logs.some((line) => line.includes('a provider responds with a redirect')));
      const statuses = await stack.gateway.operator.statuses();
      const route = statuses.find(
        ({ kind, name }) => kind === 'ModelRoute' && name === (path === '/v1/messages' ? 'anthropic' : 'openai'),
      );
      const warning = route?.status.conditions.find(({ type }) => type === 'UpstreamRefused');
      assert.deepEqual([warning?.status, warning?.reason], ['True', 'Redirected']);
    });
    it(`that are not JSON become 502 on ${path}`, async () => {
      provider().script({ steps: ['<html>oops</html>'] });
      assertError(await post(stack, path, BODIES[path]!()), path, {
        status: 502,
        openai: ['server_error', 'upstream_error'],
        anthropic: 'api_error',
      });
    });
  }
});

describe("spaces around a header's value", () => {
  it('are stripped by HTTP, so the key is accepted', async () => {
    const { host, hostname, port } = new URL(stack.gateway.url);
    const socket = connect(Number(port), hostname);
    socket.end(`GET /v1/key HTTP/1.1\r\nHost: ${host}\r\nx-api-key:   ${KEYS.main}  \r\nConnection: close\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 200 /);
  });
});

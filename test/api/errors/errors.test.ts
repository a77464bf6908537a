/** Every row of the error table, in the dialect of the path, and that a refusal leaves no money and no slot behind. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS, PROVIDER_KEYS } from '../../support/manifests.ts';
import {
  gated, openaiChat, openaiError, anthropicError, anthropicMessage, json,
} from '../../support/provider-answers.ts';
import { chat, get, message, nothingLeaks, post, spending, startWorld } from '../../support/api/world.ts';
import type { Answer, World } from '../../support/api/world.ts';

let world: World;
beforeAll(async () => { world = await startWorld({ maxBodyBytes: 100_000 }); });
afterAll(() => world.stop());
afterEach(() => { world.openai.clear(); world.anthropic.clear(); });

interface Expected {
  readonly status: number;
  readonly openai: readonly [type: string, code: string | null];
  readonly anthropic: string;
}

/** The envelope of the path's dialect, with ids, and nothing of the other's. */
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
  for (const secret of [...Object.values(KEYS), ...Object.values(PROVIDER_KEYS), world.openai.url, world.anthropic.url])
    assert.ok(!answer.text.includes(secret), 'the message holds a secret');
  return body.error.message;
}

const BODIES: Record<string, (model?: string, more?: Record<string, unknown>) => Record<string, unknown>> = {
  '/v1/chat/completions': (model = 'gpt-model', more = {}) => chat(model, more),
  '/v1/messages': (model = 'claude-model', more = {}) => message(model, more),
};
const PATHS = Object.keys(BODIES);

describe('a key that does not open anything: 401', () => {
  const row: Expected = {
    status: 401, openai: ['invalid_request_error', 'invalid_api_key'], anthropic: 'authentication_error',
  };
  const cases: Record<string, Record<string, string>> = {
    'no key': { 'no-key': '1' },
    'no sk- prefix': { authorization: 'Bearer pk-1234567890123456789012345678901234' },
    'spaces in it': { authorization: `Bearer ${KEYS.main.slice(0, 20)} ${KEYS.main.slice(20)}` },
    'two spaces before it': { authorization: `Bearer  ${KEYS.main}` },
    'incomplete': { authorization: `Bearer ${KEYS.main.slice(0, -1)}` },
    'unknown': { 'x-api-key': 'sk-nobody-has-this-key-00000000000000000000' },
    'disabled': { authorization: `Bearer ${KEYS.disabled}` },
    'expired': { 'x-api-key': KEYS.expired },
    'not our credential in Authorization': { authorization: 'Basic dXNlcjpwYXNz' },
    'not our credential in Authorization beside a good x-api-key': {
      authorization: 'Basic dXNlcjpwYXNz', 'x-api-key': KEYS.main,
    },
    'two different keys': { authorization: `Bearer ${KEYS.main}`, 'x-api-key': KEYS.small },
    'a key that is not Accepted': { authorization: `Bearer ${KEYS.orphan}` },
    'an empty one': { 'x-api-key': '' },
  };
  for (const [name, headers] of Object.entries(cases))
    for (const path of PATHS)
      it(`${name} on ${path}`, async () => {
        assertError(await post(world, path, BODIES[path]!(), headers), path, row);
        assert.equal(world.openai.requests.length + world.anthropic.requests.length, 0);
      });

  it('holds on paths without a body too', async () => {
    for (const path of ['/v1/models', '/v1/models/gpt-model', '/v1/key', '/v1/usage/req_1'])
      assertError(await get(world, path, { 'no-key': '1' }), path, row);
  });

  it('says so where the key is not accepted, disabled or expired', async () => {
    const said = async (key: string): Promise<string> =>
      assertError(await post(world, PATHS[0]!, chat(), { 'x-api-key': key }), PATHS[0]!, row);
    assert.match(await said(KEYS.orphan), /not accepted/);
    assert.match(await said(KEYS.disabled), /disabled/);
    assert.match(await said(KEYS.expired), /expired/);
  });

  it('says so where one header came twice', async () => {
    const headers = new Headers({ 'content-type': 'application/json' });
    headers.append('x-api-key', KEYS.main);
    headers.append('x-api-key', KEYS.small);
    const response =
      await fetch(`${world.gateway.url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(message()) });
    assert.equal(response.status, 401);
    assert.match(await response.text(), /more than once/);
  });

  it('takes the same key in both headers', async () => {
    world.openai.script(openaiChat());
    const answer = await post(
      world, '/v1/chat/completions', chat(), { authorization: `Bearer ${KEYS.main}`, 'x-api-key': KEYS.main },
    );
    assert.equal(answer.status, 200);
  });

  it('takes either header on either path', async () => {
    world.openai.script(openaiChat());
    world.anthropic.script(anthropicMessage());
    for (const headers of [
      { authorization: `Bearer ${KEYS.main}` }, { authorization: `bearer ${KEYS.main}` }, { 'x-api-key': KEYS.main },
    ] as Record<string, string>[])
      for (const path of PATHS) assert.equal((await post(world, path, BODIES[path]!(), headers)).status, 200);
  });
});

describe('a model that cannot be called', () => {
  const row: Expected = {
    status: 404, openai: ['invalid_request_error', 'model_not_found'], anthropic: 'not_found_error',
  };
  for (const path of PATHS) {
    it(`unknown, without a route, or not for this key: the same 404 on ${path}`, async () => {
      const unknown = assertError(await post(world, path, BODIES[path]!('no-such-model')), path, row);
      const notMine =
        assertError(await post(world, path, BODIES[path]!('gpt-model'), { 'x-api-key': KEYS.narrow }), path, row);
      const shelf = assertError(await post(world, path, BODIES[path]!('shelf-model')), path, row);
      const shape = (text: string): string => text.replace(/"[^"]*"/, '"…"');
      assert.equal(new Set([unknown, notMine, shelf].map(shape)).size, 1, 'they can be told apart');
    });
    it(`without a price: 503 on ${path}`, async () => {
      assertError(await post(world, path, BODIES[path]!('unpriced-model')), path,
        { status: 503, openai: ['server_error', 'model_not_priced'], anthropic: 'api_error' });
    });
  }
  it('GET /v1/models/{id} likewise', async () => {
    assertError(await get(world, '/v1/models/no-such-model'), '/v1/models/x', row);
    assertError(await get(world, '/v1/models/unpriced-model'), '/v1/models/x', row);
  });
});

describe('paths and methods', () => {
  const row: Expected = { status: 404, openai: ['invalid_request_error', 'not_found'], anthropic: 'not_found_error' };
  it('unknown path', async () => {
    assertError(await get(world, '/v2/nothing'), '/v2/nothing', row);
    assertError(await post(world, '/v1/messages/nothing', {}), '/v1/messages/nothing', row);
  });
  it('/v1/v1 says that the base URL has it twice, in the dialect of the path', async () => {
    const twice: Expected = {
      status: 400, openai: ['invalid_request_error', 'invalid_value'], anthropic: 'invalid_request_error',
    };
    for (const [path, body] of [['/v1/v1/messages', message()], ['/v1/v1/chat/completions', chat()]] as const)
      assert.match(assertError(await post(world, path, body), path, twice), /\/v1 twice/);
  });
  it('known path, wrong method: 405 with allow', async () => {
    const answer = await get(world, '/v1/chat/completions');
    assertError(answer, '/v1/chat/completions', {
      status: 405, openai: ['invalid_request_error', 'method_not_allowed'], anthropic: '',
    });
    assert.equal(answer.headers.get('allow'), 'POST');
    const other = await get(world, '/v1/messages');
    assertError(other, '/v1/messages', { status: 405, openai: ['', ''], anthropic: 'invalid_request_error' });
    const models = await post(world, '/v1/models', {});
    assert.equal(models.status, 405);
    assert.equal(models.headers.get('allow'), 'GET, HEAD');
  });
});

describe('bad requests', () => {
  const row = (code: string): Expected =>
    ({ status: 400, openai: ['invalid_request_error', code], anthropic: 'invalid_request_error' });
  for (const path of PATHS) {
    it(`malformed JSON on ${path}`, async () => {
      for (const body of ['{"model": ', 'not json', '[]', '"text"', 'null', ''])
        assertError(await post(world, path, body), path, row('invalid_json'));
    });
    it(`missing or wrong field on ${path}, with its name`, async () => {
      const param = (answer: Answer): unknown => answer.json().error.param;
      const cases: [Record<string, unknown>, string][] = [
        [{ messages: [] }, 'model'], [{ ...BODIES[path]!(), model: 7 }, 'model'], [{ model: 'gpt-model' }, 'messages'],
        [
          { ...BODIES[path]!(), messages: 'x' }, 'messages',
        ], [{ ...BODIES[path]!(), stream: 'yes' }, 'stream'], [{ ...BODIES[path]!(), max_tokens: -1 }, 'max_tokens'],
      ];
      for (const [body, name] of cases) {
        const answer = await post(world, path, body);
        const said = assertError(answer, path, row('invalid_value'));
        if (path !== '/v1/messages') assert.equal(param(answer), name);
        assert.ok(said.includes(name), `${said} names ${name}`);
      }
    });
    it(`an image for a text-only model on ${path}`, async () => {
      const content = path === '/v1/messages'
        ? [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }]
        : [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }];
      assertError(await post(
        world, path, BODIES[path]!('text-model', { messages: [{ role: 'user', content }] }),
      ), path, row('unsupported_image'));
    });
    it(`a body over the limit on ${path}: 413`, async () => {
      assertError(await post(world, path, BODIES[path]!(undefined, { user: 'x'.repeat(110_000) })), path,
        { status: 413, openai: ['invalid_request_error', 'request_too_large'], anthropic: 'request_too_large' });
    });
  }
  it('something whose price has no bound, unless the model allows it', async () => {
    const tools = { tools: [{ type: 'web_search_preview' }] };
    const refused = await post(world, '/v1/chat/completions', chat('gpt-model', tools));
    assertError(refused, '/v1/chat/completions', row('not_allowed'));
    assert.match(refused.json().error.param, /tools/);
    world.openai.script(openaiChat());
    assert.equal((await post(world, '/v1/chat/completions', chat('tools-model', tools))).status, 200);
    assertError(await post(
      world, '/v1/chat/completions', chat('gpt-model', { service_tier: 'priority' }),
    ), '/v1/chat/completions', row('not_allowed'));
    assertError(await post(
      world, '/v1/messages', message('claude-model', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
    ), '/v1/messages', row('not_allowed'));
    assertError(await post(world, '/v1/messages', message('claude-model', { messages: [{
      role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }],
    }] })), '/v1/messages', row('not_allowed'));
  });
});

describe('money that does not reach', () => {
  it('the key\'s quota: 429 that SDKs do not retry', async () => {
    for (const [path, model] of [['/v1/chat/completions', 'gpt-model'], ['/v1/messages', 'claude-model']] as const) {
      const answer = await post(world, path, BODIES[path]!(model, { max_tokens: 4000 }), { 'x-api-key': KEYS.refuse });
      assertError(answer, path, {
        status: 429, openai: ['insufficient_quota', 'insufficient_quota'], anthropic: 'rate_limit_error',
      });
      assert.equal(answer.headers.get('x-should-retry'), 'false');
    }
  });
  it('the account\'s balance: 402', async () => {
    // with tools, the output limit is not lowered to what could be paid
    for (const [path, model, tool] of [
      ['/v1/chat/completions', 'gpt-model', { type: 'function', function: { name: 'f' } }],
      ['/v1/messages', 'claude-model', { name: 'f', input_schema: { type: 'object' } }],
    ] as const)
      assertError(await post(world, path, BODIES[path]!(model, { max_tokens: 4000, tools: [tool] }), {
        'x-api-key': KEYS.poor,
      }), path,
        { status: 402, openai: ['insufficient_quota', 'credit_balance_exhausted'], anthropic: 'billing_error' });
  });
  it('leaves nothing behind, and asks no provider', async () => {
    assert.deepEqual(await spending(world, 'refuse'), { spent: 0n, held: 0n });
    assert.deepEqual(await spending(world, 'poor'), { spent: 0n, held: 0n });
    assert.ok(nothingLeaks(world));
    assert.equal(world.openai.requests.length, 0);
  });
});

describe('concurrency', () => {
  it('the key\'s own threshold: 429 with retry-after, and free again afterwards', async () => {
    for (const [path, provider, reply] of [
      ['/v1/chat/completions', world.openai, openaiChat()], ['/v1/messages', world.anthropic, anthropicMessage()],
    ] as const) {
      const waiting = gated(reply);
      provider.script(waiting.reply);
      const first = post(world, path, BODIES[path]!(), { 'x-api-key': KEYS.serial });
      await waiting.gate.reached;
      const second = await post(world, path, BODIES[path]!(), { 'x-api-key': KEYS.serial });
      assertError(second, path, {
        status: 429, openai: ['rate_limit_error', 'rate_limit_exceeded'], anthropic: 'rate_limit_error',
      });
      assert.ok(Number(second.headers.get('retry-after')) >= 1);
      assert.equal(second.headers.get('x-should-retry'), null);
      waiting.gate.open();
      assert.equal((await first).status, 200);
      provider.script(reply);
      assert.equal((await post(world, path, BODIES[path]!(), { 'x-api-key': KEYS.serial })).status, 200);
    }
    assert.ok(nothingLeaks(world));
  });
});

describe('what providers answer', () => {
  const both = [
    ['/v1/chat/completions', () => world.openai, openaiError] as const,
    ['/v1/messages', () => world.anthropic, (status: number, text?: string): ReturnType<typeof anthropicError> =>
      anthropicError(status, 'api_error', text)] as const,
  ];
  for (const [path, provider, error] of both) {
    it(`every channel failed: 502 on ${path}`, async () => {
      provider().script(error(500));
      assertError(await post(world, path, BODIES[path]!()), path, {
        status: 502, openai: ['server_error', 'upstream_error'], anthropic: 'api_error',
      });
    });
    it(`overloaded: 529 in Anthropic's dialect, 503 in OpenAI's, on ${path}`, async () => {
      provider().script(error(529));
      assertError(await post(world, path, BODIES[path]!()), path,
        { status: path === '/v1/messages' ? 529 : 503, openai: ['server_error', 'upstream_error'], anthropic:
          'overloaded_error' });
    });
    it(`refuses the request itself: its status and message, on ${path}`, async () => {
      for (const status of [400, 413, 422]) {
        provider().script(error(status, 'the thing is wrong'));
        const answer = await post(world, path, BODIES[path]!());
        assert.equal(answer.status, status);
        assert.equal(answer.json().error.message, 'the thing is wrong');
        assert.equal(provider().requests.length > 0, true);
      }
    });
    it(`its own rate limit: 429 with its retry-after, on ${path}`, async () => {
      provider().script(json({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '7' } }));
      const answer = await post(world, path, BODIES[path]!());
      assertError(answer, path, {
        status: 429, openai: ['rate_limit_error', 'rate_limit_exceeded'], anthropic: 'rate_limit_error',
      });
      assert.equal(answer.headers.get('retry-after'), '7');
    });
    it(`refuses the gateway's credential or model: 502 on ${path}, told in log and status`, async () => {
      for (const status of [401, 402, 403, 404]) {
        provider().script(error(status, `Incorrect API key provided: ${PROVIDER_KEYS.openai}`));
        assertError(await post(world, path, BODIES[path]!()), path, {
          status: 502, openai: ['server_error', 'upstream_error'], anthropic: 'api_error',
        });
      }
      assert.ok(world.gateway.logs.some((line) => line.includes('refuses the gateway')));
      const statuses = await world.gateway.operator.statuses();
      const route = statuses.find(({ kind, name }) => kind === 'ModelRoute' &&
        name === (path === '/v1/messages' ? 'anthropic' : 'openai'));
      const warning = route?.status.conditions.find(({ type }) => type === 'UpstreamRefused');
      assert.deepEqual([warning?.status, warning?.reason], ['True', 'ModelRefused']);
      assert.match(warning?.message ?? '', /Channel "direct".*404/);
    });
    it(`garbage instead of JSON: 502 on ${path}`, async () => {
      provider().script({ steps: ['<html>oops</html>'] });
      assertError(await post(world, path, BODIES[path]!()), path, {
        status: 502, openai: ['server_error', 'upstream_error'], anthropic: 'api_error',
      });
    });
  }
  it('and none of it costs anything', async () => {
    const before = await spending(world);
    world.openai.script(openaiError(500));
    await post(world, '/v1/chat/completions', chat());
    assert.deepEqual(await spending(world), before);
    assert.ok(nothingLeaks(world));
  });
  it('no key and no provider credential ever reached a log', () => {
    const text = world.gateway.logs.join('');
    for (const secret of [...Object.values(KEYS), ...Object.values(PROVIDER_KEYS)]) assert.ok(!text.includes(secret));
    assert.ok(world.gateway.logs.length > 50);
  });
});

describe('spaces around a header\'s value', () => {
  it('are stripped by HTTP, so that the key opens all the same', async () => {
    const { host, hostname, port } = new URL(world.gateway.url);
    const socket = connect(Number(port), hostname);
    socket.end(`GET /v1/key HTTP/1.1\r\nHost: ${host}\r\nx-api-key:   ${KEYS.main}  \r\nConnection: close\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 200 /);
  });
});

/** Errors to which clients react or that they hide: statuses, headers and messages. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { chat, get, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { CUT } from '../../support/mock-provider.ts';
import { anthropicMessage, breakAt, json, openaiChat, openaiStream } from '../../support/provider-answers.ts';

const LONG_CONTEXT = { 'anthropic-beta': 'oauth-2025-04-20,context-1m-2025-08-07' };
const MILLION = `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: million}
spec:
  models:
  - {name: long-model, contextTokens: 1000000, maxOutputTokens: 4000}
  channels:
  - {name: direct, protocol: Anthropic, baseUrl: "URL"}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: million}
spec:
  models:
  - {name: long-model, vendor: V, quotaType: Token, modelRatio: "0.001"}
`;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: ({ anthropicUrl }) => ({ 'million.yaml': MILLION.replace('URL', anthropicUrl) }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

describe('a refusal that a retry cannot change', () => {
  it('tells the client not to retry: a wrong key, and an empty account', async () => {
    const wrong = await post(stack, '/v1/messages', message(), { 'x-api-key': 'sk-wrong' });
    assert.deepEqual([wrong.status, wrong.headers.get('x-should-retry')], [401, 'false']);
    const messages = [{ role: 'user', content: 'x'.repeat(5000) }];
    const poor = await post(stack, '/v1/chat/completions', chat('gpt-model', { messages }), {
      authorization: `Bearer ${KEYS.poor}`,
    });
    assert.deepEqual([poor.status, poor.headers.get('x-should-retry')], [402, 'false']);
  });
});

describe("a provider's 404", () => {
  const notFound = (error: object): ReturnType<typeof json> => json({ error }, { status: 404 });

  it('about something in the request reaches the client with its message', async () => {
    stack.openai.script(
      notFound({
        message: "Item with id 'rs_1' not found.",
        type: 'invalid_request_error',
        param: 'input',
        code: null,
      }),
    );
    const answer = await post(stack, '/v1/responses', { model: 'gpt-model', input: 'hi' });
    assert.equal(answer.status, 404);
    assert.equal(answer.json().error.message, "Item with id 'rs_1' not found.");
    assert.equal(answer.json().error.param, 'input');
  });

  it('about a file reaches the client too, in its dialect', async () => {
    stack.anthropic.script(
      json({ type: 'error', error: { type: 'not_found_error', message: 'File not found: f_1' } }, { status: 404 }),
    );
    const answer = await post(stack, '/v1/messages', message());
    assert.deepEqual([answer.status, answer.json().error.type], [404, 'not_found_error']);
    assert.match(answer.json().error.message, /File not found/);
  });

  it('about a stored prompt or a conversation reaches the client too', async () => {
    for (const message of ["Prompt with id 'pmpt_1' not found.", "Conversation with id 'conv_1' not found."]) {
      stack.openai.script(notFound({ message, type: 'invalid_request_error', param: null, code: null }));
      const answer = await post(stack, '/v1/responses', { model: 'gpt-model', input: 'hello' });
      assert.deepEqual([answer.status, answer.json().error.message], [404, message]);
    }
  });

  it("about the model or the path is reported as the gateway's error", async () => {
    for (const error of [
      { message: 'The model does not exist', type: 'invalid_request_error', param: 'model', code: null },
      { message: 'The model does not exist', type: 'invalid_request_error', param: 'x', code: 'model_not_found' },
      { message: 'Not found', type: 'not_found_error' },
      { message: 'Invalid URL', type: 'invalid_request_error' },
    ]) {
      stack.openai.script(notFound(error));
      const answer = await post(stack, '/v1/chat/completions', chat());
      assert.deepEqual([answer.status, answer.json().error.code], [502, 'upstream_error'], error.message);
    }
  });
});

describe('an error message that Claude Code matches', () => {
  for (const words of [
    'prompt is too long: 210000 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 190000 + 21333 > 204800, decrease input length or ' +
      '`max_tokens` and try again',
    'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be ' +
      'modified. These blocks must remain as they were in the original response.',
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.1.content.0.thinking.signature: Field required',
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" ' +
      'to control thinking behavior.',
    'adaptive thinking is not supported on this model',
    'messages.2: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an ' +
      'input message role.',
    "role 'system' is not supported on this model",
    'Unexpected value(s) `mid-conversation-system-2026-01-01` for the `anthropic-beta` header.',
    'Your credit balance is too low to access the API.',
  ])
    it(`arrives word for word: ${words.slice(0, 50)}`, async () => {
      const error = { type: 'invalid_request_error', message: words };
      stack.anthropic.script(json({ type: 'error', error }, { status: 400 }));
      for (const stream of [false, true]) {
        const answer = await post(stack, '/v1/messages', message('claude-model', { stream }));
        assert.deepEqual([answer.status, answer.json().error], [400, error]);
      }
    });
});

describe('the beta flag for a context of a million tokens', () => {
  it('is ignored for a provider of another protocol', async () => {
    stack.openai.script(openaiChat({ content: 'ok' }));
    const answer = await post(stack, '/v1/messages', message('gpt-model'), { 'x-api-key': KEYS.main, ...LONG_CONTEXT });
    assert.equal(answer.status, 200);
    assert.equal((await stack.openai.request(0)).headers['anthropic-beta'], undefined);
  });

  it('requires a route with that context, and the error says so', async () => {
    const answer = await post(stack, '/v1/messages', message(), { 'x-api-key': KEYS.main, ...LONG_CONTEXT });
    assert.equal(answer.status, 400);
    assert.match(answer.json().error.message, /context-1m-2025-08-07.*1000000 tokens.*contextTokens 100000/);
    stack.anthropic.script(anthropicMessage());
    const long = await post(stack, '/v1/messages', message('long-model'), { 'x-api-key': KEYS.main, ...LONG_CONTEXT });
    assert.equal(long.status, 200);
    assert.match(String((await stack.anthropic.request(0)).headers['anthropic-beta']), /context-1m/);
  });
});

describe('a path that the gateway does not serve', () => {
  it('gets 404 in the dialect of the path, with what is wrong with the base URL', async () => {
    for (const [path, hint] of [
      ['/v1/v1/messages', /\/v1 twice/],
      ['/v1/v1/chat/completions', /\/v1 twice/],
      ['/v1/v1', /\/v1 twice/],
      ['//v1/v1/messages', /\/v1 twice/],
      ['/chat/completions', /lacks \/v1/],
      ['//chat/completions', /lacks \/v1/],
      ['//v1/messages', /a slash too many: call \/v1\/messages,/],
      ['//v1/chat/completions', /a slash too many: call \/v1\/chat\/completions,/],
      ['/v1//chat/completions', /a slash too many: call \/v1\/chat\/completions,/],
      ['/v1/chat/completions/', /a slash too many: call \/v1\/chat\/completions\./],
      ['/v1/messages/?beta=true', /a slash too many: call \/v1\/messages\./],
    ] as const) {
      const answer = await post(stack, path, message());
      assert.equal(answer.status, 404, path);
      const { error } = answer.json();
      assert.match(error.message, hint, path);
      assert.equal(error.type, path.includes('messages') ? 'not_found_error' : 'invalid_request_error', path);
    }
    assert.equal((await get(stack, '/v1/v1/models')).status, 404);
    assert.match((await get(stack, '//v1/models')).json().error.message, /call \/v1\/models,/);
    assert.doesNotMatch((await get(stack, '/nothing/')).json().error.message, /slash/);
  });

  it('gets 404 with one sentence of advice', async () => {
    for (const [path, advice] of [
      ['/v1/uploads', /base64/],
      ['/v1/audio/voices', /every key/],
      ['/v1/realtime/sessions', /WebSocket/],
      ['/v1/engines/davinci/completions', /chat\/completions/],
      ['/v1/complete', /\/v1\/messages/],
      ['/v1/assistants', /POST \/v1\/conversations/],
      ['/v1/vector_stores', /your side/],
    ] as const) {
      const answer = await post(stack, path, {});
      assert.equal(answer.status, 404, path);
      assert.match(answer.json().error.message, advice, path);
      assert.equal(answer.json().error.message.match(/\.(?:\s|$)/g)?.length, 1, path);
    }
  });
});

describe("a client of Anthropic's API beside its messages", () => {
  const version = { 'anthropic-version': '2023-06-01' };

  it('gets errors in its dialect, which name what was asked for', async () => {
    for (const [path, type, said] of [
      ['/v1/models/no-such', 'not_found_error', /no-such/],
      ['/v1/files/x', 'not_found_error', /no such file/],
      ['/v1/skills', 'not_found_error', /^Skills/],
      ['/v1/containers/x', 'not_found_error', /^Containers/],
      ['/v1/usage/none', 'not_found_error', /./],
      ['/v1/responses/resp_x', 'not_found_error', /./],
      ['/nothing', 'not_found_error', /GET \/nothing/],
      ['/messages', 'not_found_error', /client that does not add it/],
    ] as const) {
      const response = await get(stack, path, version);
      const { type: kind, error, request_id: id } = response.json();
      assert.deepEqual([kind, error.type, id], ['error', type, response.headers.get('request-id')], path);
      assert.match(error.message, said, path);
    }
    const wrongKey = await get(stack, '/v1/models', { ...version, 'x-api-key': 'sk-wrong' });
    assert.deepEqual([wrongKey.status, wrongKey.json().error.type], [401, 'authentication_error']);
    const refused = await post(stack, '/v1/embeddings', { model: 'gpt-model', input: 'x' }, version);
    assert.deepEqual([refused.status, refused.json().type], [400, 'error']);
  });
  it('gets those of Google on its paths, and of the stream within one', async () => {
    const google = await get(stack, '/v1beta/models/no-such', version);
    assert.equal(google.json().error.status, 'NOT_FOUND');
    stack.openai.script(breakAt(openaiStream(['a', 'b']), 2, CUT));
    const { text } = await post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true }), version);
    const last = text.trim().split('\n\n').at(-1) ?? '';
    assert.match(last, /^data: \{"error":\{"message"/);
  });
});

describe('a client that waits before it sends its body', () => {
  /** The status line of the response to headers without a body. */
  const firstLine = (key: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(stack.gateway.url);
      const socket = connect(Number(port), hostname, () =>
        socket.write(
          `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n` +
            'content-length: 20\r\nexpect: 100-continue\r\n\r\n',
        ),
      );
      socket.on('error', reject).once('data', (bytes: Buffer) => {
        socket.destroy();
        resolve(bytes.toString().split('\r\n', 1)[0] ?? '');
      });
    });

  it('gets 100 Continue only with a known key', async () => {
    assert.equal(await firstLine('sk-wrong'), 'HTTP/1.1 401 Unauthorized');
    assert.equal(await firstLine(KEYS.main), 'HTTP/1.1 100 Continue');
  });
});

describe('the record of a call', () => {
  it('distinguishes five-minute and one-hour cache writes', async () => {
    stack.anthropic.script(
      anthropicMessage({
        usage: {
          input_tokens: 10,
          output_tokens: 2,
          cache_creation_input_tokens: 300,
          cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
        },
      }),
    );
    const answer = await post(
      stack,
      '/v1/messages',
      message('claude-model', {
        system: [{ type: 'text', text: 'S'.repeat(500), cache_control: { type: 'ephemeral', ttl: '1h' } }],
      }),
    );
    const usage = (await get(stack, `/v1/usage/${answer.headers.get('request-id')}`)).json();
    const { cache_write_tokens: all, cache_write_5m_tokens: short, cache_write_1h_tokens: long } = usage;
    assert.deepEqual([all, short, long], [300, 100, 200]);
  });
});

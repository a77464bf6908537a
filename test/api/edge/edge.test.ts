/**
 * The public port with hostile or broken clients, the headers that are never forwarded, and the contents of the log
 * (docs/reference/http.md).
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS, PROVIDER_KEYS } from '../../support/manifests.ts';
import {
  anthropicMessage,
  breakAt,
  openaiChat,
  openaiEmbeddings,
  openaiError,
  openaiImages,
  openaiStream,
} from '../../support/provider-answers.ts';
import { CUT } from '../../support/mock-provider.ts';
import { chat, get, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

const MAX_BODY = 2000;
let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ maxBodyBytes: MAX_BODY });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

/** Sends raw bytes on a connection of their own; returns everything until it is closed. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(new URL(stack.gateway.url).port), '127.0.0.1', () => socket.write(text));
    socket.setEncoding('utf8').on('data', (piece: string) => {
      answer += piece;
    });
    socket.once('close', () => resolve(answer)).once('error', reject);
  });
}

describe('paths', () => {
  it('that cannot be decoded are refused in the dialect of the path, without effect on other calls', async () => {
    for (const path of ['/v1/models/%ZZ', '/%', '/v1/chat/completions%']) {
      const answer = await get(stack, path, { 'no-key': '1' });
      assert.deepEqual([answer.status, answer.json().error.type], [400, 'invalid_request_error']);
      assert.match(answer.json().error.message, /"%"/);
    }
    const answer = await get(stack, '/v1/messages/%ZZ', { 'no-key': '1' });
    assert.deepEqual(
      [answer.status, answer.json().type, answer.json().error.type],
      [400, 'error', 'invalid_request_error'],
    );
    assert.equal((await get(stack, '/v1/models')).status, 200);
  });
  it('of any length get a response', async () => {
    for (const path of [`/v1/usage/${'x'.repeat(5000)}`, `/v1/models/${'x'.repeat(5000)}`, `/${'x'.repeat(5000)}`]) {
      const answer = await get(stack, path);
      assert.equal(answer.status, 404);
      assert.ok(answer.text.length < 1000);
    }
  });
});

describe('a request that is not HTTP', () => {
  it('gets an error with ids', async () => {
    for (const [text, status] of [
      ['nonsense\r\n\r\n', 400],
      [`GET /v1/models HTTP/1.1\r\nhost: a\r\nx-long: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
      ['POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}', 400],
    ] as const) {
      const answer = await raw(text);
      assert.ok(answer.startsWith(`HTTP/1.1 ${status} `), answer);
      const [, id] = /^x-request-id: (req_[0-9a-f]{32})\r$/m.exec(answer) ?? [];
      assert.ok(id && answer.includes(`\nrequest-id: ${id}\r`));
      assert.equal(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).error.type, 'invalid_request_error');
    }
  });
});

describe('bodies', () => {
  it('may be as large as the limit and not a byte larger, with and without a length', async () => {
    stack.openai.script(openaiChat());
    const sized = (size: number): string => {
      const empty = JSON.stringify(chat('gpt-model', { user: '' }));
      return empty.replace('"user":""', `"user":"${'x'.repeat(size - empty.length)}"`);
    };
    assert.equal((await post(stack, '/v1/chat/completions', sized(MAX_BODY))).status, 200);
    assert.equal((await post(stack, '/v1/chat/completions', sized(MAX_BODY + 1))).status, 413);
    const chunked = async (path: string, size: number): Promise<string> =>
      raw(
        `POST ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-api-key: ${KEYS.main}\r\ntransfer-encoding: ` +
          `chunked\r\n\r\n${size.toString(16)}\r\n${sized(size)}\r\n0\r\n\r\n`,
      );
    assert.match(await chunked('/v1/chat/completions', MAX_BODY), /^HTTP\/1\.1 200 /);
    const large = await chunked('/v1/messages', MAX_BODY + 1);
    assert.match(large, /^HTTP\/1\.1 413 .*"type":"request_too_large"/s);
    assert.match(large, /2000 bytes/, 'it says how much is allowed');
  });
  it('in an unknown encoding, or in two at once, are refused with the list of known ones', async () => {
    for (const encoding of ['lzma', 'gzip, br', 'gzip,lzma']) {
      const answer = await post(stack, '/v1/messages', 'x', { 'content-encoding': encoding });
      assert.equal(answer.status, 415, encoding);
      assert.equal(answer.headers.get('accept-encoding'), 'gzip, deflate, br, zstd');
      assert.equal(answer.json().error.type, 'invalid_request_error');
      assert.ok(answer.json().error.message.includes(`"${encoding}"`));
    }
  });
  it('need no content-type', async () => {
    stack.openai.script(openaiChat());
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-8'])
      assert.equal((await post(stack, '/v1/chat/completions', chat(), { 'content-type': type })).status, 200);
  });
});

describe('headers on the wire', () => {
  it('that are hop-by-hop, cookies or credentials are not forwarded; repeated ones are joined', async () => {
    stack.openai.script({
      ...openaiChat(),
      headers: {
        connection: 'x-of-provider',
        'x-of-provider': '1',
        'set-cookie': ['a=b', 'c=d'],
        'x-modelgateway-cost-usd': '0.00',
        'x-told': 'yes',
      },
    });
    const body = JSON.stringify(chat());
    const answer = await raw(
      [
        'POST /v1/chat/completions HTTP/1.1',
        'host: gateway.example',
        'connection: close, x-of-client',
        'x-of-client: 1',
        'keep-alive: timeout=5',
        'te: trailers',
        'proxy-authorization: Basic dXNlcjpwYXNz',
        'cookie: session=1',
        `x-api-key: ${KEYS.main}`,
        `authorization: Bearer ${KEYS.main}`,
        'openai-beta: one',
        'openai-beta: two',
        'x-modelgateway-group: vip',
        `content-length: ${Buffer.byteLength(body)}`,
        '',
        body,
      ].join('\r\n'),
    );
    assert.match(answer, /^HTTP\/1\.1 200 /);
    const { headers, rawHeaders } = await stack.openai.request(0);
    for (const name of [
      'x-of-client',
      'keep-alive',
      'te',
      'proxy-authorization',
      'cookie',
      'x-api-key',
      'x-modelgateway-group',
    ])
      assert.equal(headers[name], undefined, name);
    assert.equal(headers.host, new URL(stack.openai.url).host);
    assert.equal(headers['openai-beta'], 'one, two');
    assert.equal(headers.authorization, `Bearer ${PROVIDER_KEYS.openai}`);
    assert.ok(!rawHeaders.join('\n').includes(KEYS.main));
    const [head = ''] = answer.split('\r\n\r\n');
    assert.match(head, /^x-told: yes\r$/m);
    for (const name of ['x-of-provider', 'set-cookie', 'openai-organization'])
      assert.doesNotMatch(head, new RegExp(`^${name}:`, 'im'));
    assert.match(head, /^x-modelgateway-cost-usd: 0\.0000\d+\r$/m, "the gateway's own figure, not the provider's");
  });
});

describe('the log', () => {
  const PROMPT = 'the-prompt-that-nobody-else-may-read';
  const ANSWER = 'the-answer-that-nobody-else-may-read';
  const said = { messages: [{ role: 'user', content: PROMPT }] };

  it('has one line per call, with ids, tokens and cost', async () => {
    const first = stack.gateway.logs.length;
    stack.openai.script(openaiChat({ usage: { prompt_tokens: 100, completion_tokens: 50 } }));
    const answer = await post(stack, '/v1/chat/completions', chat());
    await get(stack, '/v1/models');
    await get(stack, '/v1/key', { 'no-key': '1' });
    const lines = stack.gateway.logs.slice(first).map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ endpoint, status }) => [endpoint, status]),
      [
        ['chat_completions', 200],
        ['models', 200],
        ['key', 401],
      ],
    );
    const [call] = lines;
    assert.equal(call.request_id, answer.headers.get('x-request-id'));
    assert.deepEqual(
      [call.key, call.account, call.model, call.group, call.input_tokens, call.output_tokens, call.cost_usd],
      ['team/main', 'team/team', 'gpt-model', 'main', 100, 50, '0.00075'],
    );
  });
  it('never contains a prompt or an answer, however the call ends', async () => {
    stack.anthropic.script(anthropicMessage({ content: ANSWER }));
    stack.openai.script(openaiChat({ content: ANSWER }));
    await post(stack, '/v1/chat/completions', chat('gpt-model', said));
    await post(stack, '/v1/messages', message('claude-model', said));
    await post(stack, '/v1/messages', message('gpt-model', said));
    stack.openai.script(breakAt(openaiStream([ANSWER, ANSWER]), 2, CUT));
    await post(stack, '/v1/chat/completions', chat('gpt-model', { ...said, stream: true }));
    for (const status of [400, 401, 429, 500]) {
      stack.openai.script(openaiError(status, `cannot answer ${PROMPT}`));
      await post(stack, '/v1/chat/completions', chat('gpt-model', said));
    }
    stack.openai.script({ steps: [`<html>${PROMPT}`] });
    await post(stack, '/v1/chat/completions', chat('gpt-model', said));
    await post(stack, '/v1/chat/completions', `{"model": "gpt-model", "messages": [{"content": "${PROMPT}`);
    await post(stack, '/v1/chat/completions', chat('gpt-model', { messages: PROMPT }));
    await post(stack, '/v1/chat/completions', chat(PROMPT, said));
    stack.openai.script(openaiEmbeddings([[1]], 5));
    await post(stack, '/v1/embeddings', { model: 'embed-model', input: PROMPT });
    stack.openai.script(openaiImages());
    await post(stack, '/v1/images/generations', { model: 'image-model', prompt: PROMPT });
    await post(stack, '/v1/messages/count_tokens', message('gpt-model', said));
    await get(stack, `/v1/models/${PROMPT}`);
    await get(stack, `/nothing/${PROMPT}?q=${PROMPT}`);
    const text = stack.gateway.logs.join('');
    assert.ok(!text.includes(PROMPT) && !text.includes(ANSWER));
  });
  it('never contains a refused key, and neither does the response', async () => {
    const refused = 'sk-refused-00000000000000000000000000000000';
    const texts = await Promise.all([
      get(stack, '/v1/models', { 'x-api-key': refused }),
      get(stack, '/v1/models', { authorization: `Bearer ${refused}` }),
      get(stack, '/v1/models', { authorization: refused }),
      get(stack, '/v1/models', { authorization: `Bearer ${refused} x` }),
      get(stack, '/v1/models', { 'x-api-key': refused, authorization: `Bearer ${KEYS.main}` }),
      get(stack, `/v1/models?api_key=${refused}`, { 'no-key': '1' }),
    ]);
    for (const { status, text } of texts) {
      assert.equal(status, 401);
      assert.ok(!text.includes('sk-refused'));
    }
    assert.ok(!stack.gateway.logs.join('').includes('sk-refused'));
  });
});

/** Compressed request bodies: decoded on every endpoint, under the same limits as other bodies. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { anthropicMessage, openaiChat, openaiEmbeddings, openaiImages } from '../../support/provider-answers.ts';
import { openaiResponse } from '../../support/response-answers.ts';
import { chat, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const MAX_BODY = 2_000_000;
/** As dense as text in hexadecimal. */
const DENSE = randomBytes(MAX_BODY / 2 + 1).toString('hex');

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ maxBodyBytes: MAX_BODY, maxBufferedBytes: 4 * MAX_BODY });
});
afterAll(async () => {
  await stack.stop();
});
afterEach(() => {
  tidyUp(stack);
});

const ENCODERS: Readonly<Record<string, (text: string | Uint8Array) => Uint8Array>> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: zstdCompressSync,
  identity: (text) => Buffer.from(text),
};

function send(path: string, body: unknown, encoding: string): Promise<Answer> {
  const encode = ENCODERS[encoding];
  if (!encode) throw new Error(`no encoder for ${encoding}`);
  return post(stack, path, encode(JSON.stringify(body)), { 'content-encoding': encoding });
}

describe('a compressed body', () => {
  it('reaches the provider decoded and without its header, in every encoding', async () => {
    for (const encoding of Object.keys(ENCODERS)) {
      stack.openai.script(openaiChat());
      const body = chat('gpt-model', { user: encoding });
      assert.equal((await send('/v1/chat/completions', body, encoding)).status, 200, encoding);
      const sent = await stack.openai.request(0);
      assert.equal(sent.json().user, encoding);
      assert.equal(sent.headers['content-encoding'], undefined);
      assert.equal(sent.headers['content-length'], String(sent.body.length));
      stack.openai.clear();
    }
  });

  it('is decoded on every endpoint', async () => {
    stack.anthropic.script(anthropicMessage());
    assert.equal((await send('/v1/messages', message(), 'zstd')).status, 200);
    assert.equal((await send('/v1/messages/count_tokens', message('gpt-model'), 'zstd')).status, 200);
    stack.openai.script(openaiResponse());
    assert.equal((await send('/v1/responses', { model: 'gpt-model', input: 'hi' }, 'zstd')).status, 200);
    stack.openai.script(openaiEmbeddings([[1, 2]], 2));
    assert.equal((await send('/v1/embeddings', { model: 'embed-model', input: 'hi' }, 'gzip')).status, 200);
    stack.openai.script(openaiImages());
    assert.equal((await send('/v1/images/generations', { model: 'image-model', prompt: 'x' }, 'br')).status, 200);
  });

  it('that is large when decoded is parsed in the worker thread for large bodies', async () => {
    stack.openai.script(openaiChat());
    const body = chat('gpt-model', { user: 'a'.repeat(600_000) });
    assert.equal((await send('/v1/chat/completions', body, 'gzip')).status, 200);
    assert.equal((await stack.openai.request(0)).json().user, body.user);
  });

  it('may be as large as the body limit after decoding, and not a byte larger; a bomb gets 413', async () => {
    const sized = (size: number): unknown => {
      const empty = JSON.stringify(chat('gpt-model', { user: '' }));
      return chat('gpt-model', { user: DENSE.slice(0, size - empty.length) });
    };
    for (const encoding of ['gzip', 'deflate', 'br', 'zstd']) {
      stack.openai.script(openaiChat());
      assert.equal((await send('/v1/chat/completions', sized(MAX_BODY), encoding)).status, 200, encoding);
      const answer = await send('/v1/messages', sized(MAX_BODY + 1), encoding);
      assert.equal(answer.status, 413, encoding);
      assert.equal(answer.json().error.type, 'request_too_large');
    }
    for (const bomb of [gzipSync(Buffer.alloc(200 * MAX_BODY)), gzipSync(Buffer.alloc(MAX_BODY, ' '))]) {
      assert.ok(bomb.length < MAX_BODY);
      const refused = await post(stack, '/v1/chat/completions', bomb, { 'content-encoding': 'gzip' });
      assert.equal(refused.status, 413);
    }
    stack.openai.script(openaiChat());
    assert.equal((await post(stack, '/v1/chat/completions', chat())).status, 200, 'and its memory is free again');
  });

  it('that is truncated or invalid gets 400, in the dialect of the path', async () => {
    for (const [encoding, bytes] of [
      ['gzip', gzipSync(JSON.stringify(message())).subarray(0, 30)],
      ['br', Buffer.from('not brotli at all')],
      ['zstd', Buffer.from('{"model":"claude-model"}')],
      ['deflate', Buffer.from('{}')],
    ] as const) {
      const answer = await post(stack, '/v1/messages', bytes, { 'content-encoding': encoding });
      assert.equal(answer.status, 400, encoding);
      assert.equal(answer.json().type, 'error');
      assert.match(answer.json().error.message, /content-encoding/);
    }
  });
});

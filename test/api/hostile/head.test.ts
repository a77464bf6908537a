/** Refusals by the headers alone, without waiting for a byte of the body. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { BROKE_KEY, brokeManifest, requestHead, send } from './support.ts';

const CHAT = '/v1/chat/completions';
const HOST = 'Host: gateway';
const LARGE = 'Content-Length: 1000000';
const OWN_KEY = `Authorization: Bearer ${KEYS.main}`;

describe('the headers of a request are enough:', () => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await startTestStack({ files: () => ({ 'broke.yaml': brokeManifest() }) });
  });
  afterAll(() => stack.stop());

  /** Returns the status of a request whose body is never sent. */
  async function statusOf(headers: readonly string[], version?: string): Promise<string> {
    const { socket, response } = await send(stack.gateway.url, requestHead(CHAT, headers, version));
    const text = await response;
    socket.destroy();
    return `${text.slice(9, 12)} ${/"code":"?(\w+)/.exec(text)?.[1] ?? ''}`;
  }

  it('to refuse an unknown or disabled key, however small the body', async () => {
    const unknown = 'Authorization: Bearer sk-nobody';
    for (const key of [unknown, `Authorization: Bearer ${KEYS.disabled}`])
      for (const length of ['Content-Length: 10', LARGE, 'Transfer-Encoding: chunked'])
        assert.equal(await statusOf([HOST, key, length]), '401 invalid_api_key');
  });

  it('to refuse a key whose account is empty, before a large body', async () => {
    const key = `Authorization: Bearer ${BROKE_KEY}`;
    assert.equal(await statusOf([HOST, key, LARGE]), '402 credit_balance_exhausted');
    assert.equal(await statusOf([HOST, key, 'Transfer-Encoding: chunked']), '402 credit_balance_exhausted');
  });

  it("to limit a key's uploads by its slots", async () => {
    const key = `Authorization: Bearer ${KEYS.serial}`;
    const first = await send(stack.gateway.url, requestHead(CHAT, [HOST, key, LARGE, 'Expect: 100-continue']));
    // 100 Continue means that the first body is being read
    await new Promise<void>((resolve) => {
      first.socket.once('data', () => resolve());
    });
    assert.equal(await statusOf([HOST, key, LARGE]), '429 rate_limit_exceeded');
    first.socket.destroy();
  });

  it('to refuse a header that proxies interpret differently: the first or the last of two', async () => {
    assert.equal(await statusOf([HOST, OWN_KEY, `Authorization: Bearer ${KEYS.small}`, LARGE]), '400 invalid_value');
    assert.equal(await statusOf([HOST, OWN_KEY, OWN_KEY, LARGE]), '400 invalid_value');
    assert.equal(await statusOf([HOST, 'Host: other', OWN_KEY, LARGE]), '400 invalid_value');
  });

  it('to refuse a framing that proxies interpret differently', async () => {
    const oddities = [
      ['Transfer-Encoding: gzip, chunked'],
      ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
      ['Transfer-Encoding: chunked', 'Content-Length: 5'],
      ['Transfer-Encoding: chunked, chunked'],
      ['Transfer-Encoding: identity'],
      ['Transfer-Encoding: xchunked'],
      ['Transfer-Encoding: chunked;q=1'],
      ['Transfer-Encoding:\x0bchunked'],
      ['Content-Length: 5', 'Content-Length: 6'],
      ['Content-Length: +5'],
    ];
    for (const oddity of oddities) assert.match(await statusOf([HOST, OWN_KEY, ...oddity]), /^400/, oddity.join(', '));
    assert.match(await statusOf([HOST, OWN_KEY, 'Transfer-Encoding: chunked'], '1.0'), /^400/);
  });

  /** Returns the response to a request whose body is never sent. */
  async function refusalOf(method: string, path: string, headers: readonly string[]): Promise<string> {
    const head = [`${method} ${path} HTTP/1.1`, HOST, ...headers, '', ''].join('\r\n');
    const { socket, response } = await send(stack.gateway.url, head);
    const text = await response;
    socket.destroy();
    return text;
  }

  const PATHS = [
    '/v1/models',
    '/v1/models/gpt-model',
    '/v1/key',
    '/v1/usage/call',
    '/v1/videos/video',
    '/v1/videos/video/content',
    '/v1/responses/resp',
    '/v1/responses/resp/input_items',
    '/v1/conversations/conv',
    '/v1/conversations/conv/items',
    '/v1/conversations/conv/items/msg',
    '/v1beta/models',
    '/v1beta/models/gpt-model',
    '/v1beta/models/gpt-model:generateContent',
    '/v1/chat/completions',
    '/v1/messages',
    '/v1/nothing',
    '/pricing',
  ];
  const METHODS = ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
  const BODIES = [
    ['Content-Length: 102', 'Content-Encoding: br', 'Content-Type: application/json'],
    [LARGE],
    ['Transfer-Encoding: chunked'],
    ['Content-Length: 10', 'Expect: 100-continue'],
    ['Transfer-Encoding: chunked', 'Content-Encoding: zstd', 'Expect: 100-continue'],
  ];

  it('to refuse a body of a method that takes none, and first an unknown key', async () => {
    for (const path of PATHS)
      for (const method of METHODS)
        for (const body of BODIES) {
          const where = `${method} ${path} ${body.join(', ')}`;
          const unknown = await refusalOf(method, path, body);
          assert.match(unknown, /^HTTP\/1\.1 4(?:00|01|04|05) /, where);
          const known = await refusalOf(method, path, [OWN_KEY, ...body]);
          assert.match(known, /^HTTP\/1\.1 40[045] /, where);
          if (known.startsWith('HTTP/1.1 400')) {
            assert.match(known, /takes no body here/, where);
            assert.match(unknown, path === '/pricing' ? /^HTTP\/1\.1 400/ : /^HTTP\/1\.1 401/, where);
          }
        }
  });

  it('to refuse it in the dialect of its path, and the connection goes on', async () => {
    const dialects = [
      ['DELETE /v1/responses/x', /"code":"invalid_value"/],
      ['GET /v1beta/models', /"status":"INVALID_ARGUMENT"/],
    ] as const;
    for (const [line, error] of dialects) {
      const head = `${line} HTTP/1.1\r\n${HOST}\r\n${OWN_KEY}\r\n`;
      const connection = await send(stack.gateway.url, `${head}Content-Length: 4\r\n\r\n`);
      const { socket, response } = connection;
      assert.match(await response, error);
      const next = new Promise<string>((resolve) => {
        socket.once('data', (bytes) => resolve(bytes.toString()));
      });
      connection.write(`body${head}\r\n`);
      assert.match(await next, line.startsWith('GET') ? /^HTTP\/1\.1 200/ : /^HTTP\/1\.1 404/);
      socket.destroy();
    }
  });

  it('and a declared body of no bytes is none', async () => {
    assert.match(await refusalOf('GET', '/v1/models', [OWN_KEY, 'Content-Length: 0']), /^HTTP\/1\.1 200/);
    assert.match(await refusalOf('DELETE', '/v1/responses/x', [OWN_KEY, 'Content-Length: 0']), /^HTTP\/1\.1 404/);
  });
});

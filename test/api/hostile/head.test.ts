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
});

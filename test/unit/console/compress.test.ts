/** Compressed responses: for which browsers, in which encoding, and with the same content. */
import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { describe, it } from 'vitest';
import { html } from '#web/html.ts';
import { takesGzip } from '../../../console/compress.ts';
import { ALICE, HOST, signIn, stand } from './stand.ts';

const LONG = 'Keys and money. '.repeat(500);

async function* pieces(): AsyncGenerator<string> {
  yield LONG;
  yield 'the end';
}

async function* broken(): AsyncGenerator<string> {
  yield LONG;
  throw new Error('the ledger went away');
}

async function openPages() {
  const file = (content: () => AsyncGenerator<string>) => () => ({
    file: { name: 'calls.csv', contentType: 'text/csv; charset=utf-8', content: content() },
  });
  const { app } = stand({
    routes: [
      { method: 'GET', path: '/long', handle: () => ({ fragment: html`<p>${LONG}</p>` }) },
      { method: 'GET', path: '/short', handle: () => ({ fragment: html`<p>short</p>` }) },
      { method: 'GET', path: '/file', handle: file(pieces) },
      { method: 'GET', path: '/broken', handle: file(broken) },
    ],
  });
  const cookie = await signIn(app, ALICE);
  return (url: string, encoding?: string, method: 'GET' | 'HEAD' = 'GET') =>
    app.inject({
      method,
      url,
      headers: {
        host: HOST,
        cookie,
        ...(encoding !== undefined && { 'accept-encoding': encoding }),
      },
    });
}

describe('compressed answers', () => {
  it('are sent to browsers that accept them, with the same content', async () => {
    const get = await openPages();
    const plain = await get('/long');
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.equal(plain.headers['vary'], 'accept-encoding');
    const small = await get('/long', 'gzip, deflate, br');
    assert.equal(small.headers['content-encoding'], 'gzip');
    assert.equal(Number(small.headers['content-length']), small.rawPayload.length);
    assert.ok(small.rawPayload.length * 10 < plain.rawPayload.length);
    assert.equal(gunzipSync(small.rawPayload).toString(), plain.body);
    assert.equal((await get('/short', 'gzip')).headers['content-encoding'], undefined, 'nothing to gain');
    assert.equal((await get('/long', 'gzip', 'HEAD')).body, '');
  });

  it('can be files that are written as they are read, and a failing one is an error', async () => {
    const get = await openPages();
    assert.equal(gunzipSync((await get('/file', 'gzip')).rawPayload).toString(), `${LONG}the end`);
    const { statusCode, rawPayload } = await get('/broken', 'gzip');
    assert.equal(statusCode, 500);
    assert.match(gunzipSync(rawPayload).toString(), /The console failed on this page/);
  });

  it('follow Accept-Encoding', () => {
    for (const [header, taken] of [
      [undefined, false],
      ['', false],
      ['br', false],
      ['gzip', true],
      ['br, GZIP;q=0.5', true],
      ['gzip;q=0', false],
      ['gzip; q=0.000', false],
      ['*', true],
      ['identity, *;q=0', false],
      ['xgzip', false],
    ] as const)
      assert.equal(takesGzip(header), taken, String(header));
  });
});

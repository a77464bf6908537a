/** The console below a path, with a proxy that removes the path and with one that does not. */
import assert from 'node:assert/strict';
import { Type } from 'typebox';
import { describe, it } from 'vitest';
import { BasePathTaken, basePathOf, withBasePath, withoutBasePath } from '../../../console/base-path.ts';
import { html } from '../../../web/html.ts';
import { queryText } from '../../../console/request-schema.ts';
import { route } from '../../../console/route.ts';
import type { ConsoleRoute } from '../../../console/route.ts';
import { ALICE, FORM_HEADERS, HOST, cookiesOf, stand } from './stand.ts';

const CONSOLE_URL = 'https://gateway.example/llm/console';
const BASE = '/llm/console';

const routes: readonly ConsoleRoute[] = [
  route({
    method: 'GET',
    path: '/keys',
    query: Type.Object({ part: queryText() }),
    handle: ({ csrf, query }) =>
      query.part !== undefined
        ? { fragment: html`<a href="/keys?page=2">next</a>` }
        : {
            page: {
              title: 'Keys',
              active: 'keys',
              body: html`<form method="post" action="/keys/switch">
                <input type="hidden" name="csrf" value="${csrf}" /><input name="view" value="/keys?q=1" />
                <button formaction="/keys/other">Other</button>
                <p>${' href="/keys"'}</p>
                <a href="//elsewhere.example/">elsewhere</a><a href="#main">here</a>
              </form>`,
            },
          },
  }),
  { method: 'POST', path: '/keys/switch', handle: () => ({ redirect: '/keys?done=on' }) },
];

/** Addresses of a page, by the attributes that have them. */
function addressesOf(markup: string): string[] {
  return [...markup.matchAll(/\s(?:href|src|action|formaction)="([^"]*)"/g)].map(([, address = '']) => address);
}

for (const [proxy, root] of [
  ['removes the path', ''],
  ['keeps the path', BASE],
] as const)
  describe(`the console below a path, behind a proxy that ${proxy}`, () => {
    const { app } = stand({ routes, consoleUrl: CONSOLE_URL });

    it('has every link, redirect and cookie below it', async () => {
      const asked = await app.inject({ url: `${root}/keys?q=1`, headers: { host: HOST } });
      assert.equal(asked.statusCode, 303);
      assert.equal(asked.headers.location, `${BASE}/sign-in?next=%2Fkeys%3Fq%3D1`);
      const page = await app.inject({ url: `${root}/sign-in?next=%2Fkeys%3Fq%3D1`, headers: { host: HOST } });
      assert.ok(addressesOf(page.body).includes(`${BASE}/sign-in`));
      const signedIn = await app.inject({
        method: 'POST',
        url: `${root}/sign-in`,
        headers: FORM_HEADERS,
        payload: new URLSearchParams({ token: ALICE, next: '/keys?q=1' }).toString(),
      });
      assert.equal(signedIn.headers.location, `${BASE}/keys?q=1`);
      assert.match(String(signedIn.headers['set-cookie']), /^mgw-console-8081-llm\.console=.*; Path=\/llm\/console;/);

      const cookie = cookiesOf(signedIn);
      const keys = await app.inject({ url: `${root}/keys?q=1`, headers: { host: HOST, cookie } });
      const addresses = addressesOf(keys.body);
      assert.deepEqual(
        addresses.filter((address) => !address.startsWith(`${BASE}/`)),
        ['#main', '//elsewhere.example/', '#main'],
      );
      for (const address of ['/', '/wallet', '/keys/switch', '/keys/other', '/sign-out', '/assets/theme.css'])
        assert.ok(addresses.includes(BASE + address), address);
      assert.match(keys.body, /value="\/keys\?q=1"/);
      assert.match(keys.body, /<p> href=&quot;\/keys&quot;<\/p>/);
      const part = await app.inject({ url: `${root}/keys?part=`, headers: { host: HOST, cookie } });
      assert.equal(part.body, `<a href="${BASE}/keys?page=2">next</a>`);

      const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(keys.body) ?? [];
      const form = { headers: { ...FORM_HEADERS, cookie }, payload: new URLSearchParams({ csrf }).toString() };
      const switched = await app.inject({ method: 'POST', url: `${root}/keys/switch`, ...form });
      assert.equal(switched.headers.location, `${BASE}/keys?done=on`);
      const out = await app.inject({ method: 'POST', url: `${root}/sign-out`, ...form });
      assert.equal(out.headers.location, `${BASE}/sign-in?why=out`);
      assert.match(String(out.headers['set-cookie']), /Max-Age=0; Path=\/llm\/console;/);
    });
  });

describe('the path of the console', () => {
  it('is that of its URL', () => {
    assert.equal(basePathOf(undefined), '');
    assert.equal(basePathOf('https://console.example'), '');
    assert.equal(basePathOf('https://console.example/a/b/'), '/a/b');
  });

  it('is removed from requests once, and only as whole segments', () => {
    for (const [url, without] of [
      [BASE, '/'],
      [`${BASE}?a=1`, '/?a=1'],
      [`${BASE}/`, '/'],
      [`${BASE}/keys?a=1`, '/keys?a=1'],
      [`${BASE}${BASE}/keys`, `${BASE}/keys`],
      [`${BASE}s/keys`, `${BASE}s/keys`],
      ['/keys', '/keys'],
    ] as const)
      assert.equal(withoutBasePath(url, BASE), without);
    assert.equal(withBasePath('<a href="/keys">', ''), '<a href="/keys">');
  });

  it('cannot be one of its own pages', () => {
    for (const path of ['/keys', '/keys/console', '/assets', '/sign-in'])
      assert.throws(() => stand({ routes, consoleUrl: `https://gateway.example${path}` }), BasePathTaken);
  });
});

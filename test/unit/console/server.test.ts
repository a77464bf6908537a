/** The console's HTTP server: authentication, form tokens, and headers of every response. */
import assert from 'node:assert/strict';
import { Type } from 'typebox';
import { describe, it } from 'vitest';
import { html, NOTHING } from '#web/html.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { AccessError } from '../../../console/access/access.ts';
import { formText, formTexts } from '../../../console/request-schema.ts';
import { route } from '../../../console/route.ts';
import type { ConsoleRoute, PageRequest } from '../../../console/route.ts';
import { loadAssets } from '../../../console/assets.ts';
import { postForm } from '../../../console/components/form.ts';
import { ALICE, BOB, FORM_HEADERS, HOST, ORIGIN, cookiesOf, csrfIn, signIn, stand } from './stand.ts';
import type { Stand } from './stand.ts';
import { pattern } from '../../support/pattern.ts';

const SECRET = 'sk-0123456789';

function pages(seen: PageRequest[] = []): ConsoleRoute[] {
  const fail = (path: string, error: unknown): ConsoleRoute => ({
    method: 'GET',
    path,
    handle: () => {
      throw error;
    },
  });
  return [
    { method: 'GET', path: '/', handle: () => ({ redirect: '/keys' }) },
    {
      method: 'GET',
      path: '/keys',
      handle: ({ person }) => ({
        page: { title: 'Keys', active: 'keys', body: html`<h1>Keys of ${person.person.name}</h1>` },
      }),
    },
    route({
      method: 'GET',
      path: '/keys/:namespace/:name',
      params: Type.Object({ namespace: Type.String(), name: Type.String() }),
      handle: ({ params: { namespace, name } }) => ({ fragment: html`<p>${namespace}|${name}</p>` }),
    }),
    {
      method: 'POST',
      path: '/keys',
      form: Type.Object({ name: formText(), models: formTexts() }),
      handle: (visit) => {
        seen.push(visit);
        return { redirect: '/keys?done=1' };
      },
    },
    fail('/conflict', new AccessError('Conflict', 'It was changed by <bob>.')),
    fail(
      '/invalid',
      new AccessError('Invalid', 'No.', { fields: [{ path: 'spec.enabled', message: 'must be a <boolean>' }] }),
    ),
    fail('/unavailable', new AccessError('Unavailable', 'The API server does not answer.')),
    fail('/signed-out', new AccessError('SignedOut', 'The token has expired.')),
    fail('/ledger', new LedgerUnavailable('secret details')),
    fail('/defect', new Error(`cannot read ${SECRET}`)),
    {
      method: 'GET',
      path: '/form',
      handle: ({ csrf }) => ({ fragment: postForm({ action: '/keys', csrf }, NOTHING) }),
    },
    { method: 'GET', path: '/away', handle: () => ({ redirect: '//evil.example/' }) },
    {
      method: 'GET',
      path: '/file',
      handle: () => ({ file: { name: 'calls.csv', contentType: 'text/csv; charset=utf-8', content: pieces() } }),
    },
    {
      method: 'GET',
      path: '/bad-file',
      handle: () => ({ file: { name: 'calls.csv', contentType: 'text/csv; charset=utf-8', content: badPieces() } }),
    },
  ];
}

async function* pieces(): AsyncGenerator<string> {
  yield 'a,b\n';
  yield '1,2\n';
}

// oxlint-disable-next-line require-yield -- it fails before it has anything
async function* badPieces(): AsyncGenerator<string> {
  throw new LedgerUnavailable('gone');
}

async function signedIn(token = ALICE): Promise<Stand & { cookie: string; seen: PageRequest[]; csrf: string }> {
  const seen: PageRequest[] = [];
  const made = stand({ routes: pages(seen) });
  const cookie = await signIn(made.app, token);
  const page = await made.app.inject({ url: '/keys', headers: { host: HOST, cookie } });
  return { ...made, cookie, seen, csrf: csrfIn(page.body) };
}

describe('signing in', () => {
  it('redirects to the sign-in page and back to the requested page', async () => {
    const { app } = stand({ routes: pages() });
    const first = await app.inject({ url: '/keys?search=a%20b', headers: { host: HOST } });
    assert.equal(first.statusCode, 303);
    assert.equal(first.headers.location, '/sign-in?next=%2Fkeys%3Fsearch%3Da%2520b');
    const page = await app.inject({ url: first.headers.location, headers: { host: HOST } });
    assert.match(page.body, /name="next" value="\/keys\?search=a%20b"/);
    const answer = await app.inject({
      method: 'POST',
      url: '/sign-in',
      headers: FORM_HEADERS,
      payload: `token=Bearer+${ALICE}%0A&next=%2Fkeys%3Fsearch%3Da`,
    });
    assert.equal(answer.headers.location, '/keys?search=a');
    const keys = await app.inject({ url: '/keys', headers: { host: HOST, cookie: cookiesOf(answer) } });
    assert.match(keys.body, /<h1>Keys of alice<\/h1>/);
  });

  it('shows only its own texts as the reason', async () => {
    const { app } = stand({ routes: pages() });
    const seen = async (why: string) =>
      (await app.inject({ url: `/sign-in?why=${why}`, headers: { host: HOST } })).body;
    assert.match(await seen('out'), /You are signed out/);
    const plain = await seen('nothing-known');
    for (const why of ['__proto__', 'constructor', 'toString']) assert.equal(await seen(why), plain, why);
  });

  it('never redirects to another site', async () => {
    const { app } = stand({ routes: pages() });
    for (const next of [
      'https://evil.example/',
      '//evil.example/',
      '/\\evil.example/',
      '/\t/evil.example',
      'javascript:alert(1)',
      '/sign-in',
      '',
      '///evil.example',
      '/..//evil.example',
    ]) {
      const answer = await app.inject({
        method: 'POST',
        url: '/sign-in',
        headers: FORM_HEADERS,
        payload: new URLSearchParams({ token: ALICE, next }).toString(),
      });
      assert.match(String(answer.headers.location), /^\/(?![/\\])/, next);
      assert.ok(!String(answer.headers.location).startsWith('/sign-in'));
    }
  });

  it('reports what is wrong with a token without repeating or logging it', async () => {
    const { app, logged, asked } = stand({ routes: pages() });
    for (const [token, words] of [
      ['', /Required/],
      ['wrong-token', /does not know this token/],
      ['two words', /has no spaces/],
      ['schön', /has no spaces/],
    ] as const) {
      const answer = await app.inject({
        method: 'POST',
        url: '/sign-in',
        headers: FORM_HEADERS,
        payload: new URLSearchParams({ token }).toString(),
      });
      assert.equal(answer.statusCode, 422);
      assert.match(answer.body, words);
      assert.equal(answer.headers['set-cookie'], undefined);
      if (token !== '') assert.ok(!answer.body.includes(token) && !JSON.stringify(logged).includes(token));
    }
    assert.deepEqual(asked, ['wrong-token'], 'what cannot be a token is not asked about');
  });

  it('checks a token again after ten seconds, so a revoked one works no longer than that', async () => {
    const { app, asked, clock } = stand({ routes: pages() });
    const cookie = await signIn(app, ALICE);
    const visit = () => app.inject({ url: '/keys', headers: { host: HOST, cookie } });
    clock.nowMs += 9_999;
    assert.equal((await visit()).statusCode, 200);
    assert.equal(asked.length, 1);
    clock.nowMs++;
    assert.equal((await visit()).statusCode, 200);
    assert.equal(asked.length, 2);
  });

  it('delays an address that fails too often, and no other', async () => {
    const { app, clock } = stand({ routes: pages() });
    const attempt = (token: string, remoteAddress: string) =>
      app.inject({ method: 'POST', url: '/sign-in', remoteAddress, headers: FORM_HEADERS, payload: `token=${token}` });
    for (let i = 0; i < 20; i++) assert.equal((await attempt('wrong', '10.0.0.1')).statusCode, 422);
    const refused = await attempt(ALICE, '10.0.0.1');
    assert.equal(refused.statusCode, 429);
    assert.equal(refused.headers['retry-after'], '300');
    assert.equal((await attempt(ALICE, '10.0.0.2')).statusCode, 303);
    clock.nowMs += 300_000;
    assert.equal((await attempt(ALICE, '10.0.0.1')).statusCode, 303);
  });

  it('believes no header of a connection that is no trusted proxy', async () => {
    for (const trustedProxies of [undefined, ['10.0.0.9', '192.0.2.0/24']]) {
      const { app, logged } = stand({ routes: pages(), ...(trustedProxies && { trustedProxies }) });
      const attempt = (token: string, forwarded: string, remoteAddress = '10.0.0.1') =>
        app.inject({
          method: 'POST',
          url: '/sign-in',
          remoteAddress,
          headers: { ...FORM_HEADERS, 'x-forwarded-for': forwarded },
          payload: `token=${token}`,
        });
      for (let i = 0; i < 20; i++) assert.equal((await attempt('wrong', `203.0.113.${i}`)).statusCode, 422);
      assert.equal((await attempt('wrong', '203.0.113.99')).statusCode, 429);
      // nobody else is locked out by what strangers write
      assert.equal((await attempt(ALICE, '', '203.0.113.1')).statusCode, 303);
      assert.deepEqual(logged.at(-1)?.fields, { person: 'alice', address: '203.0.113.1' });
    }
  });

  it('delays no other person behind the same trusted proxies', async () => {
    const { app, logged } = stand({ routes: pages(), trustedProxies: ['10.0.0.0/24'] });
    const attempt = (token: string, forwarded: string) =>
      app.inject({
        method: 'POST',
        url: '/sign-in',
        remoteAddress: '10.0.0.1',
        headers: { ...FORM_HEADERS, 'x-forwarded-for': forwarded },
        payload: `token=${token}`,
      });
    // a client's own value comes before the one that the proxy adds, and a second proxy adds the first one's
    assert.equal((await attempt('wrong', '198.51.100.1, 203.0.113.9, 10.0.0.7')).statusCode, 422);
    assert.match(JSON.stringify(logged.at(-1)?.fields), /"address":"203\.0\.113\.9"/);
    for (let i = 0; i < 20; i++) assert.equal((await attempt('wrong', `198.51.100.${i}, 203.0.113.7`)).statusCode, 422);
    assert.equal((await attempt(ALICE, '198.51.100.99, 203.0.113.7')).statusCode, 429);
    assert.equal((await attempt(ALICE, '203.0.113.8')).statusCode, 303);
    assert.deepEqual(logged.at(-1)?.fields, { person: 'alice', address: '203.0.113.8' });
    assert.equal((await attempt(BOB, 'not an address')).statusCode, 303);
    assert.deepEqual(logged.at(-1)?.fields, { person: 'bob', address: '10.0.0.1' });
  });

  it('refuses tokens over plain http from other machines, and those that do not fit a cookie', async () => {
    const { app, asked } = stand({ routes: pages() });
    const far = { ...FORM_HEADERS, host: 'console.example:8081', origin: 'http://console.example:8081' };
    const refused = await app.inject({ method: 'POST', url: '/sign-in', headers: far, payload: `token=${ALICE}` });
    assert.equal(refused.statusCode, 403);
    assert.match(refused.body, /needs https/);
    const long = await app.inject({
      method: 'POST',
      url: '/sign-in',
      headers: FORM_HEADERS,
      payload: `token=${'x'.repeat(6_000)}`,
    });
    assert.equal(long.statusCode, 422);
    assert.match(long.body, /6,000 characters/);
    assert.deepEqual(asked, []);
  });

  it('offers a link to people who followed a link from another site', async () => {
    const { app } = stand({ routes: pages() });
    const page = await app.inject({
      url: '/sign-in?next=%2Fkeys%2Fa%2Fb',
      headers: { host: HOST, 'sec-fetch-site': 'cross-site' },
    });
    assert.match(page.body, /<a href="\/keys\/a\/b">go on to the page<\/a>/);
  });

  it('lasts while it is used, and ends after an hour without a request', async () => {
    const { app, clock, cookie } = await signedIn();
    const visit = (kept: string) => app.inject({ url: '/keys', headers: { host: HOST, cookie: kept } });
    assert.equal((await visit(cookie)).headers['set-cookie'], undefined, 'a young cookie is not written anew');
    clock.nowMs += 50 * 60_000;
    const renewed = await visit(cookie);
    assert.match(String(renewed.headers['set-cookie']), /Max-Age=3600; Path=\/; HttpOnly; SameSite=Strict/);
    clock.nowMs += 50 * 60_000;
    assert.equal((await visit(cookie)).headers.location, '/sign-in?next=%2Fkeys&why=over');
    assert.equal((await visit(cookiesOf(renewed))).statusCode, 200);
    clock.nowMs += 8 * 3_600_000;
    assert.equal((await visit(cookiesOf(renewed))).statusCode, 303);
  });

  it('is invalid if the cookie was changed, or made by another console', async () => {
    const { app, cookie } = await signedIn();
    const [name = '', sealed = ''] = cookie.split('=');
    const other = await signIn(stand({ routes: pages() }).app, ALICE);
    for (const kept of [
      `${name}=${sealed.slice(0, -1)}`,
      `${name}=${sealed.slice(0, 30)}${sealed[30] === 'A' ? 'B' : 'A'}${sealed.slice(31)}`,
      `${name}=`,
      `${name}=${ALICE}`,
      `${cookie}; ${cookie}`,
      other,
      `__Host-mgw-console=${sealed}x`,
    ])
      assert.equal((await app.inject({ url: '/keys', headers: { host: HOST, cookie: kept } })).statusCode, 303, kept);
  });

  it('ends with signing out', async () => {
    const { app, cookie, csrf } = await signedIn();
    const stale = await app.inject({
      method: 'POST',
      url: '/sign-out',
      headers: { ...FORM_HEADERS, cookie },
      payload: 'csrf=x',
    });
    assert.equal(stale.statusCode, 403);
    const answer = await app.inject({
      method: 'POST',
      url: '/sign-out',
      headers: { ...FORM_HEADERS, cookie },
      payload: `csrf=${csrf}`,
    });
    assert.equal(answer.headers.location, '/sign-in?why=out');
    assert.match(String(answer.headers['set-cookie']), /mgw-console-8081=; Max-Age=0; Path=\//);
  });

  it('ends for every copy of its cookie, and for no other session', async () => {
    const { app, clock, cookie, csrf, asked } = await signedIn();
    const visit = (kept: string) => app.inject({ url: '/keys', headers: { host: HOST, cookie: kept } });
    const others = [await signIn(app, ALICE), await signIn(app, BOB)];
    clock.nowMs += 10 * 60_000;
    const renewed = cookiesOf(await visit(cookie));
    assert.notEqual(renewed, cookie);
    await app.inject({
      method: 'POST',
      url: '/sign-out',
      headers: { ...FORM_HEADERS, cookie: renewed },
      payload: `csrf=${csrf}`,
    });
    const questions = asked.length;
    for (const copied of [cookie, renewed]) {
      const refused = await visit(copied);
      assert.equal(refused.headers.location, '/sign-in?next=%2Fkeys&why=over');
      assert.match(String(refused.headers['set-cookie']), /mgw-console-8081=; Max-Age=0; Path=\//);
      assert.equal(
        (
          await app.inject({
            method: 'POST',
            url: '/keys',
            headers: { ...FORM_HEADERS, cookie: copied },
            payload: `csrf=${csrf}&name=a`,
          })
        ).statusCode,
        401,
      );
    }
    assert.equal(asked.length, questions, 'its token is not even asked about');
    for (const other of others)
      assert.equal((await visit(other)).statusCode, 200, 'of the same person on another machine, and of somebody else');
    assert.equal((await visit(await signIn(app, ALICE))).statusCode, 200, 'the token itself stays good');
  });
});

describe('a form', () => {
  it('reaches its handler with the token of its session, from this site', async () => {
    const { app, cookie, csrf, seen } = await signedIn();
    const answer = await app.inject({
      method: 'POST',
      url: '/keys',
      headers: { ...FORM_HEADERS, cookie },
      payload: `csrf=${csrf}&name=a+b&models=x&models=y`,
    });
    assert.equal(answer.statusCode, 303);
    assert.equal(answer.headers.location, '/keys?done=1');
    assert.deepEqual({ ...seen[0]?.form }, { name: 'a b', models: ['x', 'y'] });
  });

  it('is refused in every other case, without effect', async () => {
    const { app, cookie, csrf, seen } = await signedIn();
    const bobs = csrfIn(
      (await app.inject({ url: '/keys', headers: { host: HOST, cookie: await signIn(app, BOB) } })).body,
    );
    const { 'sec-fetch-site': _, ...old } = FORM_HEADERS;
    const { origin: __, ...silent } = old;
    const cases: [status: number, headers: Record<string, string>, payload: string][] = [
      [403, FORM_HEADERS, 'name=a'],
      [403, FORM_HEADERS, `name=a&csrf=${bobs}`],
      [403, FORM_HEADERS, `name=a&csrf=${csrf.startsWith('A') ? 'B' : 'A'}${csrf.slice(1)}`],
      [400, FORM_HEADERS, `name=a&csrf=${csrf}&csrf=${csrf}`],
      [400, FORM_HEADERS, `name=a&name=b&csrf=${csrf}`],
      [400, FORM_HEADERS, `name=%FF&csrf=${csrf}`],
      [403, { ...FORM_HEADERS, 'sec-fetch-site': 'cross-site' }, `name=a&csrf=${csrf}`],
      [403, { ...FORM_HEADERS, 'sec-fetch-site': 'same-site' }, `name=a&csrf=${csrf}`],
      [403, { ...FORM_HEADERS, 'sec-fetch-site': 'none' }, `name=a&csrf=${csrf}`],
      [403, { ...old, origin: 'http://evil.example' }, `name=a&csrf=${csrf}`],
      [403, { ...old, origin: 'http://localhost:9999' }, `name=a&csrf=${csrf}`],
      [403, { ...old, origin: 'null' }, `name=a&csrf=${csrf}`],
      [403, silent, `name=a&csrf=${csrf}`],
      [415, { ...FORM_HEADERS, 'content-type': 'application/json' }, '{}'],
      [415, { ...FORM_HEADERS, 'content-type': 'multipart/form-data; boundary=x' }, '--x--'],
      [413, FORM_HEADERS, `name=${'x'.repeat(300_000)}`],
    ];
    for (const [status, headers, payload] of cases) {
      const answer = await app.inject({ method: 'POST', url: '/keys', headers: { ...headers, cookie }, payload });
      assert.equal(answer.statusCode, status, `${JSON.stringify(headers)} ${payload.slice(0, 100)}`);
      assert.match(String(answer.headers['content-type']), /^text\/html/);
    }
    assert.deepEqual(seen, []);
  });

  it('of a person who is signed out is refused with an explanation, not redirected', async () => {
    const { app, csrf, seen } = await signedIn();
    const answer = await app.inject({ method: 'POST', url: '/keys', headers: FORM_HEADERS, payload: `csrf=${csrf}` });
    assert.equal(answer.statusCode, 401);
    assert.match(answer.body, /Nothing was changed/);
    assert.deepEqual(seen, []);
  });
});

describe('every response', () => {
  it('forbids features that pages do not need, and caching', async () => {
    const { app, cookie } = await signedIn();
    for (const url of ['/keys', '/', '/sign-in', '/nothing', '/defect', '/%zz', '/file']) {
      const { headers } = await app.inject({ url, headers: { host: HOST, cookie } });
      assert.match(
        String(headers['content-security-policy']),
        pattern(
          /^default-src 'none'; script-src 'self'; style-src 'self'; /,
          /.*form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
        ),
        url,
      );
      assert.equal(headers['cache-control'], 'no-store', url);
      assert.equal(headers['x-content-type-options'], 'nosniff', url);
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin', url);
      assert.match(String(headers['x-request-id']), /^req_[0-9a-f]{32}$/, url);
    }
  });

  it('explains errors in plain words', async () => {
    const { app, cookie, logged } = await signedIn();
    const cases: [url: string, status: number, words: RegExp][] = [
      ['/conflict', 409, /It was changed by &lt;bob&gt;\./],
      ['/invalid', 422, /<code>spec\.enabled<\/code>: must be a &lt;boolean&gt;/],
      ['/unavailable', 503, /The API server does not answer/],
      ['/ledger', 503, /cannot be read at the moment/],
      ['/bad-file', 503, /cannot be read at the moment/],
      ['/nothing', 404, /There is nothing here[\s\S]*Go to the keys/],
      ['/%zz', 400, /not well-formed/],
      [`/keys/a/${'x'.repeat(600)}`, 404, /No object has a name of this length/],
      ['/defect', 500, /Request id: <code>req_/],
      ['/away', 500, /Request id/],
    ];
    for (const [url, status, words] of cases) {
      const answer = await app.inject({ url, headers: { host: HOST, cookie } });
      assert.equal(answer.statusCode, status, url);
      assert.match(answer.body, words, url);
      assert.ok(!answer.body.includes(SECRET) && !answer.body.includes('secret details'), url);
    }
    assert.equal(logged.filter(({ level }) => level === 'error').length, 2, 'only defects are errors');
  });

  it('redirects to the sign-in when the token has become invalid, and ends the session', async () => {
    const { app, cookie, asked } = await signedIn();
    const answer = await app.inject({ url: '/signed-out', headers: { host: HOST, cookie } });
    assert.equal(answer.headers.location, '/sign-in?next=%2Fsigned-out&why=over');
    assert.match(String(answer.headers['set-cookie']), /Max-Age=0/);
    const script = await app.inject({ url: '/signed-out', headers: { host: HOST, cookie, 'sec-fetch-dest': 'empty' } });
    assert.equal(script.statusCode, 401);
    assert.deepEqual(asked, [ALICE, ALICE], 'the person was asked for anew');
  });

  it('supports HEAD, and lists the methods of a path', async () => {
    const { app, cookie } = await signedIn();
    const head = await app.inject({ method: 'HEAD', url: '/keys', headers: { host: HOST, cookie } });
    assert.deepEqual([head.statusCode, head.body], [200, '']);
    const file = await app.inject({ method: 'HEAD', url: '/file', headers: { host: HOST, cookie } });
    assert.deepEqual([file.statusCode, file.body], [200, '']);
    const put = await app.inject({ method: 'PUT', url: '/keys', headers: { host: HOST, cookie } });
    assert.deepEqual([put.statusCode, put.headers.allow], [405, 'GET, HEAD, POST']);
    assert.equal(
      (await app.inject({ method: 'POST', url: '/conflict', headers: { ...FORM_HEADERS, cookie } })).statusCode,
      405,
    );
  });

  it('streams files, and decodes paths', async () => {
    const { app, cookie } = await signedIn();
    const file = await app.inject({ url: '/file', headers: { host: HOST, cookie } });
    assert.equal(file.body, 'a,b\n1,2\n');
    assert.equal(file.headers['content-disposition'], 'attachment; filename="calls.csv"');
    const fragment = await app.inject({ url: '/keys/team%2Da/x%3Cy', headers: { host: HOST, cookie } });
    assert.equal(fragment.body, '<p>team-a|x&lt;y</p>');
  });
});

describe('assets', () => {
  it('are cached forever under the hash of their content', async () => {
    const assets = loadAssets();
    const { app } = stand({ routes: [], assets });
    const path = assets.href('theme.css');
    assert.match(path, /^\/assets\/theme\.[0-9a-f]{12}\.css$/);
    const exact = await app.inject({ url: path });
    assert.equal(exact.headers['cache-control'], 'public, max-age=31536000, immutable');
    assert.equal(exact.headers['content-type'], 'text/css; charset=utf-8');
    const other = await app.inject({ url: '/assets/theme.000000000000.css' });
    assert.deepEqual([other.statusCode, other.headers['cache-control']], [200, 'no-store']);
    for (const url of ['/assets/theme.css', '/assets/../server.ts', '/assets/%2e%2e/server.ts', '/assets/'])
      assert.equal((await app.inject({ url })).statusCode, 404, url);
  });
});

describe('behind an authenticating proxy', () => {
  for (const [proxyHeader, value] of [
    ['authorization', `Bearer ${ALICE}`],
    ['x-forwarded-access-token', ALICE],
  ] as const) {
    it(`uses the token of ${proxyHeader} in each request, without a session`, async () => {
      const seen: PageRequest[] = [];
      const { app } = stand({ routes: pages(seen), proxyHeader });
      const headers = { ...FORM_HEADERS, [proxyHeader]: value };
      const page = await app.inject({ url: '/keys', headers });
      assert.match(page.body, /Keys of alice/);
      assert.ok(!page.body.includes('Sign out'));
      assert.equal(page.headers['set-cookie'], undefined);
      const foreign = csrfIn(
        (await stand({ routes: pages(), proxyHeader }).app.inject({ url: '/form', headers })).body,
      );
      const own = csrfIn((await app.inject({ url: '/form', headers })).body);
      const bobs = csrfIn(
        (
          await app.inject({
            url: '/form',
            headers: { ...headers, [proxyHeader]: value.replace(ALICE, BOB) },
          })
        ).body,
      );
      assert.equal(
        (
          await app.inject({
            method: 'POST',
            url: '/keys',
            headers,
            payload: `csrf=${bobs}`,
          })
        ).statusCode,
        403,
        'of somebody else',
      );
      assert.equal(
        (
          await app.inject({
            method: 'POST',
            url: '/keys',
            headers: { ...headers, 'sec-fetch-site': 'cross-site' },
            payload: `csrf=${own}`,
          })
        ).statusCode,
        403,
        'from elsewhere',
      );
      assert.equal((await app.inject({ method: 'POST', url: '/keys', headers, payload: 'name=a' })).statusCode, 403);
      assert.equal(
        (
          await app.inject({
            method: 'POST',
            url: '/keys',
            headers,
            payload: `csrf=${foreign}`,
          })
        ).statusCode,
        403,
        'of another console',
      );
      assert.deepEqual(seen, []);
      assert.equal(
        (await app.inject({ method: 'POST', url: '/keys', headers, payload: `csrf=${own}` })).statusCode,
        303,
      );
      assert.equal(seen.length, 1);
    });
  }

  it('refuses requests without that header', async () => {
    const { app } = stand({ routes: pages(), proxyHeader: 'authorization' });
    const bare = await app.inject({ url: '/keys', headers: { host: HOST } });
    assert.match(String(bare.headers.location), /^\/sign-in/);
    assert.equal((await app.inject({ url: '/sign-in', headers: { host: HOST } })).statusCode, 401);
    assert.equal(
      (await app.inject({ method: 'POST', url: '/sign-in', headers: FORM_HEADERS, payload: `token=${ALICE}` }))
        .statusCode,
      401,
    );
    const header = await app.inject({ url: '/keys', headers: { host: HOST, authorization: 'Bearer wrong' } });
    assert.match(String(header.headers.location), /^\/sign-in/);
  });

  it('ignores that header if no proxy is configured', async () => {
    const { app } = stand({ routes: pages() });
    const answer = await app.inject({
      url: '/keys',
      headers: {
        host: HOST,
        authorization: `Bearer ${ALICE}`,
        'x-forwarded-access-token': ALICE,
        origin: ORIGIN,
      },
    });
    assert.equal(answer.statusCode, 303);
  });
});

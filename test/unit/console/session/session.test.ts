/** Sessions in browsers: sealed, bounded, and useless when changed or moved. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { describe, it } from 'vitest';
import { isSameSite } from '../../../../console/hooks.ts';
import {
  dropCookies,
  readSession,
  registerSessions,
  sealSession,
  writeCookies,
} from '../../../../console/session/session-cookies.ts';
import type { CookieScope } from '../../../../console/session/cookie-scope.ts';
import {
  IDLE_MS,
  SESSION_MS,
  beginSession,
  parseSession,
  renewSession,
  secondsLeft,
} from '../../../../console/session/session.ts';
import type { Session } from '../../../../console/session/session.ts';
import { cookiesOf } from '../stand.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const HTTPS = { secure: true, port: '', basePath: '' };
const HERE = { secure: false, port: '8081', basePath: '' };
const BELOW = { ...HTTPS, basePath: '/llm/console' };

/** Seals a value, and opens it again. */
interface Cookies {
  write(session: Session, scope?: CookieScope): Promise<string[]>;
  read(cookie: string | undefined, scope?: CookieScope): Promise<Session | undefined>;
}

async function openCookies(keys: readonly Uint8Array[]): Promise<Cookies & { app: FastifyInstance }> {
  const app = fastify();
  registerSessions(app, keys);
  let work: (exchange: {
    request: Parameters<typeof readSession>[0];
    reply: Parameters<typeof writeCookies>[0];
  }) => void = () => undefined;
  app.get('/', (request, reply) => {
    work({ request, reply });
    return 'done';
  });
  await app.ready();
  return {
    app,
    async write(session, scope = HERE) {
      work = ({ reply }) =>
        writeCookies(reply, scope, { sealed: sealSession(app, session) ?? assert.fail('too long'), seconds: 60 });
      return [(await app.inject('/')).headers['set-cookie'] ?? []].flat();
    },
    async read(cookie, scope = HERE) {
      let found: Session | undefined;
      work = ({ request }) => {
        found = readSession(request, scope, NOW_MS);
      };
      await app.inject({ url: '/', headers: cookie === undefined ? {} : { cookie } });
      return found;
    },
  };
}

const headerOf = (cookies: readonly string[]): string =>
  cookies
    .filter((each) => !each.includes('Max-Age=0'))
    .map((each) => each.split(';', 1)[0])
    .join('; ');

describe('sealing', () => {
  const session = beginSession('token', NOW_MS);

  it('opens to the same value, and never seals to the same text twice', async () => {
    const cookies = await openCookies([randomBytes(32)]);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (token) => {
        const [one, two] = [
          headerOf(await cookies.write({ ...session, token })),
          headerOf(await cookies.write({ ...session, token })),
        ];
        assert.notEqual(one, two);
        assert.deepEqual(await cookies.read(one), { ...session, token });
        assert.match(one, /^mgw-console-8081=[\w.-]+$/);
      }),
      { numRuns: 30 },
    );
  });

  it('detects every changed bit', async () => {
    const cookies = await openCookies([randomBytes(32)]);
    const [name = '', value = ''] = headerOf(await cookies.write(session)).split('=');
    const parts = value.split('.').map((part) => Buffer.from(part, 'base64url'));
    for (const [at, bytes] of parts.entries()) {
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const changed = Buffer.from(bytes);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const text = parts
          .with(at, changed)
          .map((part) => part.toString('base64url'))
          .join('.');
        assert.equal(await cookies.read(`${name}=${text}`), undefined, `part ${at}, bit ${bit}`);
      }
    }
  });

  it('rejects anything but a complete value', async () => {
    const cookies = await openCookies([randomBytes(32)]);
    const [name = '', value = ''] = headerOf(await cookies.write(session)).split('=');
    assert.deepEqual(await cookies.read(`${name}=${value}`), session);
    const [cipher = '', nonce = ''] = value.split('.');
    for (const text of [
      '',
      'x',
      value.slice(0, -1),
      `${value}A`,
      `${value}=`,
      `${value}.`,
      `.${value}`,
      value.slice(1),
      cipher,
      nonce,
      `${nonce}.${cipher}`,
      `${value}.${value}`,
      `${cipher};${nonce}`,
      `${cipher}%3B${nonce}`,
    ])
      assert.equal(await cookies.read(`${name}=${text}`), undefined, text);
    await fc.assert(
      fc.asyncProperty(fc.base64String(), async (text) => {
        assert.equal(await cookies.read(`${name}=${text}`), undefined);
      }),
    );
  });

  it('opens with older keys of its list, and seals with the first', async () => {
    const [key, next] = [randomBytes(32), randomBytes(32)];
    const [old, both, only] = [await openCookies([key]), await openCookies([next, key]), await openCookies([next])];
    const sealed = headerOf(await old.write(session));
    assert.deepEqual(await both.read(sealed), session);
    assert.equal(await only.read(sealed), undefined);
    assert.deepEqual(await only.read(headerOf(await both.write(session))), session);
  });

  it('rejects other keys', () => {
    assert.throws(() => registerSessions(fastify(), []), RangeError);
    assert.throws(() => registerSessions(fastify(), [randomBytes(32), randomBytes(16)]), RangeError);
  });
});

describe('a session', () => {
  it('ends after eight hours, or one without a request', () => {
    const session = beginSession('token', NOW_MS);
    assert.deepEqual(parseSession(session, NOW_MS), session);
    assert.deepEqual(parseSession(session, NOW_MS + IDLE_MS - 1), session);
    assert.equal(parseSession(session, NOW_MS + IDLE_MS), undefined);
    const late = { ...session, seenMs: NOW_MS + SESSION_MS - 1000 };
    assert.deepEqual(parseSession(late, NOW_MS + SESSION_MS - 1), late);
    assert.equal(parseSession(late, NOW_MS + SESSION_MS), undefined);
    assert.equal(parseSession(session, NOW_MS - 120_000), undefined, 'from the future');
    assert.equal(parseSession({ token: 'token' }, NOW_MS), undefined);
  });

  it('is renewed periodically within its eight hours', () => {
    const session = beginSession('token', NOW_MS);
    assert.equal(renewSession(session, NOW_MS + 299_999), undefined);
    const renewed = renewSession(session, NOW_MS + 300_000);
    assert.deepEqual(renewed, { ...session, seenMs: NOW_MS + 300_000 });
    assert.equal(secondsLeft(session, NOW_MS), 3600);
    assert.equal(secondsLeft({ ...session, seenMs: NOW_MS + SESSION_MS - 60_000 }, NOW_MS + SESSION_MS - 60_000), 60);
  });

  it('has a secret of its own', () => {
    assert.notEqual(beginSession('token', NOW_MS).csrfSecret, beginSession('token', NOW_MS).csrfSecret);
  });
});

describe('cookies', () => {
  const session = beginSession('token', NOW_MS);

  it('are restricted to the console', async () => {
    const cookies = await openCookies([randomBytes(32)]);
    const [one = '', two = ''] = await cookies.write(session, HTTPS);
    assert.match(one, /^__Host-mgw-console=[\w.-]+; Max-Age=60; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
    assert.equal(two, '__Host-mgw-console.2=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Strict');
    const [here = ''] = await cookies.write(session, HERE);
    assert.match(here, /^mgw-console-8081=[\w.-]+; Max-Age=60; Path=\/; HttpOnly; SameSite=Strict$/);
    const [below = ''] = await cookies.write(session, BELOW);
    assert.match(
      below,
      /^__Secure-mgw-console-llm.console=[\w.-]+; Max-Age=60; Path=\/llm\/console; HttpOnly; Secure; SameSite=Strict$/,
    );
    assert.equal(await cookies.read(headerOf([below]), HTTPS), undefined);
    assert.deepEqual(await cookies.read(headerOf([below]), BELOW), session);
  });

  it('are deleted in both parts', async () => {
    const app = fastify();
    registerSessions(app, [randomBytes(32)]);
    app.get('/', (_request, reply) => {
      dropCookies(reply, HTTPS);
      return 'done';
    });
    const answer = await app.inject('/');
    assert.equal([answer.headers['set-cookie'] ?? []].flat().length, 2);
    assert.equal(cookiesOf(answer), '');
  });

  it('contain tokens of 5,400 characters, in parts that browsers and proxies with 8 KiB accept', async () => {
    const cookies = await openCookies([randomBytes(32)]);
    for (const length of [1, 2_000, 2_640, 2_680, 3_000, 5_400]) {
      for (const scope of [HTTPS, HERE]) {
        const long = { ...session, token: 'x'.repeat(length) };
        const written = await cookies.write(long, scope);
        assert.ok(written.every((each) => each.length <= 4096));
        assert.ok(headerOf(written).length < 8_000);
        assert.deepEqual(await cookies.read(`other=1; ${headerOf(written)}; last=2`, scope), long);
      }
    }
    assert.equal(sealSession(cookies.app, { ...session, token: 'x'.repeat(5_600) }), undefined);
  });

  it('combined from two sessions are invalid', async () => {
    const cookies = await openCookies([randomBytes(32)]);
    const long = (token: string): Session => ({ ...beginSession(token.repeat(4_000), NOW_MS) });
    const [one, two] = [
      headerOf(await cookies.write(long('a'))).split('; '),
      headerOf(await cookies.write(long('b'))).split('; '),
    ];
    assert.equal(await cookies.read(`${one[0]}; ${two[1]}`), undefined);
    assert.equal(await cookies.read(one[0]), undefined);
    assert.equal(await cookies.read(one[1]), undefined);
    assert.notEqual(await cookies.read(`${one[0]}; ${one[1]}`), undefined);
  });

  it('ignore those of another site, and foreign ones beside ours', async () => {
    const cookies = await openCookies([randomBytes(32)]);
    const header = headerOf(await cookies.write(session, HERE));
    assert.equal(await cookies.read(header, HTTPS), undefined);
    assert.equal(await cookies.read(header, { ...HERE, port: '9999' }), undefined);
    assert.equal(await cookies.read(`${header}; mgw-console-8081=def`), undefined);
    assert.equal(await cookies.read(header.replace('8081=', '8081.2=')), undefined);
    assert.equal(await cookies.read(undefined), undefined);
    assert.equal(await cookies.read('mgw-console-8081='), undefined);
  });
});

describe('the origin of a request', () => {
  it('is this site only if the browser says so', () => {
    const host = 'console.example';
    const ours: Parameters<typeof isSameSite>[0][] = [
      { host, origin: 'https://console.example', 'sec-fetch-site': 'same-origin' },
      { host: 'inner:8081', origin: 'https://console.example', 'sec-fetch-site': 'same-origin' },
      { host, origin: 'https://console.example', 'sec-fetch-site': undefined },
      { host: 'Localhost:8081', origin: 'http://localhost:8081', 'sec-fetch-site': undefined },
    ];
    for (const each of ours) assert.ok(isSameSite(each), JSON.stringify(each));
    const theirs: Parameters<typeof isSameSite>[0][] = [
      { host, origin: 'https://console.example', 'sec-fetch-site': 'cross-site' },
      { host, origin: 'https://console.example', 'sec-fetch-site': 'same-site' },
      { host, origin: 'https://console.example', 'sec-fetch-site': '' },
      { host, origin: 'https://evil.example', 'sec-fetch-site': undefined },
      { host, origin: 'https://console.example.evil.example', 'sec-fetch-site': undefined },
      { host, origin: 'https://console.example:444', 'sec-fetch-site': undefined },
      { host, origin: 'null', 'sec-fetch-site': undefined },
      { host, origin: undefined, 'sec-fetch-site': undefined },
      { host: undefined, origin: 'https://console.example', 'sec-fetch-site': undefined },
    ];
    for (const each of theirs) assert.ok(!isSameSite(each), JSON.stringify(each));
  });
});

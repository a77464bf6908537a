/** Sessions as browsers keep them: sealed, bounded, and of no use to anybody who changes or moves them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { MOST_SEALED_CHARACTERS, dropCookies, keepCookies, readCookies } from '../../../../operator/console/session/cookie.ts';
import { csrfSecretOf, csrfToken, isCsrfToken, isSameSite } from '../../../../operator/console/session/csrf.ts';
import { createSealing } from '../../../../operator/console/session/sealing.ts';
import { IDLE_MS, SESSION_MS, beginSession, openSession, renewSession, sealSession, secondsLeft } from '../../../../operator/console/session/session.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const HTTPS = { secure: true, port: '' };
const HERE = { secure: false, port: '8081' };

describe('sealing', () => {
  const key = randomBytes(32);

  it('gives back what was sealed, never the same text twice', () => {
    const sealing = createSealing([key]);
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const [one, two] = [sealing.seal(text, 'a'), sealing.seal(text, 'a')];
      assert.notEqual(one, two);
      assert.equal(sealing.open(one, 'a'), text);
      assert.equal(sealing.open(one, 'b'), undefined, 'not for another purpose');
      assert.match(one, /^[\w-]+$/);
    }));
  });

  it('notices every change of every bit', () => {
    const sealing = createSealing([key]);
    const bytes = Buffer.from(sealing.seal('alice', 'a'), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.equal(sealing.open(changed.toString('base64url'), 'a'), undefined, `bit ${bit}`);
    }
  });

  it('opens nothing that is not whole and exact', () => {
    const sealing = createSealing([key]);
    const sealed = sealing.seal('alice', 'a');
    for (const text of ['', 'x', sealed.slice(0, -1), `${sealed}A`, `${sealed}=`, ` ${sealed}`, `${sealed}.`, sealed.slice(1)]) assert.equal(sealing.open(text, 'a'), undefined);
    fc.assert(fc.property(fc.string(), (text) => { assert.equal(sealing.open(text, 'a'), undefined); }));
  });

  it('opens with older keys of its ring, and seals with the first', () => {
    const next = randomBytes(32);
    const old = createSealing([key]).seal('alice', 'a');
    const ring = createSealing([next, key]);
    assert.equal(ring.open(old, 'a'), 'alice');
    assert.equal(createSealing([next]).open(old, 'a'), undefined);
    assert.equal(createSealing([next]).open(ring.seal('bob', 'a'), 'a'), 'bob');
  });

  it('takes no other keys', () => {
    assert.throws(() => createSealing([]), RangeError);
    assert.throws(() => createSealing([key, randomBytes(16)]), RangeError);
  });
});

describe('a session', () => {
  const sealing = createSealing([randomBytes(32)]);

  it('is over after eight hours, or one without a visit', () => {
    const session = beginSession('token', NOW_MS);
    const opened = (atMs: number, from = session) => openSession(sealSession(from, sealing), sealing, atMs);
    assert.deepEqual(opened(NOW_MS), session);
    assert.deepEqual(opened(NOW_MS + IDLE_MS - 1), session);
    assert.equal(opened(NOW_MS + IDLE_MS), undefined);
    const late = { ...session, seenMs: NOW_MS + SESSION_MS - 1000 };
    assert.deepEqual(opened(NOW_MS + SESSION_MS - 1, late), late);
    assert.equal(opened(NOW_MS + SESSION_MS, late), undefined);
    assert.equal(opened(NOW_MS - 120_000), undefined, 'from the future');
    assert.equal(openSession(sealing.seal('["token"]', 'session 1'), sealing, NOW_MS), undefined);
  });

  it('is renewed now and then, within its eight hours', () => {
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
  const headerOf = (cookies: readonly string[]): string => cookies.filter((each) => !each.includes('Max-Age=0')).map((each) => each.split(';', 1)[0]).join('; ');

  it('are for the console alone', () => {
    assert.deepEqual(keepCookies('abc', HTTPS, 60), [
      '__Host-mgw-console=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure',
      '__Host-mgw-console.2=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure',
    ]);
    assert.match(keepCookies('abc', HERE, 60)[0] ?? '', /^mgw-console-8081=abc; Path=\/; Max-Age=60; HttpOnly; SameSite=Strict$/);
    assert.ok(dropCookies(HTTPS).every((each) => each.includes('Max-Age=0')));
  });

  it('hold long texts in parts that browsers take', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: MOST_SEALED_CHARACTERS }), fc.constantFrom(HTTPS, HERE), (length, place) => {
      const text = 'x'.repeat(length);
      const cookies = keepCookies(text, place, 60);
      assert.ok(cookies.every((each) => each.length <= 4096));
      assert.equal(readCookies(`other=1; ${headerOf(cookies)}; last=2`, place), text);
    }));
  });

  it('are not those of another place, and no foreign ones beside ours', () => {
    assert.equal(readCookies('mgw-console-8081=abc', HTTPS), undefined);
    assert.equal(readCookies('mgw-console-9999=abc', HERE), undefined);
    assert.equal(readCookies('mgw-console-8081=abc; mgw-console-8081=def', HERE), undefined);
    assert.equal(readCookies('mgw-console-8081.2=def', HERE), undefined);
    assert.equal(readCookies(undefined, HERE), undefined);
    assert.equal(readCookies('mgw-console-8081=', HERE), undefined);
  });
});

describe('a token in a form', () => {
  it('is another on each page, and of one session', () => {
    const { csrfSecret } = beginSession('token', NOW_MS);
    const [one, two] = [csrfToken(csrfSecret), csrfToken(csrfSecret)];
    assert.notEqual(one, two);
    assert.ok(isCsrfToken(one, csrfSecret) && isCsrfToken(two, csrfSecret));
    assert.ok(!isCsrfToken(one, beginSession('token', NOW_MS).csrfSecret));
    for (const text of ['', one.slice(0, -4), `${one}AAAA`, csrfSecret]) assert.ok(!isCsrfToken(text, csrfSecret));
    fc.assert(fc.property(fc.string(), (text) => { assert.ok(!isCsrfToken(text, csrfSecret)); }));
  });

  it('is bound to the person where a proxy signs people in', () => {
    const key = randomBytes(32);
    const secret = csrfSecretOf('alice', key);
    assert.ok(isCsrfToken(csrfToken(secret), csrfSecretOf('alice', key)));
    assert.ok(!isCsrfToken(csrfToken(secret), csrfSecretOf('bob', key)));
    assert.ok(!isCsrfToken(csrfToken(secret), csrfSecretOf('alice', randomBytes(32))));
  });
});

describe('where a request comes from', () => {
  it('is this site only where the browser says so', () => {
    const host = 'console.example';
    const ours: Parameters<typeof isSameSite>[0][] = [
      { host, origin: 'https://console.example', secFetchSite: 'same-origin' },
      { host: 'inner:8081', origin: 'https://console.example', secFetchSite: 'same-origin' },
      { host, origin: 'https://console.example', secFetchSite: undefined },
      { host: 'Localhost:8081', origin: 'http://localhost:8081', secFetchSite: undefined },
    ];
    for (const each of ours) assert.ok(isSameSite(each), JSON.stringify(each));
    const theirs: Parameters<typeof isSameSite>[0][] = [
      { host, origin: 'https://console.example', secFetchSite: 'cross-site' },
      { host, origin: 'https://console.example', secFetchSite: 'same-site' },
      { host, origin: 'https://console.example', secFetchSite: '' },
      { host, origin: 'https://evil.example', secFetchSite: undefined },
      { host, origin: 'https://console.example.evil.example', secFetchSite: undefined },
      { host, origin: 'https://console.example:444', secFetchSite: undefined },
      { host, origin: 'null', secFetchSite: undefined },
      { host, origin: undefined, secFetchSite: undefined },
      { host: undefined, origin: 'https://console.example', secFetchSite: undefined },
    ];
    for (const each of theirs) assert.ok(!isSameSite(each), JSON.stringify(each));
  });
});

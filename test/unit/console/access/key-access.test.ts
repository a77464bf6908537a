/** Signing in with an API key: one key, read-only, and no other objects. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, it } from 'vitest';
import { createConsoleFixture } from '../../../support/console-access.ts';
import type { ConsoleFixture } from '../../../support/console-access.ts';
import { keysIn, keysStand, openBrowser, PLATFORM, TENANTS } from '../keys/stand.ts';
import type { Browser } from '../keys/stand.ts';
import { FORM_HEADERS } from '../stand.ts';
import { call, usageBook } from '../wallet/stand.ts';

const KEY = `sk-${'k'.repeat(48)}`;
const OWN = '/keys/team-a/ci-bot';

interface HolderStand {
  readonly world: ConsoleFixture;
  readonly app: ReturnType<typeof keysStand>['app'];
  readonly logged: ReturnType<typeof keysStand>['logged'];
  readonly clock: ReturnType<typeof keysStand>['clock'];
  signIn(
    token: string,
    next?: string,
  ): Promise<{
    readonly status: number;
    readonly location: string;
    readonly body: string;
    readonly cookies: readonly string[];
  }>;
  holder(): Promise<Browser>;
}

/** `KEY` is the text of team-a/ci-bot. */
function holderStand(proxied = false): HolderStand {
  const world = createConsoleFixture([...PLATFORM, ...TENANTS]);
  const ciBot = world.apiKey('team-a', 'ci-bot');
  world.put({ ...ciBot, status: { ...ciBot.status, keyHash: hash('sha256', KEY, 'hex') } });
  const uidOf = (name: string): string => world.apiKey('team-a', name).metadata.uid ?? '';
  const account = 'team-a/team-a';
  const usage = usageBook([
    call('req_own', uidOf('ci-bot'), { account }),
    call('req_other', uidOf('chat-frontend'), { account, model: 'gpt-of-others' }),
  ]);
  const stand = keysStand({
    world,
    usage,
    keys: keysIn(world),
    ...(proxied && { proxyHeader: 'authorization' }),
  });
  const signIn: HolderStand['signIn'] = async (token, next = '/keys') => {
    const answer = await stand.app.inject({
      method: 'POST',
      url: '/sign-in',
      headers: FORM_HEADERS,
      payload: new URLSearchParams({ token, next }).toString(),
    });
    return {
      status: answer.statusCode,
      location: answer.headers['location'] ?? '',
      body: answer.body,
      cookies: [answer.headers['set-cookie'] ?? []].flat(),
    };
  };
  return {
    ...stand,
    signIn,
    async holder() {
      const { cookies } = await signIn(KEY);
      const cookie = cookies.filter((each) => !each.includes('Max-Age=0')).map((each) => each.split(';', 1)[0]);
      return openBrowser(stand.app, cookie.join('; '));
    },
  };
}

describe('the holder of a key', () => {
  it('gets the page of the key: its limit, spending, calls, models and examples', async () => {
    const stand = holderStand();
    assert.match((await stand.app.inject('/sign-in')).body, /Token or API key/);
    assert.equal((await stand.signIn(KEY)).location, OWN);
    assert.equal((await stand.signIn(KEY, '/prices')).location, '/prices');
    const holder = await stand.holder();
    assert.equal((await holder.get('/')).location, OWN);
    const overview = await holder.get(OWN);
    assert.equal(overview.status, 200);
    assert.match(overview.markup, /\$3\.61/, 'what remains');
    assert.match(overview.markup, /key team-a\/ci-bot/, 'who is signed in');
    const { markup } = await holder.get(`${OWN}/activity`);
    assert.match(markup, /claude-sonnet-4-5/);
    assert.doesNotMatch(markup, /gpt-of-others/);
    assert.match((await holder.get(`${OWN}/use`)).markup, /\$MGW_KEY/);
    const [navigation = ''] = /<nav class="site-nav"[^]*?<\/nav>/.exec((await holder.get(OWN)).markup) ?? [];
    assert.deepEqual(
      [...navigation.matchAll(/>([^<>\n]+)<\/a>/g)].map(([, label]) => label),
      ['API Keys', 'Usage', 'Models', 'Playground'],
    );
    assert.equal((await holder.get('/models?key=')).status, 200);
  });

  it('sees nothing else: no other key, no account, no call of others', async () => {
    const holder = await holderStand().holder();
    const { markup } = await holder.get('/keys');
    assert.equal(markup.match(/<tr data-key=/g)?.length, 1);
    for (const path of [
      '/keys/team-a/chat-frontend',
      '/keys/team-b/secret-project',
      '/keys/team-b/ci-bot',
      '/wallet/team-a/team-a',
      '/wallet/team-a/team-a?key=chat-frontend',
      '/wallet/team-a/team-a/calls',
      '/wallet/team-b/team-b?key=ci-bot',
      '/wallet/team-a/team-a/take-back',
    ])
      assert.ok([403, 404].includes((await holder.get(path)).status), path);
    const wallet = await holder.get('/wallet');
    assert.doesNotMatch(wallet.markup, /182\.43|chat-frontend/);
    const spending = await holder.get('/wallet/team-a/team-a?key=ci-bot');
    assert.equal(spending.status, 200);
    assert.doesNotMatch(spending.markup, /182\.43|gpt-of-others/);
    assert.match((await holder.get('/keys.csv')).markup, /^[^\n]+\n[^\n]*ci-bot[^\n]*\n$/);
  });

  it('cannot change anything, not even the key', async () => {
    const stand = holderStand();
    const before = JSON.stringify([...stand.world.objects]);
    const holder = await stand.holder();
    const { markup } = await holder.get(OWN);
    assert.doesNotMatch(markup, /Change limit|>Rotate<|>Delete<|>Duplicate</);
    const { uid = '' } = stand.world.apiKey('team-a', 'ci-bot').metadata;
    for (const [path, fields] of [
      [`${OWN}/limit`, { uid, to: 'Unlimited' }],
      [`${OWN}/enabled`, { to: `off ${uid}` }],
      [`${OWN}/rotate`, { uid, overlap: '0' }],
      [`${OWN}/delete`, { uid, confirm: 'ci-bot' }],
      [`${OWN}/settings`, { uid, group: 'vip' }],
      ['/keys/new', { namespace: 'team-a', name: 'x' }],
      ['/wallet/team-a/team-a/grants', { name: 'x', usd: '1' }],
      ['/wallet/new', { namespace: 'team-a', name: 'x' }],
    ] as const)
      assert.ok((await holder.post(path, fields)).status >= 400, path);
    assert.equal(JSON.stringify([...stand.world.objects]), before);
  });

  it('does not see the text of the key, which is in no log and no readable cookie', async () => {
    const stand = holderStand();
    const { body, cookies } = await stand.signIn(KEY);
    const holder = await stand.holder();
    const pages = await Promise.all([OWN, `${OWN}/use`, `${OWN}/settings`, '/keys'].map((path) => holder.get(path)));
    const sealed = cookies.map((each) => Buffer.from(each.split(/[=;]/)[1] ?? '', 'base64url').toString('latin1'));
    const logged = JSON.stringify(stand.logged);
    for (const text of [body, ...pages.map(({ markup }) => markup), ...cookies, ...sealed, logged])
      assert.ok(!text.includes(KEY));
    assert.match(JSON.stringify(stand.logged), /key team-a\/ci-bot/);
  });
});

describe('a key that is not valid', () => {
  it('cannot sign in: unknown, truncated, disabled, expired or of another gateway', async () => {
    const stand = holderStand();
    for (const token of [`sk-${'x'.repeat(48)}`, KEY.slice(0, -1), `${KEY}k`]) {
      const { status, body } = await stand.signIn(token);
      assert.equal(status, 422, token);
      assert.match(body, /No key in force matches/);
    }
    const ref = { namespace: 'team-a', name: 'ci-bot' };
    for (const fault of [
      { enabled: false },
      { expirationTime: '2026-11-21T11:59:59Z' },
      { gatewayNamespace: 'another' },
    ]) {
      const { spec } = stand.world.apiKey('team-a', 'ci-bot');
      stand.world.edit('ApiKey', ref, (now) => ({ ...now, ...fault }));
      assert.equal((await stand.signIn(KEY)).status, 422, JSON.stringify(fault));
      stand.world.edit('ApiKey', ref, () => spec);
    }
    assert.equal((await stand.signIn(KEY)).status, 303);
  });

  it('ends the session when it is rotated, disabled or deleted, at the next page', async () => {
    for (const end of [
      (world: ConsoleFixture) => {
        const apiKey = world.apiKey('team-a', 'ci-bot');
        world.put({ ...apiKey, status: { ...apiKey.status, keyHash: 'f'.repeat(64) } });
      },
      (world: ConsoleFixture) =>
        void world.edit('ApiKey', { namespace: 'team-a', name: 'ci-bot' }, (spec) => ({ ...spec, enabled: false })),
      (world: ConsoleFixture) => void world.objects.delete('ApiKey team-a/ci-bot'),
    ]) {
      const stand = holderStand();
      const holder = await stand.holder();
      assert.equal((await holder.get(OWN)).status, 200);
      end(stand.world);
      assert.match((await holder.get(OWN)).location, /^\/sign-in\?/);
    }
  });

  it('is not accepted behind an authenticating proxy, nor by a console without keys', async () => {
    const headers = { host: 'localhost:8081', authorization: `Bearer ${KEY}` };
    assert.equal((await holderStand(true).app.inject({ url: OWN, headers })).statusCode, 303);
    const plain = keysStand();
    const page = await plain.app.inject('/sign-in');
    assert.doesNotMatch(page.body, /API key/);
  });
});

/** Forged addresses and forms give no access to another tenant's keys, and to nothing that no form offers. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { createConsoleFixture, keyManifest } from '../../../support/console-access.ts';
import { ANNA, BEN, keysStand, PLATFORM, READER } from './stand.ts';

const THEIRS = '/keys/team-b/secret-project';

describe("another tenant's key", () => {
  it('is not shown at any address', async () => {
    const { browser } = keysStand();
    const anna = await browser(ANNA);
    for (const path of [
      THEIRS,
      `${THEIRS}/activity`,
      `${THEIRS}/settings`,
      `${THEIRS}/use`,
      `${THEIRS}/rotate`,
      `${THEIRS}/delete`,
      `${THEIRS}/created?rotation=1&since=${Date.parse('2026-11-21T12:00:00Z')}`,
      `${THEIRS}/created?rotation=1&since=1&part=`,
    ]) {
      const { status, markup } = await anna.get(path);
      assert.equal(status, 403, path);
      assert.doesNotMatch(markup, /sk-Teamb|\$12|vip/, path);
    }
    for (const path of ['/keys?namespace=team-b', '/keys?q=secret-project', '/keys?group=vip&part=x'])
      assert.doesNotMatch((await anna.get(path)).markup, /sk-Teamb|data-key="team-b/, path);
  });
  it('cannot be changed by any form, with the right uid and generation or not', async () => {
    const { browser, world } = keysStand();
    world.mint('team-b', 'secret-project');
    const before = world.apiKey('team-b', 'secret-project');
    const uid = before.metadata.uid ?? '';
    const anna = await browser(ANNA);
    for (const [path, fields] of [
      [
        `${THEIRS}/settings`,
        {
          uid,
          generation: '1',
          base: '{}',
          limitUsd: '9',
          quota: 'Limited',
          group: 'auto-a',
          period: 'Never',
          whenShort: 'Lower',
        },
      ],
      [`${THEIRS}/enabled`, { to: `off ${uid}`, view: '/keys' }],
      [`${THEIRS}/rotate`, { uid, rotation: '1', overlap: '0' }],
      [`${THEIRS}/delete`, { uid, confirm: 'secret-project' }],
    ] as const) {
      const { status } = await anna.post(path, fields);
      assert.equal(status, 403, path);
    }
    assert.equal(world.apiKey('team-b', 'secret-project'), before);
  });
  it("cannot be reached through a form of one's own key", async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/new');
    const refused = await anna.submit('key-form', {
      namespace: 'team-b',
      name: 'mine',
      group: 'vip',
      account: 'team-b',
    });
    assert.equal(refused.status, 403);
    assert.match(refused.markup, /You may not create keys in <bdi>team-b</);
    assert.doesNotMatch(refused.markup, /value="vip"|claude|\$/, 'what can be chosen in team-b is not told');
    await anna.get('/keys/new');
    assert.doesNotMatch(
      (await anna.submit('key-form', { namespace: 'team-b', name: 'mine', quota: 'Limited', limitUsd: '' })).markup,
      /value="vip"/,
    );
    assert.equal(world.objects.has('ApiKey team-b/mine'), false);
    await anna.get('/keys/team-a/ci-bot/settings');
    await anna.submit('key-form', {
      namespace: 'team-b',
      name: 'secret-project',
      account: 'team-b',
      keyType: 'Provided',
      secret: 'x',
      limitUsd: '26',
    });
    assert.equal(world.apiKey('team-b', 'secret-project').spec.quota.limitUsd, '100');
    assert.deepEqual(
      [world.apiKey('team-a', 'ci-bot').spec.accountRef.name, world.apiKey('team-a', 'ci-bot').spec.key.type],
      ['team-a', 'Generated'],
    );
  });
  it('is shown to people with the right to see it', async () => {
    const { browser } = keysStand();
    assert.equal((await (await browser(BEN)).get(THEIRS)).status, 200);
  });
});

describe('a form that was tampered with', () => {
  it("with another object's uid changes nothing and reports it", async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const before = world.apiKey('team-a', 'ci-bot');
    for (const [page, form, fields] of [
      ['/settings', 'key-form', { limitUsd: '9' }],
      ['/rotate', 'rotate-form', {}],
      ['/delete', 'delete-form', { confirm: 'ci-bot' }],
    ] as const) {
      await anna.get(`/keys/team-a/ci-bot${page}`);
      const { status, markup } = await anna.submit(form, { ...fields, uid: 'ffffffff-0000' });
      assert.equal(status, 409, page);
      assert.match(markup, /another one was created under its name/, page);
    }
    assert.equal((await anna.post('/keys/team-a/ci-bot/enabled', { to: 'off ffffffff-0000', view: '' })).status, 409);
    assert.equal(world.apiKey('team-a', 'ci-bot'), before);
  });
  it('with another generation or base saves no unseen change', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const before = world.apiKey('team-a', 'ci-bot');
    for (const generation of ['0', '2', '-1', 'x', '', '1.0', '99999999999999999999']) {
      await anna.get('/keys/team-a/ci-bot/settings');
      const { status } = await anna.submit('key-form', { generation, limitUsd: '9' });
      assert.equal(status, 409, generation);
    }
    for (const base of ['', '{', '[]', '{"limit":"9"}', JSON.stringify({ limit: '<script>alert(1)</script>' })]) {
      await anna.get('/keys/team-a/ci-bot/settings');
      const { status, markup } = await anna.submit('key-form', { generation: '7', base, limitUsd: '9' });
      assert.equal(status, 409, base);
      assert.doesNotMatch(markup, /<script>alert/, base);
    }
    assert.equal(world.apiKey('team-a', 'ci-bot'), before);
  });
  it('with unknown fields changes no more than the form would', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const { spec } = world.apiKey('team-a', 'ci-bot');
    await anna.get('/keys/team-a/ci-bot/settings');
    await anna.submit('key-form', {
      limitUsd: '26',
      rotation: '9',
      'spec.key.rotation': '9',
      gatewayNamespace: 'other',
      overlapSeconds: '5',
      patch: '{"spec":{"enabled":false}}',
      status: '{}',
    });
    assert.deepEqual(world.apiKey('team-a', 'ci-bot').spec, { ...spec, quota: { ...spec.quota, limitUsd: '26' } });
  });
  it('with values that no list offers is refused at the field', async () => {
    const { browser } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/team-a/ci-bot/settings');
    const { status, markup } = await anna.submit('key-form', { period: '"><script>', whenShort: 'Never' });
    assert.equal(status, 422);
    assert.match(markup, /id="f-period-fault"/);
    assert.doesNotMatch(markup, /"><script>/);
  });
  it('never redirects to another site', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const { uid } = world.apiKey('team-a', 'ci-bot').metadata;
    for (const view of [
      'https://evil.example/?q=a',
      '//evil.example',
      '/\\evil',
      'javascript:alert(1)',
      '/sign-out',
      '\r\nlocation: x',
    ]) {
      const { status, location } = await anna.post('/keys/team-a/ci-bot/enabled', { to: `on ${uid}`, view });
      assert.equal(status, 303);
      assert.match(location, /^\/keys(?:\?q=a)?$/, view);
    }
  });
  it('with an invalid switch is refused', async () => {
    const { browser } = keysStand();
    const anna = await browser(ANNA);
    for (const to of ['', 'off', 'toggle x', 'off a b', 'on  '])
      assert.equal((await anna.post('/keys/team-a/ci-bot/enabled', { to, view: '' })).status, 422, to);
  });
  it("without this session's token is refused", async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const { uid } = world.apiKey('team-a', 'ci-bot').metadata;
    await anna.get('/keys/team-a/ci-bot/delete');
    assert.equal((await anna.submit('delete-form', { confirm: 'ci-bot', csrf: 'x' })).status, 403);
    await anna.get('/keys/team-a/ci-bot/delete');
    assert.equal((await anna.submit('delete-form', { confirm: 'ci-bot', csrf: null })).status, 403);
    assert.equal(world.apiKey('team-a', 'ci-bot').metadata.uid, uid);
  });
});

describe('an address without a valid name', () => {
  it('sends no request for it', async () => {
    const { browser } = keysStand();
    const anna = await browser(ANNA);
    for (const path of [
      '/keys/team-a/nothing/settings',
      '/keys/team-a/..%2f..%2fsecrets',
      '/keys/team-a/A',
      '/keys/%2e%2e/x',
      '/keys/team-a/%3Cscript%3E',
      `/keys/team-a/${'x'.repeat(300)}`,
    ]) {
      const { status, markup } = await anna.get(path);
      assert.equal(status, 404, path);
      assert.doesNotMatch(markup, /<script>/);
    }
  });
});

describe('a key of another gateway', () => {
  it("is shown and changed only by that gateway's console", async () => {
    const other = keyManifest('team-a', 'other', { gatewayNamespace: 'second-gateway' });
    const world = createConsoleFixture([...PLATFORM, other]);
    const { browser } = keysStand({ world });
    const anna = await browser(ANNA);
    const { status, markup } = await anna.get('/keys/team-a/other/settings');
    assert.equal(status, 404);
    assert.match(markup, /belongs to another gateway, the one in second-gateway/);
    const { uid } = world.apiKey('team-a', 'other').metadata;
    assert.equal((await anna.post('/keys/team-a/other/enabled', { to: `off ${uid}`, view: '' })).status, 404);
    assert.equal(world.apiKey('team-a', 'other').spec.enabled, true);
  });
});

describe('people who can only read', () => {
  it('cannot change anything by posting hidden forms', async () => {
    const { browser, world } = keysStand();
    const before = world.apiKey('team-a', 'ci-bot');
    const uid = before.metadata.uid ?? '';
    const rita = await browser(READER);
    for (const [path, fields] of [
      ['/keys/team-a/ci-bot/enabled', { to: `off ${uid}`, view: '' }],
      ['/keys/team-a/ci-bot/rotate', { uid, rotation: '1', overlap: '0' }],
      ['/keys/team-a/ci-bot/delete', { uid, confirm: 'ci-bot' }],
    ] as const)
      assert.equal((await rita.post(path, fields)).status, 403, path);
    await rita.get('/keys/team-a/ci-bot/settings');
    assert.equal((await rita.submit('key-form', { limitUsd: '1' })).status, 403);
    assert.equal(world.apiKey('team-a', 'ci-bot'), before);
  });
});

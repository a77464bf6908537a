/** Tasks with keys, page by page, without scripts: edit, rotate, switch, delete. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { AccessError } from '../../../../console/access/access.ts';
import { ANNA, keysStand, READER } from './stand.ts';
import { pattern } from '../../../support/pattern.ts';

const CI = { namespace: 'team-a', name: 'ci-bot' };

describe('editing a key', () => {
  it('changes only what was typed', async () => {
    const { browser, world } = keysStand();
    world.edit('ApiKey', CI, (spec) => ({
      ...spec,
      key: { ...spec.key, overlapSeconds: 77, secretRef: { name: 'own' } },
    }));
    const before = world.apiKey('team-a', 'ci-bot').spec;
    const anna = await browser(ANNA);
    await anna.get('/keys/team-a/ci-bot/settings');
    const answer = await anna.submit('key-form', { limitUsd: '30.5', group: 'economy' });
    assert.deepEqual([answer.status, answer.location], [303, '/keys/team-a/ci-bot/settings?done=saved']);
    assert.deepEqual(world.apiKey('team-a', 'ci-bot').spec, {
      ...before,
      groupRef: { name: 'economy' },
      quota: { ...before.quota, limitUsd: '30.5' },
    });
    assert.match((await anna.follow(answer)).markup, /role="status"><p>Saved/);
  });
  it('sent unchanged changes nothing', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    for (const name of ['ci-bot', 'chat-frontend', 'nightly-evals', 'intern-2026', 'new-service']) {
      const before = world.apiKey('team-a', name);
      await anna.get(`/keys/team-a/${name}/settings`);
      assert.equal((await anna.submit('key-form')).status, 303, name);
      assert.equal(world.apiKey('team-a', name), before, name);
    }
  });
  it('removes emptied fields', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/team-a/chat-frontend/settings');
    assert.equal(
      (
        await anna.submit('key-form', {
          quota: 'Unlimited',
          allowed: 'All',
          maxConcurrency: '',
          requestsPerMinute: '',
          inputTokensPerMinute: '',
          enabled: null,
        })
      ).status,
      303,
    );
    const { spec } = world.apiKey('team-a', 'chat-frontend');
    assert.deepEqual(
      [spec.quota.limitUsd, spec.models, spec.maxConcurrency, spec.rateLimits, spec.enabled],
      ['Unlimited', undefined, undefined, undefined, false],
    );
  });
  it('changes one limit by the minute and keeps the others', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/team-a/chat-frontend/settings');
    const typed = { requestsPerMinute: '', outputTokensPerMinute: '5000' };
    assert.equal((await anna.submit('key-form', typed)).status, 303);
    assert.deepEqual(world.apiKey('team-a', 'chat-frontend').spec.rateLimits, {
      inputTokensPerMinute: 1,
      outputTokensPerMinute: 5000,
    });
  });
  it("shows the API's error at its field, and keeps what was typed", async () => {
    const { browser } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/team-a/ci-bot/settings');
    const { status, markup } = await anna.submit('key-form', { limitUsd: '-5', expires: '1969-01-01T00:00' });
    assert.equal(status, 422);
    assert.match(markup, /name="limitUsd" value="-5"[^>]*aria-invalid/);
    assert.match(markup, /name="expires" value="1969-01-01T00:00"[^>]*aria-invalid/);
    assert.match(markup, /a point in time after 1970/);
  });
  it('shows a concurrent change, and overwrites it only when sent again', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/team-a/ci-bot/settings');
    world.edit('ApiKey', CI, (spec) => ({
      ...spec,
      groupRef: { name: 'economy' },
      quota: { ...spec.quota, limitUsd: '50.00' },
    }));
    const theirs = world.apiKey('team-a', 'ci-bot');
    const { status, markup } = await anna.submit('key-form', { limitUsd: '30', maxConcurrency: '2' });
    assert.equal(status, 409);
    assert.equal(world.apiKey('team-a', 'ci-bot'), theirs);
    assert.match(
      markup,
      pattern(
        /<tr data-field="limitUsd"><th scope="row">Quota<\/th>/,
        /<td class="wrap">25\.00<\/td><td class="wrap">50\.00<\/td><td class="wrap">30<\/td>/,
      ),
    );
    assert.match(markup, /<tr data-field="group">[\s\S]*?auto-a[\s\S]*?economy[\s\S]*?Nothing/);
    assert.doesNotMatch(markup, /data-field="maxConcurrency"/);
    assert.match(
      markup,
      /Changed meanwhile<\/b> to <q>50\.00<\/q>; it was <q>25\.00<\/q>\. The form keeps what you typed/,
    );
    assert.match(markup, />Apply on top of the new state</);
    assert.equal((await anna.submit('key-form')).status, 303);
    const { spec } = world.apiKey('team-a', 'ci-bot');
    assert.deepEqual([spec.groupRef.name, spec.quota.limitUsd, spec.maxConcurrency], ['economy', '30', 2]);
  });
  it('detects a change at the moment of saving', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/team-a/ci-bot/settings');
    world.interfere = () => {
      world.interfere = undefined;
      world.edit('ApiKey', CI, (spec) => ({ ...spec, enabled: false }));
    };
    const { status, markup } = await anna.submit('key-form', { limitUsd: '30' });
    assert.equal(status, 409);
    assert.match(markup, /data-field="enabled"/);
    assert.equal(world.apiKey('team-a', 'ci-bot').spec.quota.limitUsd, '25.00');
  });
  it('ignores a change of the status only', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/team-a/ci-bot/settings');
    const { status, ...key } = world.apiKey('team-a', 'ci-bot');
    world.put({ ...key, status: { ...status, spentUsd: '22' } });
    assert.equal((await anna.submit('key-form', { limitUsd: '30' })).status, 303);
  });
  it('can be viewed by people who cannot change the key', async () => {
    const { browser } = keysStand();
    const rita = await browser(READER);
    const { markup } = await rita.get('/keys/team-a/ci-bot/settings');
    assert.match(markup, /id="read-only"[\s\S]*<fieldset class="form key-fields" disabled>/);
    assert.doesNotMatch(markup, />Save<|\/rotate"|\/delete"/);
  });
  it('that the API forbids is reported above the form, with what was typed', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/team-a/ci-bot/settings');
    world.interfere = () => {
      throw new AccessError('Forbidden', 'anna may not patch this.');
    };
    const { status, markup } = await anna.submit('key-form', { limitUsd: '30' });
    assert.equal(status, 403);
    assert.match(markup, /error-summary[\s\S]*anna may not patch this\.[\s\S]*name="limitUsd" value="30"/);
  });
});

describe('the switch', () => {
  it('turns a key off and on, and returns to the same view', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const { markup } = await anna.get('/keys?group=auto-a&sort=-spent');
    const [, value = ''] = /formaction="\/keys\/team-a\/ci-bot\/enabled" name="to" value="([^"]*)"/.exec(markup) ?? [];
    const [, view = ''] = /name="view" value="([^"]*)"/.exec(markup) ?? [];
    const answer = await anna.post('/keys/team-a/ci-bot/enabled', { to: value, view: view.replaceAll('&amp;', '&') });
    assert.deepEqual([answer.status, answer.location], [303, '/keys?group=auto-a&sort=-spent&off=team-a%2Fci-bot']);
    assert.equal(world.apiKey('team-a', 'ci-bot').spec.enabled, false);
    assert.match((await anna.follow(answer)).markup, /aria-checked="false" aria-label="ci-bot in team-a is enabled"/);
    assert.equal((await anna.post('/keys/team-a/ci-bot/enabled', { to: value, view: '' })).status, 303);
    assert.equal(world.apiKey('team-a', 'ci-bot').metadata.generation, 2, 'off twice is off');
  });
  it('offers to turn a key on again to people who can', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const undo = /<bdi>ci-bot<\/bdi> is switched off[\s\S]*name="to" value="(on [^"]*)">Undo</;
    assert.doesNotMatch((await anna.get('/keys?off=team-a%2Fci-bot')).markup, undo, 'it is on');
    const { uid } = world.apiKey('team-a', 'ci-bot').metadata;
    const off = await anna.follow(await anna.post('/keys/team-a/ci-bot/enabled', { to: `off ${uid}`, view: '' }));
    const [, to = ''] = undo.exec(off.markup) ?? [];
    assert.doesNotMatch((await (await browser(READER)).get('/keys?off=team-a%2Fci-bot')).markup, /is switched off/);
    const on = await anna.post('/keys/team-a/ci-bot/enabled', { to, view: '' });
    assert.equal(on.location, '/keys');
    assert.equal(world.apiKey('team-a', 'ci-bot').spec.enabled, true);
    assert.doesNotMatch((await anna.get('/keys?off=team-b%2Fsecret-project')).markup, /is switched off/);
  });
  it("is on the key's pages too, with the link back", async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const button = (to: string, label: string) =>
      new RegExp(`action="/keys/team-a/ci-bot/enabled">[^>]*>[^>]*>[^>]*value="(${to} [^"]*)">${label}<`);
    const turn = async (markup: string, [to, label]: readonly [string, string]) => {
      const [, value = ''] = button(to, label).exec(markup) ?? [];
      return anna.follow(await anna.post('/keys/team-a/ci-bot/enabled', { to: value, back: 'key' }));
    };
    const off = await turn((await anna.get('/keys/team-a/ci-bot')).markup, ['off', 'Disable']);
    assert.equal(world.apiKey('team-a', 'ci-bot').spec.enabled, false);
    assert.match(
      off.markup,
      /id="undo" role="status"><div class="notice"[^>]*> *<p><bdi>ci-bot<\/bdi> is switched off/,
    );
    const on = await turn(off.markup, ['on', 'Undo']);
    assert.equal(world.apiKey('team-a', 'ci-bot').spec.enabled, true);
    assert.doesNotMatch(on.markup, /id="undo"/);
    await anna.get('/keys/team-a/ci-bot/settings');
    const saved = await anna.follow(await anna.submit('key-form', { enabled: null }));
    assert.match(saved.markup, /id="undo"/);
    const seen = await (await browser(READER)).get('/keys/team-a/ci-bot?done=off');
    assert.doesNotMatch(seen.markup, /id="undo"|ci-bot\/enabled/);
  });
  it('keeps a concurrent change', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    world.interfere = () => {
      world.interfere = undefined;
      world.edit('ApiKey', CI, (spec) => ({ ...spec, quota: { ...spec.quota, limitUsd: '50' } }));
    };
    const { uid } = world.apiKey('team-a', 'ci-bot').metadata;
    const part = await anna.post('/keys/team-a/ci-bot/enabled', { to: `off ${uid}`, view: '/keys?q=ci', part: '' });
    assert.match(
      part.markup,
      /^<div id="undo" role="status"><div class="notice"[\s\S]*switched off[\s\S]*>Undo<[\s\S]*<div id="keys"[\s\S]*aria-checked="false"/,
    );
    const { spec } = world.apiKey('team-a', 'ci-bot');
    assert.deepEqual([spec.enabled, spec.quota.limitUsd], [false, '50']);
  });
});

describe('rotating a key', () => {
  it('generates a key with the chosen overlap, and shows it once', async () => {
    const { browser, world } = keysStand();
    const first = world.mint('team-a', 'ci-bot');
    const anna = await browser(ANNA);
    assert.match((await anna.get('/keys/team-a/ci-bot/rotate')).markup, /name="overlap" value="86400" checked/);
    const answer = await anna.submit('rotate-form', { overlap: '3600' });
    assert.deepEqual(world.apiKey('team-a', 'ci-bot').spec.key, {
      type: 'Generated',
      rotation: 2,
      overlapSeconds: 3600,
    });
    const waiting = await anna.follow(answer);
    assert.match(waiting.markup, /data-state="Waiting"/);
    assert.doesNotMatch(waiting.markup, new RegExp(first), "the old key is not shown in the new one's place");
    const second = world.mint('team-a', 'ci-bot');
    assert.match((await anna.follow(answer)).markup, new RegExp(second));
    assert.match((await anna.follow(answer)).markup, /data-state="Over"/);
  });
  it('generates one new key if pressed twice', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const { uid } = world.apiKey('team-a', 'ci-bot').metadata;
    const fields = { uid: uid ?? '', rotation: '1', overlap: '0' };
    assert.equal((await anna.post('/keys/team-a/ci-bot/rotate', fields)).status, 303);
    const again = await anna.post('/keys/team-a/ci-bot/rotate', fields);
    assert.equal(again.status, 409);
    assert.match(again.markup, /Somebody else has rotated this key meanwhile[\s\S]*name="rotation" value="2"/);
    assert.equal(world.apiKey('team-a', 'ci-bot').spec.key.rotation, 2);
  });
  it("reports the API's error, and a concurrent change", async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/team-a/ci-bot/rotate');
    assert.match((await anna.submit('rotate-form', { overlap: '2592001' })).markup, /id="f-overlap-fault"/);
    assert.equal((await anna.submit('rotate-form', { overlap: 'long' })).status, 422);
    world.interfere = () => {
      world.interfere = undefined;
      world.edit('ApiKey', CI, (spec) => ({ ...spec, enabled: false }));
    };
    assert.equal((await anna.submit('rotate-form', { overlap: '0' })).status, 409);
    assert.equal((await anna.submit('rotate-form', { overlap: '0' })).status, 303);
  });
});

describe('deleting a key', () => {
  it('asks for its name, and shows its spending and its last use', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const { markup } = await anna.get('/keys/team-a/ci-bot/delete');
    for (const words of ['sk-4Tz9q…', '$148.20', '2026-11-21T11:52:10Z', 'nothing brings it back'])
      assert.ok(markup.includes(words), words);
    const wrong = await anna.submit('delete-form', { confirm: 'ci-bo' });
    assert.equal(wrong.status, 422);
    assert.match(wrong.markup, /name="confirm" value="ci-bo"[^>]*aria-invalid/);
    assert.ok(world.objects.has('ApiKey team-a/ci-bot'));
    const right = await anna.submit('delete-form', { confirm: ' ci-bot ' });
    assert.equal(right.status, 303);
    assert.equal(world.objects.has('ApiKey team-a/ci-bot'), false);
    assert.match((await anna.follow(right)).markup, /The key team-a\/ci-bot is deleted/);
    assert.equal((await anna.get('/keys/team-a/ci-bot/settings')).status, 404);
  });
});

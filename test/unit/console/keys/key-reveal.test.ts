/** A key is shown once, whichever replicas are asked, and never if that is uncertain. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { AccessError } from '../../../../console/access/access.ts';
import { localState } from '../../../../console/access/shared-state.ts';
import { claimReveal, isRevealed } from '../../../../console/keys/reveal.ts';
import { ANNA, PLATFORM, TENANTS, keysStand } from './stand.ts';
import { createConsoleFixture } from '../../../support/console-access.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const hashOf = (number: number): string => String(number).padStart(64, '0').split('').toReversed().join('');

describe('a generated key', () => {
  it('is shown by one of several replicas that are asked at once', async () => {
    const [world, state] = [createConsoleFixture([...PLATFORM, ...TENANTS]), localState()];
    const stands = Array.from({ length: 4 }, () => keysStand({ world, state }));
    const browsers = await Promise.all(stands.map(({ browser }) => browser(ANNA)));
    const { uid = '' } = world.apiKey('team-a', 'ci-bot').metadata;
    const { location } =
      (await browsers[0]?.post('/keys/team-a/ci-bot/rotate', { uid, rotation: '1', overlap: '0' })) ?? assert.fail();
    for (const browser of browsers) assert.match((await browser.get(location)).markup, /data-state="Waiting"/);
    const text = world.mint('team-a', 'ci-bot');
    const pages = await Promise.all([...browsers, ...browsers].map((browser) => browser.get(location)));
    assert.equal(pages.filter(({ markup }) => markup.includes(text)).length, 1);
    assert.equal(pages.filter(({ markup }) => markup.includes('data-state="Over"')).length, 7);
  });

  it('is not shown if it is unknown whether it was shown before', async () => {
    const here = localState();
    let away = true;
    const state: typeof here = {
      ...here,
      change: (entry, edit) =>
        away ? Promise.reject(new AccessError('Unavailable', 'Try again.')) : here.change(entry, edit),
    };
    const { browser, world } = keysStand({ state });
    const anna = await browser(ANNA);
    const { uid = '' } = world.apiKey('team-a', 'ci-bot').metadata;
    const { location } = await anna.post('/keys/team-a/ci-bot/rotate', { uid, rotation: '1', overlap: '0' });
    const text = world.mint('team-a', 'ci-bot');
    const failed = await anna.get(location);
    assert.equal(failed.status, 503);
    assert.ok(!failed.markup.includes(text));
    away = false;
    assert.ok((await anna.get(location)).markup.includes(text));
    assert.ok(!(await anna.get(location)).markup.includes(text));
  });

  it('is not shown for an address with another rotation or without a time', async () => {
    const { browser, world, clock } = keysStand();
    const anna = await browser(ANNA);
    const { uid = '' } = world.apiKey('team-a', 'ci-bot').metadata;
    const { location } = await anna.post('/keys/team-a/ci-bot/rotate', { uid, rotation: '1', overlap: '0' });
    const text = world.mint('team-a', 'ci-bot');
    const at = '/keys/team-a/ci-bot/created';
    for (const query of [
      '',
      '?rotation=2',
      `?since=${clock.nowMs}`,
      `?rotation=1&since=${clock.nowMs}`,
      `?rotation=3&since=${clock.nowMs}`,
      `?rotation=x&since=${clock.nowMs}`,
      '?rotation=2&since=x',
    ])
      assert.ok(!(await anna.get(`${at}${query}`)).markup.includes(text), query);
    // a request that waits for the previous key gets an answer, and does not take the next one's place
    assert.match((await anna.get(`${at}?rotation=1&since=${clock.nowMs}`)).markup, /data-state="Over"/);
    assert.ok((await anna.get(location)).markup.includes(text));
  });
});

describe('the record of keys that were shown', () => {
  it('is claimed once, and dropped when no page can show the key any more', async () => {
    const state = localState();
    assert.ok(!isRevealed(state, hashOf(1)));
    assert.deepEqual(await Promise.all([1, 1, 2].map((key) => claimReveal(state, hashOf(key), NOW_MS))), [
      true,
      false,
      true,
    ]);
    assert.ok(isRevealed(state, hashOf(1)) && !isRevealed(state, hashOf(3)));
    assert.ok(await claimReveal(state, hashOf(3), NOW_MS + 1_300_000));
    assert.deepEqual(
      [1, 2, 3].map((key) => isRevealed(state, hashOf(key))),
      [false, false, true],
    );
  });

  it('is bounded, and other content in its place is ignored', async () => {
    const state = localState();
    await state.change('shownKeys', () => '["x"]');
    assert.ok(await claimReveal(state, hashOf(0), NOW_MS));
    await state.change('shownKeys', () =>
      JSON.stringify(
        Object.fromEntries(Array.from({ length: 2_000 }, (_, key) => [hashOf(key).slice(0, 32), NOW_MS + key])),
      ),
    );
    assert.ok(await claimReveal(state, hashOf(9_999), NOW_MS));
    assert.deepEqual(
      [0, 1, 1_999, 9_999].map((key) => isRevealed(state, hashOf(key))),
      [false, true, true, true],
    );
    assert.ok(state.read('shownKeys').length < 200_000);
  });
});

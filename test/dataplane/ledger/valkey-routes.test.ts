/** Routes as text, kept as they were written. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSameRoute, parseRoute, RouteTexts } from '#ledger/valkey/routes.ts';
import type { Route } from '#ledger/valkey/routes.ts';

const route = (over: Partial<Route> = {}): Route => ({ group: 'auto-a', model: 'm', channel: 'route/channel', catalog: 'ns/p@1', ...over });

describe('routes as text', () => {
  it('are written once, also where several are in use by turns on one channel', () => {
    const texts = new RouteTexts();
    const used = [route(), route({ model: 'other' }), route({ group: 'vip' }), route({ catalog: 'ns/p@2' }), route({ channel: 'route/backup' })];
    const first = used.map((each) => texts.of(each));
    assert.equal(new Set(first.map(({ word }) => word)).size, used.length);
    for (let round = 0; round < 4; round++) for (const [index, each] of used.entries()) assert.equal(texts.of({ ...each }), first[index]);
  });

  it('say the route that was asked for, whatever came between', () => {
    const texts = new RouteTexts();
    for (let n = 0; n < 500; n++) {
      const asked = route({ model: `m-${(n * 7) % 50}`, group: `g-${n % 3}` });
      const text = texts.of(asked);
      assert.ok(isSameRoute(text.route, asked));
      assert.deepEqual(parseRoute(text.word), asked);
      assert.equal(text.quoted, JSON.stringify(text.word));
    }
  });

  it('do not keep what they were asked with', () => {
    const asked = { ...route(), callId: 'req_1' };
    assert.deepEqual(new RouteTexts().of(asked).route, route());
  });

  it('are forgotten, oldest first, where there are too many', () => {
    const texts = new RouteTexts();
    const kept = texts.of(route({ channel: 'route/2' }));
    const models = Array.from({ length: 33 }, (_, n) => texts.of(route({ model: `m-${n}` })));
    assert.notEqual(texts.of(route({ model: 'm-31' })), models[31]);
    assert.equal(texts.of(route({ model: 'm-0' })), models[0]);
    // with the two there are already: the very first channel goes, and no other
    for (let n = 3; n <= 10_001; n++) texts.of(route({ channel: `route/${n}` }));
    assert.equal(texts.of(route({ model: 'm-0' })), models[0]);
    assert.notEqual(texts.of(route({ channel: 'route/2' })), kept);
  });
});

/** Routes as text, kept as they were written. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSameRoute, parseRoute, RouteTexts } from '#ledger/valkey/routes.ts';
import type { Route, RouteText } from '#ledger/valkey/routes.ts';

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

  it('of a channel are forgotten where there are too many: the one that was asked for longest ago', () => {
    const texts = new RouteTexts();
    const ask = (n: number): RouteText => texts.of(route({ model: `m-${n}` }));
    const first = Array.from({ length: 32 }, (_none, n) => ask(n));
    for (const n of [0, 31, 2, 3, 4]) assert.equal(ask(n), first[n]);
    const newest = ask(32);
    for (const n of [0, 2, 31]) assert.equal(ask(n), first[n]);
    assert.equal(ask(32), newest);
    assert.notEqual(ask(1), first[1]);
    // which in turn took the place of the next one
    for (let n = 6; n < 31; n++) assert.equal(ask(n), first[n]);
    assert.notEqual(ask(5), first[5]);
  });

  it('of the channel that came first are forgotten where there are too many channels', () => {
    const texts = new RouteTexts();
    const [first, second] = [1, 2].map((n) => texts.of(route({ channel: `route/${n}` })));
    for (let n = 3; n <= 10_001; n++) texts.of(route({ channel: `route/${n}` }));
    assert.equal(texts.of(route({ channel: 'route/2' })), second);
    assert.notEqual(texts.of(route({ channel: 'route/1' })), first);
  });
});

/** Channels at the demo provider's default address are called where it listens. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { replaceOrigin } from '../../../programs/one-machine/replace-origin.ts';
import { channelOf, routeOf, snapshotOf } from '../contract/snapshot/objects.ts';

const FROM = 'http://127.0.0.1:4010';
const TO = 'http://127.0.0.1:9083';

test('moves the channels of one origin only, with their paths', () => {
  const moved = replaceOrigin({ from: FROM, to: TO });
  const urls = [FROM, `${FROM}/v1`, 'http://127.0.0.1:40100/v1', 'https://api.openai.com/v1'];
  const channels = urls.map((baseUrl, at) => channelOf(`c${at}`, { baseUrl }));
  const [route] = moved(snapshotOf({ routes: [routeOf('r', [], channels)] })).routes;
  assert.deepEqual(
    route?.channels.map(({ baseUrl }) => baseUrl),
    [TO, `${TO}/v1`, ...urls.slice(2)],
  );
});

test('gives the same objects for unchanged routes, so that nothing is compiled again', () => {
  const moved = replaceOrigin({ from: FROM, to: TO });
  const [here, elsewhere] = [FROM, 'https://a.test'].map((baseUrl) => routeOf('r', [], [channelOf('c', { baseUrl })]));
  assert.ok(here && elsewhere);
  const snapshot = snapshotOf({ routes: [here, elsewhere] });
  assert.equal(moved(snapshot).routes[0], moved(snapshot).routes[0]);
  assert.equal(moved(snapshot).routes[1], elsewhere);
  assert.equal(replaceOrigin({ from: FROM, to: FROM })(snapshot), snapshot);
});

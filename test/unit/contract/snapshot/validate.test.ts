import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  Allowance,
  ClientDisconnect,
  Endpoint,
  Input,
  Period,
  Protocol,
  QuotaType,
  WhenShort,
} from '#snapshot/snapshot.gen.ts';
import type { Channel, Group, Key, Model, Price, Snapshot } from '#snapshot/snapshot.gen.ts';
import { validateSnapshot } from '#snapshot/validate.ts';
import {
  accountOf,
  automaticGroup,
  catalogOf,
  channelOf,
  completeSnapshot,
  directGroup,
  hashOf,
  keyOf,
  modelOf,
  priceOf,
  routeEntry,
  routeOf,
  snapshotOf,
} from './objects.ts';

const messagesOf = (snapshot: Partial<Snapshot>): string[] =>
  validateSnapshot(snapshotOf(snapshot)).map(({ message }) => message);

test('a complete snapshot and an empty one are valid', () => {
  assert.deepEqual(validateSnapshot(completeSnapshot()), []);
  assert.deepEqual(validateSnapshot(snapshotOf()), []);
});

test('references to missing objects are valid', () => {
  assert.deepEqual(
    messagesOf({
      keys: [keyOf('k', { group: 'none', account: 'no/one', models: { names: ['unknown'] } })],
      groups: [
        directGroup('g', [routeEntry('none', { models: { names: ['unknown'] }, channels: { names: ['unknown'] } })]),
        automaticGroup('a', ['none']),
      ],
      routes: [routeOf('r', [], [channelOf('c', { models: [{ name: 'unknown', upstreamName: 'x' }] })])],
      catalogs: [catalogOf('c', [priceOf('unknown')])],
    }),
    [],
  );
});

test('every error names its object, and all are reported at once', () => {
  const faults = validateSnapshot(
    snapshotOf({
      keys: [keyOf('k', { uid: '', period: Period.UNSPECIFIED })],
      groups: [directGroup('g', [], { displayName: '' })],
    }),
  );
  assert.deepEqual(faults, [
    { kind: 'ApiKey', namespace: 'team-a', name: 'k', message: 'uid: required' },
    { kind: 'ApiKey', namespace: 'team-a', name: 'k', message: 'period: required' },
    { kind: 'Group', namespace: 'model-gateway', name: 'g', message: 'display_name: required' },
  ]);
});

test('keys', () => {
  const cases: [Partial<Key>, RegExp][] = [
    [{ uid: '' }, /uid/],
    [{ hashes: [] }, /at least one/],
    [{ hashes: [{ sha256: hashOf(1).toUpperCase().replace('0', 'A') }] }, /64 lower-case/],
    [{ hashes: [{ sha256: 'abc' }] }, /64 lower-case/],
    [{ hashes: [{ sha256: hashOf(1) }, { sha256: hashOf(1) }] }, /there twice/],
    [{ period: Period.UNSPECIFIED }, /period/],
    [{ whenShort: WhenShort.UNSPECIFIED }, /when_short/],
    [{ limitNanoUsd: -1n }, /negative/],
    [{ models: { names: [] } }, /empty list/],
    [{ models: { names: ['a', 'a'] } }, /"a" is there twice/],
    [{ models: { names: [''] } }, /a name is empty/],
    [{ maxConcurrency: 0 }, /^max_concurrency: must be at least 1/],
    [{ rateLimits: { requestsPerMinute: 0 } }, /^rate_limits: requests_per_minute: must be at least 1/],
    [{ group: '' }, /group/],
    [{ account: 'team-a' }, /namespace\/name/],
  ];
  for (const [changes, message] of cases) {
    const messages = messagesOf({ keys: [keyOf('k', changes)] });
    assert.equal(messages.length, 1, JSON.stringify(messages));
    assert.match(messages[0] ?? '', message);
  }
  assert.deepEqual(
    messagesOf({ keys: [keyOf('k', { refusal: 'its group does not admit it', group: '', account: '' })] }),
    [],
  );
});

test('two objects with one name, uid or hash', () => {
  const twice = { hashes: [{ sha256: hashOf(2) }] };
  assert.deepEqual(messagesOf({ keys: [keyOf('a'), keyOf('b', { uid: 'uid-a', ...twice })] }), [
    'uid: another key has the same',
  ]);
  assert.deepEqual(messagesOf({ keys: [keyOf('a'), keyOf('b')] }), [`hashes: ${hashOf(1)} is there twice`]);
  assert.deepEqual(messagesOf({ keys: [keyOf('a'), keyOf('a', { uid: 'other', ...twice })] }), [
    '"team-a/a" is there twice',
  ]);
  assert.deepEqual(messagesOf({ keys: [keyOf('a'), keyOf('a', { uid: 'other', namespace: 'team-b', ...twice })] }), []);
  assert.deepEqual(messagesOf({ accounts: [accountOf('a'), accountOf('a')] }), ['"a/a" is there twice']);
  assert.deepEqual(messagesOf({ groups: [directGroup('g', []), directGroup('g', [], { namespace: 'other' })] }), [
    '"g" is there twice',
  ]);
  assert.deepEqual(messagesOf({ routes: [routeOf('r', [], []), routeOf('r', [], [])] }), ['"r" is there twice']);
  assert.deepEqual(messagesOf({ catalogs: [catalogOf('a', [priceOf('m')]), catalogOf('b', [priceOf('m')])] }), [
    'models "m": priced twice',
  ]);
});

test('an account with a limit of 0', () => {
  const rateLimits = { requestsPerMinute: 0, inputTokensPerMinute: 1, outputTokensPerMinute: 0 };
  assert.deepEqual(messagesOf({ accounts: [{ ...accountOf('a'), rateLimits }, accountOf('b')] }), [
    'rate_limits: requests_per_minute: must be at least 1',
    'rate_limits: output_tokens_per_minute: must be at least 1',
  ]);
});

test('groups', () => {
  const cases: [Group[], RegExp][] = [
    [[directGroup('g', [], { access: undefined })], /one of direct and automatic/],
    [[directGroup('g', [routeEntry('')])], /a name is empty/],
    [[directGroup('g', [routeEntry('r', { models: { names: [] } })])], /routes "r": models: an empty list/],
    [[directGroup('g', [routeEntry('r', { channels: { names: [] } })])], /routes "r": channels: an empty list/],
    [[directGroup('g', [routeEntry('r', { maxConcurrency: 0 })])], /routes "r": max_concurrency: must be at least 1/],
    [
      [directGroup('g', [routeEntry('r', { rateLimits: { inputTokensPerMinute: 0 } })])],
      /routes "r": rate_limits: input_tokens_per_minute: must be at least 1/,
    ],
    [[automaticGroup('g', [])], /at least one/],
    [[automaticGroup('g', ['x', 'x'])], /"x" is there twice/],
    [[automaticGroup('g', ['h']), automaticGroup('h', ['none'])], /"h" is not a Direct group/],
    [[automaticGroup('g', ['g'])], /"g" is not a Direct group/],
    [[directGroup('g', [], { priceRatioE9: -1n })], /negative/],
  ];
  for (const [groups, message] of cases) {
    const messages = messagesOf({ groups });
    assert.equal(messages.length, 1, JSON.stringify(messages));
    assert.match(messages[0] ?? '', message);
  }
  assert.deepEqual(
    messagesOf({ groups: [directGroup('g', [routeEntry('r', { models: { names: ['a'] } }), routeEntry('r')])] }),
    [],
    'one route, two entries',
  );
});

test('models', () => {
  const cases: [Partial<Model>, RegExp][] = [
    [{ name: '' }, /a name is empty/],
    [{ endpoints: [] }, /at least one/],
    [{ endpoints: [Endpoint.IMAGES, Endpoint.UNSPECIFIED] }, /an unknown value/],
    [{ endpoints: [Endpoint.CHAT, Endpoint.CHAT] }, /there twice/],
    [{ inputs: [] }, /at least one/],
    [{ inputs: [Input.UNSPECIFIED] }, /an unknown value/],
    [{ contextTokens: 0 }, /context_tokens/],
    [{ endpoints: [Endpoint.EMBEDDINGS], contextTokens: 0 }, /context_tokens/],
    [{ maxOutputTokens: 0 }, /max_output_tokens/],
    [{ outputLimitField: '' }, /output_limit_field/],
    [{ inputs: [Input.TEXT, Input.IMAGE], imageTokens: 0 }, /image_tokens/],
    [{ allow: [Allowance.UNSPECIFIED] }, /an unknown value/],
  ];
  for (const [changes, message] of cases) {
    const messages = messagesOf({ routes: [routeOf('r', [modelOf('m', changes)], [])] });
    assert.equal(messages.length, 1, JSON.stringify(messages));
    assert.match(messages[0] ?? '', message);
  }
  const image = modelOf('i', {
    endpoints: [Endpoint.IMAGES, Endpoint.VIDEOS],
    contextTokens: 0,
    maxOutputTokens: 0,
    outputLimitField: '',
    imageTokens: 0,
  });
  assert.deepEqual(messagesOf({ routes: [routeOf('r', [image], [])] }), []);
});

test('channels', () => {
  const timeouts = { connectMs: 1, firstByteMs: 1, wholeMs: 1, idleMs: 1 };
  const cases: [Partial<Channel>, RegExp][] = [
    [{ protocol: Protocol.UNSPECIFIED }, /protocol/],
    [{ baseUrl: '' }, /not an http/],
    [{ baseUrl: 'api.openai.com/v1' }, /not an http/],
    [{ baseUrl: 'ftp://host/' }, /not an http/],
    [{ baseUrl: 'https://user:pass@host/' }, /credential/],
    [{ baseUrl: 'https://host/#top' }, /fragment/],
    [{ proxyUrl: 'proxy' }, /proxy_url: not an http/],
    [{ proxyUrl: 'http://user:pass@host:3128' }, /proxy_url: must not hold a credential/],
    [{ proxyUrl: 'http://host:3128/path' }, /proxy_url: must not have a path/],
    [{ apiKey: { value: '' } }, /api_key/],
    [{ apiKey: { value: 'key\r\nx: y' } }, /api_key/],
    [{ models: [{ name: 'a', upstreamName: '' }] }, /upstream_name/],
    [
      {
        models: [
          { name: 'a', upstreamName: 'b' },
          { name: 'a', upstreamName: 'c' },
        ],
      },
      /there twice/,
    ],
    [{ weight: 0 }, /weight/],
    [{ maxConcurrency: 0 }, /channels "c": max_concurrency: must be at least 1/],
    [
      { rateLimits: { outputTokensPerMinute: 0 } },
      /channels "c": rate_limits: output_tokens_per_minute: must be at least 1/,
    ],
    [{ timeouts: undefined }, /timeouts: required/],
    [{ timeouts: { ...timeouts, idleMs: 0 } }, /at least 1 ms/],
  ];
  for (const [changes, message] of cases) {
    const messages = messagesOf({ routes: [routeOf('r', [], [channelOf('c', changes)])] });
    assert.equal(messages.length, 1, JSON.stringify(messages));
    assert.match(messages[0] ?? '', message);
    assert.doesNotMatch(messages[0] ?? '', /user:pass|x: y/);
  }
  assert.deepEqual(messagesOf({ routes: [routeOf('r', [], [channelOf('c', { apiKey: undefined })])] }), []);
  assert.deepEqual(
    messagesOf({
      routes: [routeOf('r', [], [channelOf('c'), channelOf('c')], { clientDisconnect: ClientDisconnect.UNSPECIFIED })],
    }),
    ['client_disconnect: required', 'channels: "c" is there twice'],
  );
});

test('prices', () => {
  const cases: [Partial<Price>, RegExp][] = [
    [{ name: '' }, /a name is empty/],
    [{ quotaType: QuotaType.UNSPECIFIED }, /quota_type/],
    [{ requestNanoUsd: -1n }, /request_nano_usd/],
    [{ cacheWrite1hRatioE9: -1n }, /negative/],
  ];
  for (const [changes, message] of cases) {
    const messages = messagesOf({ catalogs: [catalogOf('c', [priceOf('m', changes)])] });
    assert.equal(messages.length, 1, JSON.stringify(messages));
    assert.match(messages[0] ?? '', message);
  }
  assert.deepEqual(messagesOf({ catalogs: [catalogOf('c', [], { ratioBaseUsdE9: 0n })] }), [
    'ratio_base_usd_e9: must be above 0',
  ]);
});

test('limits on money need a period and a time zone of the database', () => {
  const quota = { nanoUsd: -1n, period: Period.UNSPECIFIED, timeZone: 'Europe/Nowhere' };
  const limits = [{ nanoUsd: undefined, period: Period.WEEKLY, timeZone: 'Europe/Berlin' }];
  assert.deepEqual(messagesOf({ keys: [keyOf('k', { quota })], accounts: [{ ...accountOf('a'), limits }] }), [
    'quota.period: required',
    'quota.nano_usd: must not be negative',
    'quota.time_zone: Europe/Nowhere is unknown here',
    'limits[0].nano_usd: required',
  ]);
});

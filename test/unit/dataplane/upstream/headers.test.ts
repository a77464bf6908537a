import assert from 'node:assert/strict';
import { test } from 'vitest';
import { anthropic } from '../../../../dataplane/protocol/anthropic/provider.ts';
import { openai } from '../../../../dataplane/protocol/openai/provider.ts';
import { valueOfAccount } from '../../../../dataplane/sealing/account-value.ts';
import { allowHeaders, requestHeaders, responseHeaders } from '../../../../dataplane/upstream/headers.ts';

/** The target of such a channel. */
const OPENAI = allowHeaders(openai.clientHeaders);
const ANTHROPIC = allowHeaders(anthropic.clientHeaders);
/** The allow list of a channel whose team trusts its tenants. */
const ALL = allowHeaders(['*']);
const ACCOUNT = 'team-a/main';

test("to the provider: what its protocol needs, without hop-by-hop headers, credentials and proxies' headers", () => {
  const kept = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    'user-agent': 'sdk/1',
    'openai-beta': 'assistants=v2',
    traceparent: '00-1-2-01',
    tracestate: 'a=b',
    'idempotency-key': valueOfAccount(ACCOUNT, 'k'),
    'x-client-request-id': valueOfAccount(ACCOUNT, 'c'),
    'x-stainless-lang': 'js',
    range: 'bytes=0-1',
  };
  const dropped = {
    connection: 'Keep-Alive, X-Named',
    'keep-alive': 'timeout=5',
    'x-named': 'only for this connection',
    te: 'trailers',
    'transfer-encoding': 'chunked',
    upgrade: 'h2c',
    expect: '100-continue',
    host: 'gateway',
    'content-length': '3',
    'proxy-authorization': 'Basic x',
    'proxy-anything': 'x',
    authorization: 'Bearer sk-x',
    'x-api-key': 'sk-x',
    'api-key': 'sk-x',
    'x-goog-api-key': 'x',
    cookie: 'session=1',
    'accept-encoding': 'gzip',
    'content-encoding': 'gzip',
    'openai-organization': 'org',
    'openai-project': 'p',
    forwarded: 'for=1',
    'x-forwarded-for': '10.0.0.1',
    'x-forwarded-host': 'h',
    'x-real-ip': '10.0.0.1',
    via: '1.1 a',
    'cf-connecting-ip': '10.0.0.1',
    origin: 'https://page',
    referer: 'https://page/',
    'sec-fetch-mode': 'cors',
    'x-modelgateway-anything': '1',
    'x-envoy-attempt-count': '1',
    'x-request-id': 'r',
    'if-none-match': 'e',
    baggage: 'user=1',
    'anthropic-beta': 'for the other protocol',
    'x-own': '1',
  };
  const asked = { ...kept, 'idempotency-key': 'k', 'x-client-request-id': 'c' };
  assert.deepEqual(requestHeaders({ ...asked, ...dropped }, { allowed: OPENAI, account: ACCOUNT }), kept);
});

test('and what its channel allows, except hop-by-hop headers and credentials', () => {
  const allowed = allowHeaders([
    'x-own',
    'x-team-*',
    'authorization',
    'x-api-key',
    'host',
    'x-forwarded-*',
    'sec-*',
    'content-*',
    'x-modelgateway-*',
  ]);
  const headers = {
    'x-own': '1',
    'x-own-too': '1',
    'x-team-a': '1',
    'x-team-': '1',
    'x-team': '1',
    authorization: 'Bearer sk-x',
    'x-api-key': 'sk-x',
    host: 'gateway',
    'x-forwarded-for': '10.0.0.1',
    'sec-fetch-mode': 'cors',
    'content-length': '3',
    'content-language': 'en',
    'x-modelgateway-anything': '1',
  };
  assert.deepEqual(requestHeaders(headers, { allowed, account: ACCOUNT }), {
    'x-own': '1',
    'x-team-a': '1',
    'x-team-': '1',
    'content-language': 'en',
  });
});

test("each protocol gets its own dialect's headers", () => {
  const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': ['a', 'b'], 'openai-beta': 'x' };
  assert.deepEqual(requestHeaders(headers, { allowed: ANTHROPIC, account: ACCOUNT }), {
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'a, b',
  });
  assert.deepEqual(requestHeaders(headers, { allowed: OPENAI, account: ACCOUNT }), { 'openai-beta': 'x' });
});

test("to the client: nothing of the connection, the gateway's account or the provider's infrastructure", () => {
  const kept = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'openai-processing-ms': '12',
    'openai-version': '2020-10-01',
    'x-own': '1',
  };
  const dropped = {
    connection: 'x-named',
    'x-named': '1',
    'transfer-encoding': 'chunked',
    'content-length': '3',
    'content-encoding': 'gzip',
    'set-cookie': ['a=1', 'b=2'],
    'x-request-id': 'req_1',
    'request-id': 'req_1',
    'anthropic-organization-id': 'org',
    'openai-organization': 'org',
    'openai-project': 'p',
    'x-ratelimit-remaining-requests': '1',
    'anthropic-ratelimit-tokens-limit': '1',
    'ratelimit-limit': '1',
    'retry-after': '1',
    'x-should-retry': 'true',
    server: 'cloudflare',
    'cf-ray': '1',
    via: '1.1',
    'alt-svc': 'h3',
    'strict-transport-security': 'max-age=1',
    date: 'now',
    location: 'https://provider',
    'access-control-allow-origin': '*',
    'x-modelgateway-cost-usd': '0',
    'x-envoy-upstream-service-time': '1',
    'www-authenticate': 'Bearer',
    authorization: 'Bearer echoed',
    'x-api-key': 'echoed',
    'api-key': 'echoed',
    'x-goog-api-key': 'echoed',
    'x-auth-token': 'echoed',
    cookie: 'a=1',
    'clear-site-data': '"*"',
    refresh: '0;url=https://attacker.example',
    'service-worker-allowed': '/',
    'x-accel-redirect': '/etc/passwd',
    'x-sendfile': '/etc/passwd',
  };
  assert.deepEqual(responseHeaders({ ...kept, ...dropped }), kept);
});

test("a copy of the client's key in any other header is not forwarded", () => {
  const key = `sk-${'k'.repeat(48)}`;
  for (const shown of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }, { 'x-goog-api-key': key }]) {
    const copies = {
      'x-forward-authorization': `Bearer ${key}`,
      toauthorization: key,
      'x-list': ['a', `b=${key};c`],
      'x-debug': JSON.stringify({ key }),
    };
    assert.deepEqual(
      requestHeaders({ ...shown, ...copies, 'x-own': '1', 'user-agent': 'sdk/1' }, { allowed: ALL, account: ACCOUNT }),
      {
        'x-own': '1',
        'user-agent': 'sdk/1',
      },
    );
  }
  // headers that only look similar are the client's own
  assert.deepEqual(
    requestHeaders({ authorization: 'Bearer sk-a', 'x-own': 'task-sk-a' }, { allowed: ALL, account: ACCOUNT }),
    {
      'x-own': 'task-sk-a',
    },
  );
});

test("headers that exceed clients' limits are reduced, content-type last", () => {
  const long = 'v'.repeat(7_000);
  const headers = {
    'x-first': long,
    'x-second': long,
    'x-third': '3',
    constructor: 'of nothing',
    'content-type': 'application/json',
  };
  assert.deepEqual(responseHeaders(headers), {
    'x-first': long,
    'x-third': '3',
    constructor: 'of nothing',
    'content-type': 'application/json',
  });
  const { 'x-second': _second, ...fits } = headers;
  assert.deepEqual(Object.keys(responseHeaders(fits)), Object.keys(fits));
  const many = Object.fromEntries(Array.from({ length: 2_000 }, (_none, index) => [`x-own-${index}`, 'v']));
  const passed = responseHeaders({ ...many, 'content-type': 'text/event-stream' });
  assert.equal(passed['content-type'], 'text/event-stream');
  assert.ok(Object.entries(passed).reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0) <= 8 * 1024);
  assert.ok(Object.keys(passed).length > 400);
});

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, it, test } from 'vitest';
import { createAdmin } from '../../../../dataplane/admin/server.ts';
import type { ReadinessCheck } from '../../../../dataplane/admin/server.ts';
import { SecretValue } from '../../../../dataplane/upstream/upstream.ts';

let checks: ReadinessCheck[] = [];
let dump: () => unknown = () => ({});
const admin = createAdmin({
  metrics: { contentType: 'text/plain; version=0.0.4; charset=utf-8', metrics: () => Promise.resolve('up 1\n') },
  readiness: () => checks,
  dump: () => dump(),
});
let base = '';
beforeAll(async () => {
  base = `http://127.0.0.1:${await admin.listen('127.0.0.1', 0)}`;
});
afterAll(() => admin.close());

test('is alive', async () => {
  const response = await fetch(`${base}/healthz`);
  assert.deepEqual([response.status, await response.json()], [200, { status: 'ok' }]);
});

test('is ready only when every check passes; otherwise it names the failing check and the reason', async () => {
  checks = [
    { name: 'configuration', ok: true },
    { name: 'ledger', ok: true },
  ];
  const ready = await fetch(`${base}/readyz`);
  assert.deepEqual([ready.status, await ready.json()], [200, { status: 'ready', checks: ['configuration', 'ledger'] }]);
  const unconfigured = { name: 'configuration', detail: 'none has come yet' };
  checks = [
    { ...unconfigured, ok: false },
    { name: 'ledger', ok: true },
    { name: 'draining', ok: false },
  ];
  const unready = await fetch(`${base}/readyz`);
  const body = { status: 'not ready', not_ready: [unconfigured, { name: 'draining', detail: '' }] };
  assert.deepEqual([unready.status, await unready.json()], [503, body]);
});

test('stays ready while only an advisory check fails, and shows it', async () => {
  const ledger = { name: 'ledger', detail: 'no answer' };
  checks = [
    { name: 'configuration', ok: true },
    { ...ledger, ok: false, advisory: true },
  ];
  const ready = await fetch(`${base}/readyz`);
  const body = { status: 'ready', checks: ['configuration'], degraded: [ledger] };
  assert.deepEqual([ready.status, await ready.json()], [200, body]);
  checks = [...checks, { name: 'draining', ok: false }];
  const unready = await fetch(`${base}/readyz`);
  const both = { status: 'not ready', not_ready: [{ name: 'draining', detail: '' }], degraded: [ledger] };
  assert.deepEqual([unready.status, await unready.json()], [503, both]);
});

test('serves metrics in their own content type', async () => {
  const response = await fetch(`${base}/metrics`);
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  assert.equal(await response.text(), 'up 1\n');
});

test('dumps JSON with exact integers, and redacts secrets', async () => {
  const targets = new Map([['r/c', { apiKey: new SecretValue('hidden') }]]);
  dump = () => ({ money: 9_007_199_254_740_993n, targets, models: new Set(['m']) });
  const response = await fetch(`${base}/config_dump`);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  const text = await response.text();
  assert.ok(!text.includes('hidden'));
  const expected = { money: '9007199254740993', targets: { 'r/c': { apiKey: '[redacted]' } }, models: ['m'] };
  assert.deepEqual(JSON.parse(text), expected);
});

test('returns 500 without the message if a source fails', async () => {
  dump = () => {
    throw new Error('password=hidden');
  };
  const response = await fetch(`${base}/config_dump`);
  assert.deepEqual([response.status, await response.json()], [500, { error: 'internal error' }]);
});

test('refuses unknown paths and wrong methods', async () => {
  const unknown = await fetch(`${base}/debug`);
  assert.equal(unknown.status, 404);
  assert.match(unknown.headers.get('content-type') ?? '', /^application\/json/);
  const headers = { 'content-type': 'application/json' };
  const wrong = await fetch(`${base}/metrics?x=1`, { method: 'POST', body: '{}', headers });
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD']);
  assert.deepEqual(await wrong.json(), { error: 'method not allowed' });
  const head = await fetch(`${base}/healthz`, { method: 'HEAD' });
  assert.equal(head.status, 200);
});

describe('a web page in a browser on this machine', () => {
  /** fetch sets these headers itself. */
  const statusOf = (path: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const asked = request(base + path, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on('error', reject).end();
    });
  const port = (): string => new URL(base).port;
  for (const path of ['/config_dump', '/metrics', '/readyz', '/healthz', '/debug'])
    it(`gets nothing of ${path}`, async () => {
      dump = () => ({});
      for (const headers of [
        { host: 'attacker.example' },
        { host: `attacker.example:${port()}`, 'sec-fetch-site': 'same-origin' },
        { origin: 'https://attacker.example' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
      ])
        assert.equal(await statusOf(path, headers), 403, JSON.stringify(headers));
    });
  it('is told from programs, probes and a person who opens it', async () => {
    checks = [];
    for (const host of ['localhost:9090', '127.0.0.1', '[::1]:9090', '10.0.0.7:9090', '[fd00::1]:9090'])
      assert.equal(await statusOf('/readyz', { host }), 200, host);
    assert.equal(await statusOf('/metrics', { 'sec-fetch-site': 'none' }), 200);
  });
});

describe('the dump', () => {
  it('never contains a hash', async () => {
    dump = () => ({ keys: [{ hashes: [{ sha256: 'abc' }] }], statuses: [{ keyHash: 'abc' }] });
    assert.ok(!(await (await fetch(`${base}/config_dump`)).text()).includes('abc'));
  });

  const address = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === 'IPv4' && !each.internal);
  it.skipIf(!address)('is for this machine only unless configured otherwise', async () => {
    const allowed: string[] = [];
    const sources = { metrics: { contentType: 'text/plain', metrics: () => Promise.resolve('') }, readiness: () => [] };
    const closed = createAdmin({ ...sources, dump: () => 'shown' });
    const guarded = createAdmin({
      ...sources,
      dump: () => 'shown',
      mayDump: (token) => {
        allowed.push(token);
        return Promise.resolve(token === 'reader');
      },
    });
    const read = async (port: number, headers: Readonly<Record<string, string>> = {}): Promise<number> =>
      (await fetch(`http://${address?.address}:${port}/config_dump`, { headers })).status;
    try {
      const [closedPort, port] = [await closed.listen('0.0.0.0', 0), await guarded.listen('0.0.0.0', 0)];
      assert.equal(await read(closedPort), 403);
      assert.equal((await fetch(`http://127.0.0.1:${closedPort}/config_dump`)).status, 200);
      assert.equal(await read(port), 401);
      assert.equal(await read(port, { authorization: 'Bearer stranger' }), 403);
      assert.equal(await read(port, { authorization: 'Bearer reader' }), 200);
      assert.deepEqual(allowed, ['stranger', 'reader']);
    } finally {
      await Promise.all([closed.close(), guarded.close()]);
    }
  });
});

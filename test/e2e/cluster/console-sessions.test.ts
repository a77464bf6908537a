/**
 * Sessions of two tenants on a real API server: a forged, swapped or kept session gives no access to others' objects.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { openClusterAccess } from '../../../console/access/kubernetes.ts';
import { startConsole } from '../../../console/server.ts';
import type { ConsoleServer } from '../../../console/server.ts';
import { TRANSLATOR } from '../../../operator/translate/translator.ts';
import { openAccess } from '#kube/access.ts';
import type { SharedAccess } from '#kube/access.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { EDITS_KEYS, makePerson, removePerson } from './people.ts';
import { countingMeter, GATEWAY_NAMESPACE, isReady, runOperator, SCENE, startCluster, until } from './support.ts';
import type { Cluster, Running } from './support.ts';

const missing = await kubeApiserverMissing();
const TEAM_B = SCENE.slice(SCENE.indexOf('kind: Account'))
  .replaceAll('team-a', 'team-b')
  .replaceAll('name: ci', 'name: bot');
const HOUR_MS = 3_600_000;
/** Headers that a browser would not let a page set, but a program can. */
const ESCALATIONS: readonly OutgoingHttpHeaders[] = [
  {
    'impersonate-user': 'admin',
    'impersonate-group': 'system:masters',
  },
  { authorization: 'Bearer test-admin' },
  { 'x-forwarded-access-token': 'test-admin' },
  {
    'x-forwarded-user': 'admin',
    'x-remote-user': 'admin',
    'x-remote-group': 'system:masters',
  },
  { 'x-original-url': '/keys/team-a/ci', 'x-rewrite-url': '/keys/team-a/ci' },
  { 'x-http-method-override': 'DELETE' },
  { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
];

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}
interface Asked {
  readonly path: string;
  readonly cookie?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly form?: Readonly<Record<string, string>>;
}

function withoutUnsaid(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}

describe.skipIf(missing)('sessions of tenants', () => {
  let cluster: Cluster;
  let run: Running;
  let access: SharedAccess;
  let server: ConsoleServer;
  let aheadMs = 0;
  const logs: string[] = [];
  const tokens = new Map<string, string>();
  const sealingKeys = [randomBytes(32)];

  function start(keys: readonly Uint8Array[]): Promise<ConsoleServer> {
    const note = (...line: unknown[]): void => {
      logs.push(JSON.stringify(line));
    };
    return startConsole({
      translator: TRANSLATOR,
      listen: { host: '127.0.0.1', port: 0 },
      usage: undefined,
      resources: () => run.operator.resources(),
      gatewayNamespace: GATEWAY_NAMESPACE,
      gatewayUrl: undefined,
      nowMs: () => Date.now() + aheadMs,
      log: { info: note, warn: note, error: note },
      sealingKeys: keys,
      access: openClusterAccess({
        access,
        userAgent: 'test',
        meter: countingMeter(),
        cache: run.operator.cache,
        gatewayNamespace: GATEWAY_NAMESPACE,
        nowMs: () => Date.now() + aheadMs,
      }),
    });
  }

  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.apply(SCENE);
    await cluster.apply(TEAM_B);
    for (const [name, namespace] of [
      ['anna', 'team-a'],
      ['ben', 'team-b'],
      ['gone', 'team-b'],
    ] as const)
      tokens.set(name, await makePerson(cluster, name, { [namespace]: EDITS_KEYS }));
    run = runOperator(cluster);
    await until(
      'all is ready',
      () => cluster.list('ApiKey'),
      (all) => all.length === 2 && all.every(isReady),
    );
    await until(
      'the cache',
      () => run.operator.cache.isComplete,
      (complete) => complete,
    );
    access = openAccess({ kubeconfig: cluster.kubeconfig, nowMs: () => Date.now() });
    server = await start(sealingKeys);
  });
  afterAll(async () => {
    await server?.close();
    await run?.stop();
    await access?.close();
    await cluster?.stop();
  });

  const origin = ({ port }: ConsoleServer = server): string => `http://localhost:${port}`;

  /** Sends every header as given: fetch would not send all of them. */
  async function ask({ path, cookie, headers = {}, form }: Asked, at = server): Promise<Reply> {
    const own = {
      host: `localhost:${at.port}`,
      ...(cookie !== undefined && { cookie }),
      ...(form && {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        origin: origin(at),
      }),
    };
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          host: '127.0.0.1',
          port: at.port,
          path,
          method: form ? 'POST' : 'GET',
          headers: withoutUnsaid({ ...own, ...headers }),
          agent: false,
        },
        (answer) => {
          text(answer).then(
            (body) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: body }),
            reject,
          );
        },
      );
      sent.on('error', reject).end(form && new URLSearchParams(form).toString());
    });
  }

  async function signIn(name: string, at = server): Promise<string> {
    const { status, headers } = await ask({ path: '/sign-in', form: { token: tokens.get(name) ?? '' } }, at);
    assert.equal(status, 303);
    return (headers['set-cookie'] ?? [])
      .filter((each) => !each.includes('Max-Age=0'))
      .map((each) => each.split(';')[0] ?? '')
      .join('; ');
  }

  async function csrfOf(cookie: string): Promise<string> {
    return (
      /name="csrf" value="([^"]+)"/.exec((await ask({ path: '/keys', cookie })).text)?.[1] ?? assert.fail('no form')
    );
  }

  const leadsToSignIn = ({ status, headers }: Reply): boolean =>
    status === 303 && String(headers.location).startsWith('/sign-in');

  it('get no more rights by any header', async () => {
    const cookie = await signIn('ben');
    for (const headers of ESCALATIONS) {
      const where = JSON.stringify(headers);
      const theirs = await ask({ path: '/keys/team-a/ci', cookie, headers });
      assert.equal(theirs.status, 403, where);
      const list = await ask({ path: '/keys', cookie, headers });
      assert.match(list.text, /data-key="team-b\/bot"/, where);
      assert.doesNotMatch(list.text, /team-a|evil\.example/, where);
      const stranger = await ask({ path: '/keys', headers });
      assert.ok(leadsToSignIn(stranger), where);
      assert.doesNotMatch(String(stranger.headers.location), /evil/, where);
      for (const path of ['/keys?part=', '/wallet/team-a/team/calls.csv', '/keys/team-a/ci/created?rotation=1&part=']) {
        const { status, text: words } = await ask({ path, cookie, headers });
        assert.ok(path === '/keys?part=' ? status === 200 : status === 403, `${path} ${status}`);
        assert.doesNotMatch(words, /data-key="team-a|sk-(?!YOUR)[A-Za-z0-9]{5}.*ci/, path);
      }
    }
  });

  it('are refused for a cookie that was changed, made elsewhere, or combined from two', async () => {
    const [anna, ben] = [await signIn('anna'), await signIn('ben')];
    const foreign = await start([randomBytes(32)]);
    try {
      const elsewhere = (await signIn('anna', foreign)).replaceAll(`-${foreign.port}`, `-${server.port}`);
      const [name = '', value = ''] = anna.split(/=(.*)/s);
      const theirs = ben.split(/=(.*)/s)[1] ?? '';
      const middle = Math.floor(value.length / 2);
      const flipped = value.slice(0, middle) + (value[middle] === 'A' ? 'B' : 'A') + value.slice(middle + 1);
      const spliced = value.slice(0, middle) + theirs.slice(middle);
      for (const cookie of [
        elsewhere,
        `${name}=${flipped}`,
        `${name}=${spliced}`,
        `${name}=`,
        `${name}=${value}x`,
        `${name}=${tokens.get('anna')}`,
        `other=${value}`,
        `${name}=${Buffer.from(JSON.stringify(['test-admin', 'x', Date.now(), Date.now()])).toString('base64url')}`,
      ])
        assert.ok(leadsToSignIn(await ask({ path: '/keys', cookie })), cookie.slice(0, 60));
      assert.equal((await ask({ path: '/keys', cookie: anna })).status, 200);
    } finally {
      await foreign.close();
    }
  });

  it("belong to the cookie's owner, whatever the form or the page before says", async () => {
    const [anna, ben] = [await signIn('anna'), await signIn('ben')];
    const before = await cluster.get('ApiKey', 'team-a', 'ci');
    const { uid } = before.metadata;
    const off = { to: `off ${uid}`, view: '/keys' };
    const at = '/keys/team-a/ci/enabled';
    // with anna's form token in ben's session, and vice versa
    assert.equal((await ask({ path: at, cookie: ben, form: { ...off, csrf: await csrfOf(anna) } })).status, 403);
    assert.equal((await ask({ path: at, cookie: anna, form: { ...off, csrf: await csrfOf(ben) } })).status, 403);
    assert.equal((await ask({ path: at, cookie: ben, form: { ...off, csrf: await csrfOf(ben) } })).status, 403);
    // from another site, or through another name of this one
    const unsaid = { 'sec-fetch-site': undefined }; // by a browser that is too old to say it
    for (const headers of [
      { ...unsaid, origin: 'https://evil.example' },
      { ...unsaid, origin: 'null' },
      {
        ...unsaid,
        origin: 'http://localhost:1',
      },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ])
      assert.equal(
        (
          await ask({
            path: at,
            cookie: anna,
            form: { ...off, csrf: await csrfOf(anna) },
            headers,
          })
        ).status,
        403,
        JSON.stringify(headers),
      );
    assert.equal((await cluster.get('ApiKey', 'team-a', 'ci')).metadata.generation, before.metadata.generation);
    assert.equal((await ask({ path: at, cookie: anna, form: { ...off, csrf: await csrfOf(anna) } })).status, 303);
    assert.equal((await cluster.get('ApiKey', 'team-a', 'ci')).spec.enabled, false);
  });

  it('cannot begin under another host name over plain http', async () => {
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example']) {
      const { status, headers } = await ask({
        path: '/sign-in',
        form: { token: tokens.get('anna') ?? '' },
        headers: { host, origin: `http://${host}` },
      });
      assert.equal(status, 403, host);
      assert.equal(headers['set-cookie'], undefined);
    }
  });

  it("end after an hour, and with the person's rights", async () => {
    const [ben, gone] = [await signIn('ben'), await signIn('gone')];
    assert.equal((await ask({ path: '/keys', cookie: gone })).status, 200);
    await removePerson(cluster, 'gone');
    const { uid } = (await cluster.get('ApiKey', 'team-b', 'bot')).metadata;
    // a change is checked by the API server itself, so it is refused as soon as the server knows
    const change = async (): Promise<number> =>
      (
        await ask({
          path: '/keys/team-b/bot/enabled',
          cookie: gone,
          form: { to: `off ${uid}`, view: '', csrf },
        })
      ).status;
    const csrf = /name="csrf" value="([^"]+)"/.exec((await ask({ path: '/models', cookie: gone })).text)?.[1] ?? '';
    await until('the token is worth nothing', change, (status) => status === 401 || status === 403);
    aheadMs = 2 * 60_000;
    assert.ok(leadsToSignIn(await ask({ path: '/keys', cookie: gone })));
    assert.equal((await ask({ path: '/keys', cookie: ben })).status, 200);
    aheadMs = HOUR_MS + 60_000;
    assert.ok(leadsToSignIn(await ask({ path: '/keys', cookie: ben })));
    aheadMs = 0;
  });

  it('never write a token or cookie into a log', () => {
    assert.ok(logs.length > 0);
    for (const token of tokens.values()) assert.ok(!logs.join('').includes(token));
  });
});

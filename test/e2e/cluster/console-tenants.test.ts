/**
 * Two tenants of one cluster on all pages of the console: no address, form or header gives access to the other's
 * objects.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { openClusterAccess } from '../../../console/access/kubernetes.ts';
import { ROUTES } from '../../../console/routes.ts';
import { startConsole } from '../../../console/server.ts';
import type { ConsoleServer } from '../../../console/server.ts';
import type { CallQuery, SpendingSum, UsageStore } from '../../../console/data/usage.ts';
import { openAccess } from '../../../kube/access.ts';
import type { SharedAccess } from '../../../kube/access.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { GATEWAY_NAMESPACE, SCENE, countingMeter, isReady, runOperator, startCluster, until } from './support.ts';
import type { Cluster, Live, Running } from './support.ts';
import { TRANSLATOR } from '../../../operator/translate/translator.ts';

const missing = await kubeApiserverMissing();
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
/** Texts that only team-a's objects contain. */
const THEIRS = { limit: '31337.42', grant: 'only-for-team-a' };
const OBJECTS = ['a', 'b']
  .map(
    (team) => `
kind: Account
metadata: {name: purse-of-${team}, namespace: team-${team}}
spec: {grants: [{name: ${team === 'a' ? THEIRS.grant : 'ordinary'}, usd: "100"}]}
---
kind: ApiKey
metadata: {name: key-of-${team}, namespace: team-${team}}
spec: {groupRef: {name: main}, accountRef: {name: purse-of-${team}}, quota: {limitUsd: "${team === 'a' ? THEIRS.limit : '5'}"}}
`,
  )
  .join('---');
const NOTHING: SpendingSum = { calls: 0, costNanoUsd: 0n, inputTokens: 0, outputTokens: 0 };
const TAMPERED = {
  'impersonate-user': 'admin',
  'impersonate-group': 'system:masters',
  'x-remote-user': 'admin',
  'x-remote-group': 'system:masters',
  'x-forwarded-access-token': 'test-admin',
};

interface Reply {
  readonly status: number;
  readonly text: string;
}

describe.skipIf(missing)('tenants at the console', () => {
  let cluster: Cluster;
  let run: Running;
  let access: SharedAccess;
  let server: ConsoleServer;
  const tokens = new Map<string, string>();
  const asked: string[] = [];
  /** The hash of team-a's key. */
  let prefix = '';
  const usage: UsageStore = {
    sums: async (query) =>
      noted(query, { all: NOTHING, byDay: new Map(), byKey: new Map(), byModel: new Map(), wholeSinceMs: 0 }),
    page: async (query) => noted(query, { calls: [], next: undefined, wholeSinceMs: 0 }),
    records: (query) => noted(query, ReadableStream.from([])),
    series: async (query) => noted(query, { sums: [], wholeSinceMs: 0 }),
    margins: async (query) => noted(query, { sums: [], wholeSinceMs: 0 }),
    find: (query) => noted(query, Promise.resolve(undefined)),
    keyNames: async (accounts) => noted({ accounts }, new Map()),
    prepare: () => undefined,
    close: () => undefined,
  };

  function noted<T>(query: CallQuery, answer: T): T {
    asked.push(...query.accounts);
    return answer;
  }

  async function tenant(name: string, namespace: string): Promise<void> {
    const post = async (path: string, body: object): Promise<Live> => {
      const { status, body: answer } = await cluster.admin.call('POST', path, body);
      assert.ok(status < 300, answer.message);
      return answer;
    };
    await post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name } });
    await post(`${RBAC}/namespaces/${namespace}/roles`, {
      metadata: { name },
      rules: [
        {
          apiGroups: ['modelgateway.dev'],
          resources: ['*'],
          verbs: ['*'],
        },
        { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
      ],
    });
    await post(`${RBAC}/namespaces/${namespace}/rolebindings`, {
      metadata: { name },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'Role',
        name,
      },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
    });
    tokens.set(
      name,
      (await post(`/api/v1/namespaces/default/serviceaccounts/${name}/token`, { spec: {} })).status.token,
    );
  }

  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.apply(SCENE);
    await cluster.apply(OBJECTS);
    await tenant('anna', 'team-a');
    await tenant('ben', 'team-b');
    run = runOperator(cluster);
    await until(
      'all is ready',
      () => cluster.list('ApiKey'),
      (all) => all.every(isReady),
    );
    prefix = (await cluster.get('ApiKey', 'team-a', 'key-of-a')).status.keyPrefix;
    await until(
      'the cache',
      () => run.operator.cache.isComplete,
      (complete) => complete,
    );
    access = openAccess({ kubeconfig: cluster.kubeconfig, nowMs: () => Date.now() });
    const note = (): void => undefined;
    server = await startConsole({
      translator: TRANSLATOR,
      listen: { host: '127.0.0.1', port: 0 },
      usage,
      resources: () => run.operator.resources(),
      gatewayNamespace: GATEWAY_NAMESPACE,
      gatewayUrl: undefined,
      nowMs: () => Date.now(),
      log: { info: note, warn: note, error: note },
      sealingKeys: [new Uint8Array(32).fill(7)],
      proxyHeader: 'authorization',
      access: openClusterAccess({
        access,
        userAgent: 'test',
        meter: countingMeter(),
        cache: run.operator.cache,
        gatewayNamespace: GATEWAY_NAMESPACE,
        nowMs: () => Date.now(),
      }),
    });
  });
  afterAll(async () => {
    await server?.close();
    await run?.stop();
    await access?.close();
    await cluster?.stop();
  });

  async function visit(who: string, path: string, form?: Readonly<Record<string, string>>): Promise<Reply> {
    const headers = {
      ...TAMPERED,
      authorization: `Bearer ${tokens.get(who)}`,
      'sec-fetch-site': 'same-origin',
      origin: `http://127.0.0.1:${server.port}`,
    };
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      redirect: 'manual',
      headers: form ? { ...headers, 'content-type': 'application/x-www-form-urlencoded' } : headers,
      ...(form && { method: 'POST', body: new URLSearchParams({ ...form, csrf: await csrfOf(who) }).toString() }),
    });
    return { status: answer.status, text: await answer.text() };
  }

  const csrfs = new Map<string, string>();
  async function csrfOf(who: string): Promise<string> {
    const known =
      csrfs.get(who) ??
      /name="csrf" value="([^"]+)"/.exec((await visit(who, '/keys/new')).text)?.[1] ??
      assert.fail('no form');
    csrfs.set(who, known);
    return known;
  }

  const pathTo = (route: string, namespace: string, name: string): string =>
    route.replace(':namespace', namespace).replace(':name', name);
  const nameIn = (route: string, team: string): string => `${route.startsWith('/wallet') ? 'purse' : 'key'}-of-${team}`;
  const ofObjects = ROUTES.filter(({ path }) => path.includes(':namespace'));

  function tellsNothing({ text }: Reply, where: string): void {
    for (const [what, word] of Object.entries(THEIRS)) assert.ok(!text.includes(word), `${where} tells their ${what}`);
    assert.ok(prefix.length > 3 && !text.includes(prefix), `${where} tells their key's beginning`);
  }

  it('see their own objects on every page: the following sweep visits real pages', async () => {
    assert.ok(ofObjects.length >= 10);
    for (const { path } of ofObjects.filter(({ method }) => method === 'GET')) {
      const { status } = await visit('ben', pathTo(path, 'team-b', nameIn(path, 'b')));
      // the account has no call, so a call's page reports that
      assert.ok((path.endsWith('/calls/:id') ? [404] : [200, 303]).includes(status), `${path}: ${status}`);
    }
    assert.match((await visit('anna', '/keys')).text, new RegExp(THEIRS.limit.replace(/\B(?=(\d{3})+\b\.)/g, ',?')));
    assert.match((await visit('anna', '/keys')).text, /key-of-a/);
  });

  it("see no page of the other's objects, whatever the address", async () => {
    asked.splice(0);
    for (const { path } of ofObjects.filter(({ method }) => method === 'GET')) {
      for (const [namespace, name] of [
        ['team-a', nameIn(path, 'a')],
        ['team-a', 'not-there'],
        ['team-b%2f..%2fteam-a', nameIn(path, 'a')],
        ['team-b', `..%2f..%2fteam-a%2f${nameIn(path, 'a')}`],
        ['team-a', `${nameIn(path, 'a')}%00`],
      ] as const) {
        const where = pathTo(path, namespace, name);
        const reply = await visit('ben', where);
        assert.ok([403, 404].includes(reply.status), `${where}: ${reply.status}`);
        tellsNothing(reply, where);
      }
    }
    for (const where of [
      '/keys',
      '/keys?q=key-of-a',
      '/keys?namespace=team-a',
      '/keys?account=team-a/purse-of-a',
      '/keys?account=purse-of-a',
      '/wallet',
      '/wallet?namespace=team-a',
      '/keys/new?namespace=team-a',
      '/models',
      '/wallet/team-b/purse-of-b?account=team-a/purse-of-a',
      '/wallet/team-b/purse-of-b/calls?account=team-a/purse-of-a&key=team-a/key-of-a',
      '/wallet/team-b/purse-of-b/calls.csv?accounts=team-a/purse-of-a',
    ]) {
      const reply = await visit('ben', where);
      assert.ok([200, 403].includes(reply.status), `${where}: ${reply.status}`);
      tellsNothing(reply, where);
      assert.doesNotMatch(reply.text, /\/(?:keys|wallet)\/team-a\//, where);
    }
    assert.deepEqual([...new Set(asked)], ['team-b/purse-of-b']);
  });

  it("cannot change or create the other's objects by any form", async () => {
    const theirs = async (): Promise<unknown> => {
      const spec = ({ metadata: { uid, generation, annotations }, spec: wish }: Live): unknown => ({
        uid,
        generation,
        annotations,
        wish,
      });
      return {
        keys: (await cluster.list('ApiKey', 'team-a')).map(spec),
        accounts: (await cluster.list('Account', 'team-a')).map(spec),
        secret: (await cluster.get('Secret', 'team-a', 'key-of-a-key')).data,
      };
    };
    const was = await theirs();
    const seen = await cluster.get('ApiKey', 'team-a', 'key-of-a');
    const account = await cluster.get('Account', 'team-a', 'purse-of-a');
    for (const { path } of ofObjects.filter(({ method }) => method === 'POST')) {
      const { uid, generation } = (path.startsWith('/wallet') ? account : seen).metadata;
      const form = {
        uid,
        generation: String(generation),
        name: 'key-of-a',
        namespace: 'team-a',
        enabled: 'false',
        group: 'main',
        account: 'purse-of-a',
        limit: 'Unlimited',
        quota: 'Unlimited',
        limitUsd: '1',
        period: 'Never',
        rotation: '1',
        overlap: '0',
        overlapSeconds: '0',
        confirm: 'key-of-a',
        usd: '500',
        amount: '500',
        reason: 'mine now',
        grant: 'mine',
        back: '/keys',
      };
      const where = pathTo(path, 'team-a', nameIn(path, 'a'));
      const reply = await visit('ben', where, form);
      assert.ok([400, 403, 404, 409, 422].includes(reply.status), `${where}: ${reply.status}`);
      tellsNothing(reply, where);
      const shown = await visit('ben', pathTo(path, 'team-b', nameIn(path, 'b')), { ...form, uid: 'of-nobody' }); // theirs in the form, ben's in the address
      assert.ok([303, 400, 403, 404, 409, 422].includes(shown.status), `${path}: ${shown.status}`);
    }
    const made = await visit('ben', '/keys/new', {
      namespace: 'team-a',
      name: 'intruder',
      group: 'main',
      account: 'purse-of-a',
      limit: 'Unlimited',
      quota: 'Unlimited',
      period: 'Never',
      enabled: 'true',
    });
    assert.ok([400, 403, 404, 422].includes(made.status), String(made.status));
    assert.deepEqual(await theirs(), was);
  });

  it('cannot change their own objects by a form without its token or from another site', async () => {
    const at = `http://127.0.0.1:${server.port}/keys/team-b/key-of-b/enabled`;
    const before = (await cluster.get('ApiKey', 'team-b', 'key-of-b')).metadata.generation;
    const body = new URLSearchParams({ enabled: 'false', csrf: await csrfOf('ben') });
    const base = { 'content-type': 'application/x-www-form-urlencoded', authorization: `Bearer ${tokens.get('ben')}` };
    const own = `http://127.0.0.1:${server.port}`;
    for (const [headers, form] of [
      [{ ...base, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, body.toString()],
      [{ ...base, 'sec-fetch-site': 'same-origin', origin: own }, new URLSearchParams({ enabled: 'false' }).toString()],
      [
        {
          ...base,
          'sec-fetch-site': 'same-origin',
          origin: own,
        },
        new URLSearchParams({ enabled: 'false', csrf: await csrfOf('anna') }).toString(),
      ],
    ] as const) {
      const { status } = await fetch(at, { method: 'POST', redirect: 'manual', headers, body: form });
      assert.equal(status, 403);
    }
    assert.equal((await cluster.get('ApiKey', 'team-b', 'key-of-b')).metadata.generation, before);
  });
});

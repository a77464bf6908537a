/** The console's access in a cluster: the API server decides on every action by the person's own rights. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { html } from '#web/html.ts';
import type { ApiKey } from '#crds/types.gen.ts';
import { AccessError } from '../../../console/access/access.ts';
import type { AccessErrorReason, ConsoleAccess, PersonAccess } from '../../../console/access/access.ts';
import { openClusterAccess } from '../../../console/access/kubernetes.ts';
import { route } from '../../../console/route.ts';
import { startConsole } from '../../../console/server.ts';
import type { ConsoleServer } from '../../../console/server.ts';
import { TRANSLATOR } from '../../../operator/translate/translator.ts';
import { openAccess } from '#kube/access.ts';
import type { SharedAccess } from '#kube/access.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import {
  GATEWAY_NAMESPACE,
  SCENE,
  countingMeter,
  isReady,
  runOperator,
  startCluster,
  teamManifest,
  until,
} from './support.ts';
import type { Cluster, Running } from './support.ts';

const missing = await kubeApiserverMissing();
const API = 'modelgateway.dev';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const MORE = `${teamManifest('team-b')}---
kind: ApiKey
metadata: {name: bot, namespace: team-a}
spec: {groupRef: {name: main}, accountRef: {name: team}, quota: {limitUsd: "5"}}
---
kind: ApiKey
metadata: {name: elsewhere, namespace: team-a}
spec: {gatewayNamespace: other-gateway, groupRef: {name: main}, accountRef: {name: team}}
`;
const POLICY = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'small-limits' },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [API],
          apiVersions: ['*'],
          resources: ['apikeys'],
          operations: ['CREATE', 'UPDATE'],
        },
      ],
    },
    validations: [{ expression: 'object.spec.quota.limitUsd != "666"', message: 'ask finance for such a limit' }],
  },
};
const BINDING = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: 'small-limits' },
  spec: { policyName: 'small-limits', validationActions: ['Deny'] },
};

/** The Role that docs/console.md documents. */
async function documentedRules(): Promise<readonly Rule[]> {
  const page = await readFile(join(import.meta.dirname, '../../../docs/console.md'), 'utf8');
  const [, block = ''] = /```yaml\n(apiVersion: rbac[\s\S]*?)```/.exec(page) ?? [];
  const [role, binding] = parseAllDocuments(block).map((document) => document.toJS());
  assert.deepEqual([role.kind, binding.kind, binding.roleRef.name], ['Role', 'RoleBinding', role.metadata.name]);
  return role.rules;
}

interface Rule {
  readonly verbs: readonly string[];
  readonly resources: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resourceNames?: readonly string[];
}

describe.skipIf(missing)('the console in a cluster', () => {
  let cluster: Cluster;
  let run: Running;
  let server: SharedAccess;
  let access: ConsoleAccess;
  const meter = countingMeter();
  const tokens = new Map<string, string>();
  let clockMs = Date.now();

  async function admin(method: 'POST' | 'PATCH' | 'DELETE', path: string, body: object): Promise<void> {
    const answer = await cluster.admin.call(
      method,
      path,
      body,
      method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    );
    assert.ok(answer.status < 300, answer.body.message);
  }

  /** A person with a token and, by roles in namespaces ("" for all), these rights. */
  async function person(name: string, roles: Readonly<Record<string, readonly Rule[]>>): Promise<void> {
    await admin('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name } });
    for (const [namespace, rules] of Object.entries(roles)) {
      const [kind, place] = namespace === '' ? ['ClusterRole', ''] : ['Role', `/namespaces/${namespace}`];
      await admin('POST', `${RBAC}${place}/${kind.toLowerCase()}s`, { metadata: { name }, rules });
      await admin('POST', `${RBAC}${place}/${kind.toLowerCase()}bindings`, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
        subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
      });
    }
    const { body } = await cluster.admin.call('POST', `/api/v1/namespaces/default/serviceaccounts/${name}/token`, {
      spec: {},
    });
    tokens.set(name, body.status.token);
  }

  async function as(name: string): Promise<PersonAccess> {
    const found = await access.signIn({ token: tokens.get(name) ?? '' });
    assert.ok(found, name);
    return found;
  }

  beforeAll(async () => {
    cluster = await startCluster(['team-a', 'team-b', 'empty']);
    await cluster.apply(SCENE);
    await cluster.apply(MORE);
    const edit = await documentedRules();
    await person('anna', { 'team-a': edit });
    await person('ben', { 'team-b': edit });
    await person('carl', {
      'team-a': [
        {
          verbs: ['get'],
          resources: ['apikeys'],
          apiGroups: [API],
          resourceNames: ['ci', 'no-such-key'],
        },
      ],
    });
    await person('dora', {});
    await person('erna', {
      '': [{ verbs: ['get', 'list'], resources: ['apikeys', 'accounts', 'groups'], apiGroups: [API] }],
    });
    await person('fred', { empty: edit });
    await person('gina', { 'team-a': [{ verbs: ['get', 'list'], resources: ['apikeys'], apiGroups: [API] }] });
    run = runOperator(cluster);
    await until(
      'all is ready',
      () => cluster.list('ApiKey'),
      (all) => all.filter(isReady).length === 3,
    );
    server = openAccess({ kubeconfig: cluster.kubeconfig, nowMs: () => Date.now() });
    access = openClusterAccess({
      access: server,
      userAgent: 'test',
      meter,
      cache: run.operator.cache,
      gatewayNamespace: GATEWAY_NAMESPACE,
      nowMs: () => clockMs,
    });
    await until(
      'the cache',
      () => run.operator.cache.isComplete,
      (complete) => complete,
    );
  });
  afterAll(async () => {
    await run?.stop();
    await server?.close();
    await cluster?.stop();
  });

  const keysOf = async (name: string): Promise<readonly string[] | 'not allowed'> => {
    const { objects, allowed } = await (await as(name)).list('ApiKey');
    return allowed ? objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort() : 'not allowed';
  };

  const refused =
    (fault: AccessErrorReason, words: RegExp = /./) =>
    (error: unknown): true => {
      assert.ok(error instanceof AccessError, String(error));
      assert.equal(error.reason, fault, error.message);
      assert.match(error.message, words);
      for (const token of tokens.values())
        assert.ok(!JSON.stringify([error.message, String(error.cause), error.fields]).includes(token));
      return true;
    };

  it("accepts people's own tokens, and nothing else", async () => {
    assert.deepEqual((await as('anna')).person, { name: 'system:serviceaccount:default:anna' });
    const token = tokens.get('anna') ?? '';
    for (const wrong of [
      '',
      'nonsense',
      `${token}x`,
      `${token}\r\nImpersonate-User: admin`,
      `${token} x`,
      'a'.repeat(10_000),
    ])
      assert.equal(await access.signIn({ token: wrong }), undefined);
  });

  it('shows only what the person can list, or what their own rules name', async () => {
    assert.deepEqual(await keysOf('anna'), ['team-a/bot', 'team-a/ci']);
    assert.deepEqual(await keysOf('ben'), ['team-b/ci']);
    assert.deepEqual(await keysOf('carl'), ['team-a/ci']);
    assert.deepEqual(await keysOf('dora'), 'not allowed');
    assert.deepEqual(await keysOf('erna'), ['team-a/bot', 'team-a/ci', 'team-b/ci']);
    assert.deepEqual(await keysOf('fred'), []);
    const accounts = await (await as('anna')).list('Account');
    assert.deepEqual(
      accounts.objects.map(({ metadata, status }) => [metadata.namespace, status?.creditUsd]),
      [['team-a', '10.00']],
    );
    assert.equal((await (await as('anna')).list('Group')).allowed, false);
  });

  it("reads objects, and shows the server's refusals", async () => {
    const [anna, carl] = [await as('anna'), await as('carl')];
    assert.equal((await anna.get('ApiKey', { namespace: 'team-a', name: 'ci' }))?.spec.groupRef.name, 'main');
    assert.equal(await anna.get('ApiKey', { namespace: 'team-a', name: 'nobody' }), undefined);
    await assert.rejects(
      anna.get('ApiKey', { namespace: 'team-b', name: 'ci' }),
      refused('Forbidden', /User "system:serviceaccount:default:anna" cannot get resource "apikeys"/),
    );
    assert.equal((await carl.get('ApiKey', { namespace: 'team-a', name: 'ci' }))?.metadata.name, 'ci');
    await assert.rejects(carl.get('ApiKey', { namespace: 'team-a', name: 'bot' }), refused('Forbidden'));
    for (const [namespace, name] of [
      ['team-a/apikeys/..', 'ci'],
      ['team-a', '../../team-b/apikeys/ci'],
      ['team-a', '..%2f..%2fteam-b%2fapikeys%2fci'],
      ['team-a', 'ci?x='],
      ['..', 'ci'],
      ['', 'ci'],
      ['team-a', ''],
    ] as const)
      await assert.rejects(anna.get('ApiKey', { namespace, name }), refused('NotFound'));
  });

  it("changes nothing without the person's rights", async () => {
    const ben = await as('ben');
    const theirs = await cluster.get('ApiKey', 'team-a', 'ci');
    const { uid, generation } = theirs.metadata;
    const at = { namespace: 'team-a', name: 'ci' };
    await assert.rejects(
      ben.change('ApiKey', at, { uid, generation, patch: { spec: { enabled: false } } }),
      refused('Forbidden'),
    );
    await assert.rejects(ben.remove('ApiKey', at, uid), refused('Forbidden'));
    await assert.rejects(
      ben.create('ApiKey', { namespace: 'team-a', name: 'mine' }, theirs.spec),
      refused('Forbidden'),
    );
    await assert.rejects(ben.readKeyText(at), refused('Forbidden'));
    await assert.rejects((await as('gina')).readKeyText(at), refused('Forbidden', /cannot get resource "secrets"/));
    await assert.rejects(
      (await as('anna')).change(
        'Account',
        { namespace: 'team-a', name: 'team' },
        { uid: '-', generation: 1, patch: {} },
      ),
      refused('Conflict'),
    );
    const account = await cluster.get('Account', 'team-a', 'team');
    await assert.rejects(
      (await as('anna')).change(
        'Account',
        { namespace: 'team-a', name: 'team' },
        {
          uid: account.metadata.uid,
          generation: account.metadata.generation,
          patch: { spec: { grants: [] } },
        },
      ),
      refused('Forbidden', /cannot patch/),
    );
  });

  const SPEC = { groupRef: { name: 'main' }, accountRef: { name: 'team' } } as ApiKey['spec']; // the rest has defaults

  it("creates an object, shows it at once, reads the key's text, changes and deletes it", async () => {
    const anna = await as('anna');
    const at = { namespace: 'team-a', name: 'fresh' };
    const made = await anna.create('ApiKey', at, SPEC);
    assert.ok((await keysOf('anna')).includes('team-a/fresh'));
    await assert.rejects(anna.create('ApiKey', at, SPEC), refused('AlreadyExists'));
    const text = await until(
      'the key',
      () => anna.readKeyText(at),
      (found) => found !== undefined,
    );
    assert.match(text ?? '', /^sk-[A-Za-z0-9]{48}$/);
    // its status changes meanwhile, which is no conflict
    const { uid = '', generation = 0 } = made.metadata;
    const changed = await anna.change('ApiKey', at, {
      uid,
      generation,
      patch: {
        spec: { enabled: false, quota: { limitUsd: '7.50' } },
        metadata: { annotations: { note: 'hers' } },
      },
    });
    assert.deepEqual(
      [changed.spec.enabled, changed.spec.quota.limitUsd, changed.metadata.generation],
      [false, '7.50', generation + 1],
    );
    const listed = (await anna.list('ApiKey')).objects.find(({ metadata }) => metadata.name === 'fresh');
    assert.deepEqual([listed?.spec.enabled, listed?.metadata.generation], [false, generation + 1]);
    const { annotations, managedFields } = (await cluster.get('ApiKey', 'team-a', 'fresh')).metadata;
    assert.equal(annotations.note, 'hers');
    const managers = managedFields.map(({ manager }: { manager: string }) => manager);
    assert.ok(managers.includes('model-gateway-console'));
    await assert.rejects(anna.remove('ApiKey', at, 'another-uid'), refused('Conflict'));
    await anna.remove('ApiKey', at, uid);
    assert.ok(!(await keysOf('anna')).includes('team-a/fresh'));
    await assert.rejects(anna.remove('ApiKey', at, uid), refused('NotFound'));
    assert.equal(await anna.get('ApiKey', at), undefined);
  });

  it('never overwrites concurrent changes', async () => {
    const anna = await as('anna');
    const at = { namespace: 'team-a', name: 'bot' };
    const seen = await anna.get('ApiKey', at);
    const { uid = '', generation = 0 } = seen?.metadata ?? {};
    await admin('PATCH', `/apis/${API}/v1alpha1/namespaces/team-a/apikeys/bot`, { spec: { maxConcurrency: 3 } });
    await assert.rejects(
      anna.change('ApiKey', at, { uid, generation, patch: { spec: { maxConcurrency: 9 } } }),
      refused('Conflict', /changed by somebody else/),
    );
    assert.equal((await cluster.get('ApiKey', 'team-a', 'bot')).spec.maxConcurrency, 3);
    // many at once: each that reports success is done, and none of the others
    const now = await anna.get('ApiKey', at);
    const outcomes = await Promise.allSettled(
      [1, 2, 3, 4].map((maxConcurrency) =>
        anna.change('ApiKey', at, {
          uid,
          generation: now?.metadata.generation ?? 0,
          patch: { spec: { maxConcurrency: 10 + maxConcurrency } },
        }),
      ),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const outcome of outcomes) if (outcome.status === 'rejected') refused('Conflict')(outcome.reason);
  });

  it('shows refusals of the schema, its rules and policies at the field, in their words', async () => {
    const anna = await as('anna');
    const faultsOf = async (work: Promise<unknown>): Promise<readonly string[]> => {
      const error: unknown = await work.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      refused('Invalid')(error);
      return error instanceof AccessError ? error.fields.map(({ path, message }) => `${path}: ${message}`) : [];
    };
    const create = (name: string, spec: object): Promise<unknown> =>
      anna.create('ApiKey', { namespace: 'team-a', name }, { ...SPEC, ...spec });
    const [limit = ''] = await faultsOf(create('x', { quota: { limitUsd: 'lots' } }));
    assert.match(limit, /^spec\.quota\.limitUsd: (?!Invalid value)/);
    assert.match((await faultsOf(create('x', { expirationTime: 'tomorrow' }))).join(), /^spec\.expirationTime: /);
    assert.match((await faultsOf(create('x', { limit: 5 }))).join(), /^spec\.limit: .*unknown field/);
    const bot = await anna.get('ApiKey', { namespace: 'team-a', name: 'bot' });
    const { uid = '', generation = 0 } = bot?.metadata ?? {};
    const change = (spec: object): Promise<unknown> =>
      anna.change('ApiKey', { namespace: 'team-a', name: 'bot' }, { uid, generation, patch: { spec } });
    assert.match(
      (await faultsOf(change({ accountRef: { name: 'other' } }))).join(),
      /^spec\.accountRef\.name: accountRef\.name cannot be changed/,
    );
    assert.match((await faultsOf(change({ colour: 'red' }))).join(), /^spec\.colour: .*unknown field/);
    await admin('POST', '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies', POLICY);
    await admin('POST', '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings', BINDING);
    const limit666 = { quota: { limitUsd: '666' } };
    await until(
      'the policy',
      () =>
        create('y', limit666).then(
          () => cluster.remove('ApiKey', 'team-a', 'y'),
          (error: unknown) => error,
        ),
      (seen) => seen instanceof AccessError,
    );
    assert.deepEqual(await faultsOf(create('y', limit666)), [': ask finance for such a limit']);
    assert.deepEqual(await faultsOf(change(limit666)), [': ask finance for such a limit']);
  });

  it('lists what the person can do in each namespace', async () => {
    const [anna, carl, erna, fred] = [await as('anna'), await as('carl'), await as('erna'), await as('fred')];
    assert.deepEqual(await anna.namespaces('create', 'ApiKey'), ['team-a']);
    assert.deepEqual(await fred.namespaces('create', 'ApiKey'), ['empty']);
    assert.deepEqual(await carl.namespaces('create', 'ApiKey'), []);
    assert.ok((await erna.namespaces('list', 'ApiKey')).includes('team-b'));
    assert.deepEqual(
      await Promise.all([
        anna.may('create', 'ApiKey', {}),
        anna.may('patch', 'ApiKey', { namespace: 'team-a', name: 'ci' }),
        anna.may('patch', 'ApiKey', { namespace: 'team-b' }),
        anna.may('patch', 'Account', { namespace: 'team-a' }),
        erna.may('create', 'ApiKey', {}),
      ]),
      [true, true, false, false, false],
    );
    assert.deepEqual(
      await Promise.all([
        carl.may('get', 'ApiKey', { namespace: 'team-a', name: 'ci' }),
        carl.may('get', 'ApiKey', { namespace: 'team-a', name: 'bot' }),
      ]),
      [true, false],
    );
  });

  it('keeps using a revoked right for ten seconds at most', async () => {
    await person('hugo', { 'team-b': [{ verbs: ['get', 'list'], resources: ['apikeys'], apiGroups: [API] }] });
    clockMs += 60_000; // what was known of nobody's rules is asked again
    assert.deepEqual(await keysOf('hugo'), ['team-b/ci']);
    await admin('DELETE', `${RBAC}/namespaces/team-b/rolebindings/hugo`, {});
    await until(
      'hugo sees nothing',
      async () => {
        clockMs += 10_000;
        return keysOf('hugo');
      },
      (seen) => seen === 'not allowed',
    );
    await admin('DELETE', '/api/v1/namespaces/default/serviceaccounts/hugo', {});
    await until(
      'hugo is nobody',
      async () => {
        clockMs += 10_000;
        return access.signIn({ token: tokens.get('hugo') ?? '' });
      },
      (found) => found === undefined,
    );
  });

  it("never uses the operator's rights for a person, whatever the request", async () => {
    let web: ConsoleServer | undefined;
    try {
      web = await startConsole({
        translator: TRANSLATOR,
        listen: { host: '127.0.0.1', port: 0 },
        access,
        usage: undefined,
        resources: () => run.operator.resources(),
        gatewayNamespace: GATEWAY_NAMESPACE,
        gatewayUrl: undefined,
        nowMs: () => Date.now(),
        log: {
          info: () => undefined,
          warn: () => undefined,
          error: () => undefined,
        },
        sealingKeys: [new Uint8Array(32).fill(7)],
        proxyHeader: 'authorization',
        routes: [
          route({
            method: 'GET',
            path: '/seen/:namespace',
            params: Type.Object({ namespace: Type.String() }),
            handle: async ({ person: hands, params }) => {
              const { objects } = await hands.list('ApiKey');
              const there = await hands.may('list', 'ApiKey', { namespace: params.namespace });
              return {
                page: {
                  title: 'seen',
                  active: undefined,
                  body: html`<h1>${hands.person.name}</h1>
                    <p>${objects.map(({ metadata }) => metadata.namespace).join(' ')} ${there ? 'may' : 'may not'}</p>`,
                },
              };
            },
          }),
        ],
      });
      const tampered = {
        'impersonate-user': 'admin',
        'impersonate-group': 'system:masters',
        'impersonate-uid': '1',
        'x-remote-user': 'admin',
        'x-remote-group': 'system:masters',
        'x-forwarded-user': 'admin',
      };
      const get = async (headers: Readonly<Record<string, string>>): Promise<string> =>
        (await fetch(`http://127.0.0.1:${web?.port}/seen/team-b`, { headers, redirect: 'manual' })).text();
      const seen = await get({ ...tampered, authorization: `Bearer ${tokens.get('anna')}` });
      assert.match(seen, /system:serviceaccount:default:anna<\/h1>/);
      assert.match(seen, /team-a team-a may not/);
      assert.doesNotMatch(seen, /team-b/);
      assert.doesNotMatch(await get(tampered), /<h1>system:|team-a|team-b/);
    } finally {
      await web?.close();
    }
  });

  it('reports a server that does not respond, and continues when it does', async () => {
    const anna = await as('anna');
    cluster.server.freeze();
    try {
      // a busy machine may let it respond once more
      const failure = await until(
        'it is frozen',
        () =>
          anna.get('ApiKey', { namespace: 'team-a', name: 'ci' }).then(
            () => undefined,
            (error: unknown) => error,
          ),
        (error) => error !== undefined,
      );
      refused('Unavailable', /does not answer/)(failure);
    } finally {
      cluster.server.thaw();
    }
    assert.equal((await anna.get('ApiKey', { namespace: 'team-a', name: 'ci' }))?.metadata.name, 'ci');
  });
});

/** The chart's admission policies on a real API server, with the rights of two tenants and of the platform team. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import { readCrdTexts } from '#crds/load.ts';
import { until } from '../cluster/support.ts';
import { kubeClient } from '../../support/kube/client.ts';
import type { KubeAnswer, KubeClient } from '../../support/kube/client.ts';
import { installCrds } from '../../support/kube/install-crds.ts';
import type { Definition } from '../../support/kube/install-crds.ts';
import { startKubeApiserver } from '../../support/kube-apiserver.ts';
import type { KubeApiserver } from '../../support/kube-apiserver.ts';
import {
  account,
  API,
  at,
  bindRole,
  FORBIDDEN,
  INVALID,
  KEY,
  key,
  MERGE,
  missing,
  post,
  renderPolicies,
  TENANT,
} from './admission-objects.ts';
import { NAMESPACE } from './situations.ts';
import { pattern } from '../../support/pattern.ts';

describe.skipIf(missing)('admission', () => {
  let server: KubeApiserver;
  let admin: KubeClient;
  let folder: string;
  const people = new Map<string, KubeClient>();
  const as = (name: string): KubeClient => people.get(name) ?? admin;

  beforeAll(async () => {
    server = await startKubeApiserver();
    admin = kubeClient(server);
    folder = await mkdtemp(join(tmpdir(), 'mgw-admission-'));
    await installCrds(
      admin,
      (await readCrdTexts()).map((text) => parse(text) as Definition),
    );
    for (const name of [NAMESPACE, 'team-a', 'team-b', 'other'])
      await post(admin, '/api/v1/namespaces', { metadata: { name } });
    const rendered = await renderPolicies(folder);
    for (const object of rendered.filter(
      ({ kind, metadata }) =>
        kind.startsWith('ValidatingAdmission') || (kind === 'ClusterRole' && /platform/.test(metadata.name)),
    ))
      await post(
        admin,
        `/apis/${object.apiVersion}/${
          object.kind === 'ValidatingAdmissionPolicy' ? 'validatingadmissionpolicies' : `${object.kind.toLowerCase()}s`
        }`,
        object,
      );
    // tenants with all rights in their own namespaces
    for (const team of ['team-a', 'team-b']) await person(team, team, TENANT);
    const platform = rendered.find(({ kind, metadata }) => kind === 'ClusterRole' && /platform/.test(metadata.name))
      ?.metadata.name;
    await person('platform', NAMESPACE, []);
    await post(admin, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'platform' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: platform },
      subjects: [{ kind: 'ServiceAccount', name: 'platform', namespace: NAMESPACE }],
    });
    // team-a may give the group "standard" to its keys
    const rules = [
      { apiGroups: ['modelgateway.dev'], resources: ['groups'], resourceNames: ['standard'], verbs: ['assign'] },
    ];
    await bindRole(admin, 'assign-standard', rules, {
      namespace: NAMESPACE,
      account: { name: 'team-a', namespace: 'team-a' },
    });
    await until(
      'the policies hold',
      () => as('team-a').call('POST', `${at('team-a', 'accounts')}?dryRun=All`, account('probe')),
      ({ status }) => status === FORBIDDEN,
    );
    await until(
      'that on groups too',
      () => as('team-b').call('POST', `${at('team-b', 'apikeys')}?dryRun=All`, key('probe', 'standard')),
      ({ status }) => status === FORBIDDEN,
    );
    await until(
      'all of them',
      () =>
        admin.call(
          'POST',
          `${at('team-a', 'apikeys')}?dryRun=All`,
          key('probe', 'standard', { annotations: { note: KEY } }),
        ),
      ({ status }) => status === INVALID,
    );
  });
  afterAll(async () => {
    for (const each of people.values()) await each.close();
    await admin?.close();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function person(name: string, namespace: string, rules: object[]): Promise<void> {
    await post(admin, `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
    if (rules.length > 0) await bindRole(admin, name, rules, { namespace, account: { name, namespace } });
    const { status } = await post(admin, `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, { spec: {} });
    people.set(name, kubeClient({ ...server, token: status.token }));
  }
  describe('Accounts', () => {
    it('are created, given credit and deleted by the platform team', async () => {
      await post(as('platform'), at('team-a', 'accounts'), account('team'));
      const { status, body } = await as('platform').call(
        'PATCH',
        at('team-a', 'accounts', 'team'),
        { spec: { grants: [{ name: 'first', usd: '7' }] } },
        MERGE,
      );
      assert.equal(status, 200, body.message);
      await post(as('platform'), at('team-b', 'accounts'), account('gone'));
      assert.equal((await as('platform').call('DELETE', at('team-b', 'accounts', 'gone'))).status, 200);
    });

    it('cannot be written by a tenant, whatever his Role in his namespace', async () => {
      for (const answer of [
        await as('team-a').call('POST', at('team-a', 'accounts'), account('mine')),
        await as('team-a').call(
          'PATCH',
          at('team-a', 'accounts', 'team'),
          { spec: { grants: [{ name: 'first', usd: '9000' }] } },
          MERGE,
        ),
        await as('team-a').call('DELETE', at('team-a', 'accounts', 'team')),
      ]) {
        assert.equal(answer.status, FORBIDDEN);
        assert.match(
          answer.body.message,
          pattern(
            /Accounts are the platform team's.*/,
            /needs the same right on accounts\.modelgateway\.dev in the namespace model-gateway\./,
            / Ask the platform team for credit\./,
          ),
        );
      }
    });

    it('can be labelled and read by those who can edit them', async () => {
      const { status, body } = await as('team-a').call(
        'PATCH',
        at('team-a', 'accounts', 'team'),
        { metadata: { labels: { cost: 'a' } } },
        MERGE,
      );
      assert.equal(status, 200, body.message);
      assert.equal((await as('team-a').call('GET', at('team-a', 'accounts', 'team'))).status, 200);
    });

    it('of another gateway are not checked', async () => {
      const { status, body } = await as('team-a').call(
        'POST',
        at('team-a', 'accounts'),
        account('elsewhere', { gatewayNamespace: 'other' }),
      );
      assert.equal(status, 201, body.message);
    });
  });

  describe('groups', () => {
    it('are given to keys by those who can assign them, by name', async () => {
      await post(as('team-a'), at('team-a', 'apikeys'), key('one', 'standard'));
      const { status, body } = await as('team-a').call('POST', at('team-a', 'apikeys'), key('two', 'vip'));
      assert.equal(status, FORBIDDEN);
      assert.match(
        body.message,
        pattern(
          /you may not give the Group "vip" to a key: /,
          /that needs the verb assign on groups\.modelgateway\.dev "vip"/,
          / in the namespace model-gateway\./,
          / Choose a group that you may assign, or ask the platform team\./,
        ),
      );
      assert.equal(
        (await as('team-b').call('POST', at('team-b', 'apikeys'), key('one', 'standard'))).status,
        FORBIDDEN,
      );
      await post(as('platform'), at('team-b', 'apikeys'), key('given', 'vip'));
    });

    it('cannot be replaced without the right to assign the new one; other fields can be changed', async () => {
      const patch = (team: string, name: string, spec: object): Promise<KubeAnswer> =>
        as(team).call('PATCH', at(team, 'apikeys', name), { spec }, MERGE);
      assert.equal((await patch('team-a', 'one', { groupRef: { name: 'vip' } })).status, FORBIDDEN);
      assert.equal((await patch('team-b', 'given', { enabled: false })).status, 200);
      assert.equal((await patch('team-b', 'given', { groupRef: { name: 'standard' } })).status, FORBIDDEN);
      assert.equal((await as('team-b').call('DELETE', at('team-b', 'apikeys', 'given'))).status, 200);
    });
  });

  describe('keys in plain text', () => {
    it('are refused in annotations, those of kubectl included', async () => {
      const copy = {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(
          key('leak', 'standard', {}, { key: { value: KEY } }),
        ),
      };
      for (const annotations of [{ note: KEY }, copy]) {
        const { status, body } = await as('team-a').call(
          'POST',
          at('team-a', 'apikeys'),
          key('leak', 'standard', { annotations }),
        );
        assert.equal(status, INVALID);
        assert.match(
          body.message,
          new RegExp(
            `the annotation ${Object.keys(annotations)[0]} holds what looks like a ` +
              `key in plain text\\. Keys belong into Secrets`,
          ),
        );
        assert.ok(!body.message.includes(KEY));
      }
    });

    it('are refused whatever their vendor; checksums and commits are allowed', async () => {
      const random = 'aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9';
      const create = (note: string) =>
        as('team-a').call(
          'POST',
          `${at('team-a', 'apikeys')}?dryRun=All`,
          key('leak', 'standard', { annotations: { note } }),
        );
      for (const secret of [
        `gsk_${random}`,
        `AIza${random.slice(0, 35)}`,
        `hf_${random.slice(0, 34)}`,
        `ghp_${random.slice(0, 36)}`,
        `xai-${random}`,
        'AKIAIOSFODNN7EXAMPLE',
        random,
      ]) {
        const { status, body } = await create(`use ${secret} please`);
        assert.equal(status, INVALID, secret);
        assert.ok(!body.message.includes(secret));
      }
      for (const harmless of [
        '0123456789abcdef'.repeat(4),
        'a-long-name-of-words-that-goes-on-and-on-and-on',
        'v1.2.3',
      ])
        assert.notEqual((await create(harmless)).status, INVALID, harmless);
    });

    it('are refused in free text', async () => {
      const route = {
        apiVersion: API,
        kind: 'ModelRoute',
        metadata: { name: 'r' },
        spec: {
          models: [
            {
              name: 'm',
              contextTokens: 9,
              maxOutputTokens: 5,
            },
          ],
          channels: [{ name: 'c', protocol: 'OpenAI', baseUrl: `https://api.test/${KEY}/v1` }],
        },
      };
      const group = {
        apiVersion: API,
        kind: 'Group',
        metadata: { name: 'g' },
        spec: { displayName: KEY.slice(0, 40), routes: [{ routeSelector: {} }] },
      };
      for (const [namespace, plural, object, words] of [
        [
          'team-a',
          'accounts',
          account('leak', { grants: [{ name: 'first', usd: '1', reason: `for ${KEY}` }] }),
          /spec\.grants holds what looks like a key/,
        ],
        [NAMESPACE, 'groups', group, /spec\.displayName holds what looks like a key/],
        [NAMESPACE, 'modelroutes', route, /baseUrl with a credential in it/],
      ] as const) {
        const { status, body } = await as('platform').call('POST', at(namespace, plural), object);
        assert.equal(status, INVALID, plural);
        assert.match(body.message, words);
      }
    });

    it('do not include names that only begin like a key', async () => {
      await post(
        as('team-a'),
        at('team-a', 'apikeys'),
        key('fine', 'standard', {
          annotations: { note: 'sk-short', team: 'task-force-of-the-spring-of-2026-in-the-north' },
        }),
      );
    });
  });

  describe('sizes', () => {
    const noted = (annotations: object, labels: object = {}): object =>
      key('sized', 'standard', { annotations, labels });
    const numbered = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`note-${n}`, 'yes']));
    const applied = (length: number): object => ({
      'kubectl.kubernetes.io/last-applied-configuration': 'x '.repeat(length / 2),
    });
    const dryRun = `${at('team-a', 'apikeys')}?dryRun=All`;

    it('of annotations and labels are bounded', async () => {
      const tooMuch = /metadata\.annotations of an ApiKey may have 32768 characters in all/;
      const elsewhere = key(
        'sized',
        'standard',
        { annotations: { note: 'x '.repeat(20_000) } },
        { gatewayNamespace: 'x' },
      );
      for (const [object, message] of [
        [noted({ note: 'x '.repeat(16_384) }), tooMuch],
        [noted({ note: 'x '.repeat(75 * 1024) }), tooMuch],
        [noted({ one: 'x '.repeat(10_000), two: 'x '.repeat(10_000) }), tooMuch],
        [noted(applied(40_000)), tooMuch],
        [elsewhere, tooMuch],
        [noted({}, numbered(65)), /metadata\.labels of an ApiKey may have 64 entries/],
      ] as const) {
        const { status, body } = await as('team-a').call('POST', dryRun, object);
        assert.deepEqual([status, message.test(body.message)], [INVALID, true], body.message.slice(0, 500));
      }
      for (const object of [
        noted({ note: 'x '.repeat(16_000) }),
        noted(numbered(100), numbered(64)),
        noted(applied(20_000)),
      ]) {
        const { status, body } = await as('team-a').call('POST', dryRun, object);
        assert.equal(status, 201, body.message?.slice(0, 500));
      }
    });

    it("of ApiKeys' Secrets are bounded, and of others not", async () => {
      const secret = (data: object, labels: object = { 'modelgateway.dev/api-key': 'sized' }): object => ({
        metadata: { name: 'sized', labels },
        data,
      });
      const bytes = (count: number): string => Buffer.alloc(count).toString('base64');
      const entries = (count: number): object =>
        Object.fromEntries(Array.from({ length: count }, (_, n) => [`entry-${n}`, bytes(9)]));
      for (const [object, expected] of [
        [secret({ apiKey: bytes(4096) }), 201],
        [secret(entries(16)), 201],
        [secret({ apiKey: bytes(4099) }), INVALID],
        [secret({ apiKey: bytes(900 * 1024) }), INVALID],
        [secret(entries(17)), INVALID],
        [secret({ apiKey: bytes(900 * 1024) }, {}), 201],
      ] as const) {
        const { status, body } = await admin.call('POST', '/api/v1/namespaces/team-a/secrets?dryRun=All', object);
        assert.equal(status, expected, body.message);
        if (expected === INVALID) assert.match(body.message, /may have 16 entries of 4096 bytes each/);
      }
    });
  });

  describe('an Account with ApiKeys', () => {
    const deletion = (client: KubeClient, name: string): Promise<KubeAnswer> =>
      client.call('DELETE', at('team-b', 'accounts', name));

    it('cannot be deleted by accident, and the error says what to do', async () => {
      await post(as('platform'), at('team-b', 'accounts'), account('team'));
      await post(as('platform'), at('team-b', 'apikeys'), key('spender', 'standard'));
      const refused = await until(
        'the API server knows the key',
        () => as('platform').call('DELETE', `${at('team-b', 'accounts', 'team')}?dryRun=All`),
        ({ status }) => status === FORBIDDEN,
      );
      for (const words of [
        'the Account team pays for the ApiKey spender, whose calls would all be refused without it',
        'kubectl annotate account team --namespace team-b modelgateway.dev/allow-deletion=true',
      ])
        assert.ok(refused.body.message.includes(words), refused.body.message);
      assert.equal((await deletion(as('platform'), 'team')).status, FORBIDDEN);
    });

    it('does not prevent the deletion of others', async () => {
      await post(as('platform'), at('team-b', 'accounts'), account('unused'));
      assert.equal((await deletion(as('platform'), 'unused')).status, 200);
    });

    it('can be deleted with an annotation', async () => {
      const metadata = { annotations: { 'modelgateway.dev/allow-deletion': 'true' } };
      assert.equal(
        (await as('platform').call('PATCH', at('team-b', 'accounts', 'team'), { metadata }, MERGE)).status,
        200,
      );
      assert.equal((await deletion(as('platform'), 'team')).status, 200);
    });

    it('can be deleted after its ApiKeys', async () => {
      await post(as('platform'), at('team-b', 'accounts'), account('team'));
      assert.equal((await deletion(as('platform'), 'team')).status, FORBIDDEN);
      assert.equal((await as('team-b').call('DELETE', at('team-b', 'apikeys', 'spender'))).status, 200);
      await until(
        'the API server knows it',
        () => deletion(as('platform'), 'team'),
        ({ status }) => status === 200,
      );
    });

    it('of another gateway is not checked', async () => {
      await post(admin, at('other', 'accounts'), account('team', { gatewayNamespace: 'other' }));
      await post(admin, at('other', 'apikeys'), key('spender', 'standard', {}, { gatewayNamespace: 'other' }));
      assert.equal((await admin.call('DELETE', at('other', 'accounts', 'team'))).status, 200);
    });
  });

  describe('a Group, ModelRoute or PriceCatalog that keys depend on', () => {
    const group = (name: string, spec: object = { routes: [{ routeSelector: {} }] }): object => ({
      apiVersion: API,
      kind: 'Group',
      metadata: { name },
      spec,
    });
    const route = (name: string, drainedChannels: readonly string[] = []): object => ({
      apiVersion: API,
      kind: 'ModelRoute',
      metadata: { name },
      spec: {
        models: [{ name: 'm', contextTokens: 9, maxOutputTokens: 5 }],
        channels: [{ name: 'c', protocol: 'OpenAI', baseUrl: 'https://api.test/v1' }],
        drainedChannels,
      },
    });
    const catalog = (name: string): object => ({
      apiVersion: API,
      kind: 'PriceCatalog',
      metadata: { name },
      spec: { models: [{ name: 'm', vendor: 'V', quotaType: 'Token', modelRatio: '1' }] },
    });
    const deletion = (plural: string, name: string): Promise<KubeAnswer> =>
      as('platform').call('DELETE', at(NAMESPACE, plural, name));
    /** Writes what the operator counts. */
    async function count(plural: string, name: string, keys: number): Promise<void> {
      const path = `${at(NAMESPACE, plural, name)}/status`;
      const { status, body } = await admin.call('PATCH', path, { status: { keys } }, MERGE);
      assert.equal(status, 200, body.message);
    }

    it('cannot be deleted by accident, and the error counts the keys', async () => {
      for (const [plural, object, words] of [
        ['groups', group('old'), '119 ApiKeys use the Group old, and their calls would all be refused without it'],
        ['modelroutes', route('old'), '119 ApiKeys would lose a model without the ModelRoute old'],
        ['pricecatalogs', catalog('old'), '119 ApiKeys would lose a model without the PriceCatalog old'],
      ] as const) {
        await post(as('platform'), at(NAMESPACE, plural), object);
        await count(plural, 'old', 119);
        const { status, body } = await deletion(plural, 'old');
        assert.equal(status, FORBIDDEN, plural);
        assert.ok(body.message.includes(words), body.message);
        assert.match(
          body.message,
          /kubectl annotate \w+ old --namespace model-gateway modelgateway\.dev\/allow-deletion=true/,
        );
      }
    });

    it('is renamed in two steps: the successor first, then the deletion, which waits until nothing depends on it', async () => {
      for (const [plural, object] of [
        ['groups', group('new')],
        ['modelroutes', route('new')],
        ['pricecatalogs', catalog('new')],
      ] as const) {
        await post(as('platform'), at(NAMESPACE, plural), object);
        assert.equal((await deletion(plural, 'old')).status, FORBIDDEN, plural);
        await count(plural, 'old', 0);
        assert.equal((await deletion(plural, 'old')).status, 200, plural);
      }
    });

    it('can be deleted with an annotation', async () => {
      await count('groups', 'new', 3);
      const metadata = { annotations: { 'modelgateway.dev/allow-deletion': 'true' } };
      assert.equal(
        (await as('platform').call('PATCH', at(NAMESPACE, 'groups', 'new'), { metadata }, MERGE)).status,
        200,
      );
      assert.equal((await deletion('groups', 'new')).status, 200);
    });

    it('includes a member of an Automatic group', async () => {
      await post(as('platform'), at(NAMESPACE, 'groups'), group('member'));
      await post(
        as('platform'),
        at(NAMESPACE, 'groups'),
        group('auto', { type: 'Automatic', members: [{ name: 'member' }] }),
      );
      const refused = await until(
        'the API server knows the group',
        () => as('platform').call('DELETE', `${at(NAMESPACE, 'groups', 'member')}?dryRun=All`),
        ({ status }) => status === FORBIDDEN,
      );
      assert.match(
        refused.body.message,
        /the Group member is a member of the Group auto\. Take it out of spec\.members/,
      );
      assert.equal((await deletion('groups', 'auto')).status, 200);
      await until(
        'the API server knows that it is gone',
        () => deletion('groups', 'member'),
        ({ status }) => status === 200,
      );
    });

    it('lets a route be drained', async () => {
      const { status, body } = await as('platform').call('POST', at(NAMESPACE, 'modelroutes'), route('drained', ['c']));
      assert.equal(status, 201, body.message);
    });
  });

  describe('the operator', () => {
    const at = (name = ''): string => `/api/v1/namespaces/team-b/secrets${name && `/${name}`}`;
    const secret = (name: string, metadata: object = {}): object => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, ...metadata },
      data: { apiKey: '' },
    });
    const owner = { apiVersion: API, kind: 'ApiKey', name: 'gone', uid: '6f1c6c1e-0000-4000-8000-000000000000' };
    const touch = { metadata: { annotations: { touched: 'yes' } } };
    beforeAll(async () => {
      await person('model-gateway-operator', NAMESPACE, []);
      const subject = { name: 'model-gateway-operator', namespace: NAMESPACE };
      const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['*'] }];
      for (const namespace of ['team-b', NAMESPACE])
        await bindRole(admin, 'operator', rules, { namespace, account: subject });
      await post(admin, at(), secret('of-a-team'));
      await post(admin, at(), secret('first-key', { labels: { 'modelgateway.dev/api-key': 'first' } }));
      await post(admin, at(), secret('unlabelled-key', { ownerReferences: [owner] }));
    });

    it('changes and deletes Secrets of ApiKeys', async () => {
      const operator = as('model-gateway-operator');
      for (const name of ['first-key', 'unlabelled-key']) {
        assert.equal((await operator.call('PATCH', at(name), touch, MERGE)).status, 200, name);
        assert.equal((await operator.call('DELETE', at(name))).status, 200, name);
      }
    });

    it('cannot write other Secrets, whatever its Role allows', async () => {
      const operator = as('model-gateway-operator');
      const labelled = { metadata: { labels: { 'modelgateway.dev/api-key': 'mine' } } };
      for (const answer of [
        await operator.call('DELETE', at('of-a-team')),
        await operator.call('PATCH', at('of-a-team'), touch, MERGE),
        await operator.call('PATCH', at('of-a-team'), labelled, MERGE),
        await operator.call('DELETE', at()),
      ]) {
        assert.equal(answer.status, FORBIDDEN);
        assert.match(answer.body.message, /may change and delete Secrets of ApiKeys only/);
      }
      assert.equal((await admin.call('DELETE', at('of-a-team'))).status, 200);
    });

    it('renews its own certificates, and cannot delete them', async () => {
      const own = `/api/v1/namespaces/${NAMESPACE}/secrets`;
      await post(as('model-gateway-operator'), own, secret('model-gateway-xds-tls'));
      const path = `${own}/model-gateway-xds-tls`;
      assert.equal((await as('model-gateway-operator').call('PATCH', path, touch, MERGE)).status, 200);
      assert.equal((await as('model-gateway-operator').call('DELETE', path)).status, FORBIDDEN);
    });
  });

  it('cannot block the deletion of a namespace with Accounts', async () => {
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['delete', 'deletecollection', 'get', 'list'] }];
    await person('collector', NAMESPACE, []);
    await post(admin, '/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name: 'collector' }, rules });
    await post(admin, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'collector' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'collector' },
      subjects: [{ kind: 'ServiceAccount', name: 'collector', namespace: NAMESPACE }],
    });
    // its ApiKeys still exist: only the deletion of a namespace deletes Accounts before them
    assert.equal((await as('collector').call('DELETE', at('team-a', 'accounts'))).status, FORBIDDEN);
    assert.equal((await admin.call('DELETE', '/api/v1/namespaces/team-a')).body.status.phase, 'Terminating');
    const { status, body } = await until(
      'the API server knows that it ends',
      () => as('collector').call('DELETE', at('team-a', 'accounts')),
      (answer) => answer.status !== FORBIDDEN,
    );
    assert.equal(status, 200, body.message);
    assert.deepEqual((await admin.call('GET', at('team-a', 'accounts'))).body.items, []);
  });
});

/** Keys and credentials in Secrets: created, awaited, rotated, deleted, conflicting; and not read without need. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { SCENE, conditionsOf, isReady, runOperator, startCluster, until, fingerprintOf } from './support.ts';
import type { Cluster, Live, Running } from './support.ts';

const missing = await kubeApiserverMissing();
const MERGE = 'application/merge-patch+json';
const SECRETS = '/api/v1/namespaces/team-a/secrets';
const API_KEYS = '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys';

describe.skipIf(missing)('Secrets on a Kubernetes API server', () => {
  let cluster: Cluster;
  let run: Running;
  beforeAll(async () => {
    cluster = await startCluster(['team-a', 'team-b', 'other-gateway']);
    await cluster.apply(SCENE);
    run = runOperator(cluster);
    await until('ci is ready', () => apiKey('ci'), isReady);
  });
  afterAll(async () => {
    await run?.stop();
    await cluster?.stop();
  });

  const apiKey = (name: string): Promise<Live> => cluster.get('ApiKey', 'team-a', name);
  const keyIn = async (name: string): Promise<string> =>
    Buffer.from((await cluster.get('Secret', 'team-a', name))?.data?.apiKey ?? '', 'base64').toString();
  const hashesOf = (name: string): string[] =>
    run.fleet.latest?.keys.find((key) => key.name === name)?.hashes.map(({ sha256 }) => sha256) ?? [];
  const patch = (path: string, body: object) => cluster.admin.call('PATCH', path, body, MERGE);
  const apply = (name: string, more = '') =>
    cluster.apply(
      `kind: ApiKey\nmetadata: {name: ${name}, namespace: ` +
        `team-a}\nspec: {groupRef: {name: main}, accountRef: {name: team}${more}}\n`,
    );

  it('replaces a deleted key, and the old one is refused', async () => {
    const old = await keyIn('ci-key');
    await cluster.remove('Secret', 'team-a', 'ci-key');
    const now = await until(
      'another key',
      () => keyIn('ci-key'),
      (key) => key !== '' && key !== old,
    );
    await until(
      'its hash at the proxies',
      () => hashesOf('ci'),
      (hashes) => hashes.length === 1 && hashes[0] === hash('sha256', now),
    );
    await until(
      'its hash in the status',
      () => apiKey('ci'),
      (object) => isReady(object) && object.status.keyHash === fingerprintOf(now),
    );
  });

  it('rotates a key, and accepts the old one during its overlap', async () => {
    const old = await keyIn('ci-key');
    const { resourceVersion } = (await cluster.get('Secret', 'team-a', 'ci-key')).metadata;
    await patch(`${API_KEYS}/ci`, { spec: { key: { rotation: 2, overlapSeconds: 2 } } });
    const now = await until(
      'another key',
      () => keyIn('ci-key'),
      (key) => key !== old,
    );
    assert.notEqual((await cluster.get('Secret', 'team-a', 'ci-key')).metadata.resourceVersion, resourceVersion);
    await until(
      'both hashes',
      () => hashesOf('ci'),
      (hashes) => hashes.join() === [hash('sha256', now), hash('sha256', old)].join(),
    );
    const status = (
      await until(
        'both in the status',
        () => apiKey('ci'),
        (object) => isReady(object) && object.status.keyRotation === 2,
      )
    ).status;
    assert.deepEqual(
      status.previousKeys.map(({ keyHash }: { keyHash: string }) => keyHash),
      [fingerprintOf(old)],
    );
    await until(
      'the overlap has ended',
      () => hashesOf('ci'),
      (hashes) => hashes.join() === hash('sha256', now),
    );
    await until(
      'and the status says so',
      () => apiKey('ci'),
      (object) => object.status.previousKeys === undefined,
    );
  });

  it('restores a removed label, and keeps the key', async () => {
    const old = await keyIn('ci-key');
    await patch(`${SECRETS}/ci-key`, { metadata: { labels: { 'modelgateway.dev/api-key': null } } });
    await until(
      'the label is back',
      () => cluster.get('Secret', 'team-a', 'ci-key'),
      (secret) => secret.metadata.labels['modelgateway.dev/api-key'] === 'ci',
    );
    assert.equal(await keyIn('ci-key'), old);
    await until(
      'it is in force',
      () => hashesOf('ci'),
      (hashes) => hashes.join() === hash('sha256', old),
    );
  });

  it('gives an ApiKey that was deleted and created again another key', async () => {
    await apply('again');
    await until('again is ready', () => apiKey('again'), isReady);
    const old = await keyIn('again-key');
    await run.stop(); // so that it sees only the second one, with the first one's Secret
    await cluster.remove('ApiKey', 'team-a', 'again');
    await apply('again');
    run = runOperator(cluster);
    const now = await until(
      'another key',
      () => keyIn('again-key'),
      (key) => key !== '' && key !== old,
    );
    const owner = (await cluster.get('Secret', 'team-a', 'again-key')).metadata.ownerReferences[0].uid;
    assert.equal(owner, (await apiKey('again')).metadata.uid);
    await until(
      'again is ready',
      () => apiKey('again'),
      (object) => isReady(object) && object.status.keyHash === fingerprintOf(now),
    );
  });

  it('never overwrites a Secret of another owner', async () => {
    await cluster.admin.call('POST', SECRETS, { metadata: { name: 'mine' }, stringData: { password: 'of-somebody' } });
    await apply('blocked', ', key: {secretRef: {name: mine}}');
    const blocked = await until(
      'blocked says so',
      () => apiKey('blocked'),
      (object) => conditionsOf(object).includes('Ready=False SecretTaken'),
    );
    assert.match(JSON.stringify(blocked.status), /The Secret \\"mine\\" exists but was not created for this ApiKey/);
    assert.deepEqual(Object.keys((await cluster.get('Secret', 'team-a', 'mine')).data), ['password']);
  });

  it('waits for a provided Secret with its label, and follows its changes', async () => {
    const key = `sk-${'p'.repeat(40)}`;
    await apply('given', ', key: {type: Provided}');
    const waiting = await until(
      'given waits',
      () => apiKey('given'),
      (object) => conditionsOf(object).includes('Ready=False SecretPending'),
    );
    assert.match(
      JSON.stringify(waiting.status),
      /in a cluster the Secret also needs the label modelgateway.dev\/api-key: given/,
    );
    await cluster.admin.call('POST', SECRETS, {
      metadata: { name: 'given-key', labels: { 'modelgateway.dev/api-key': 'given' } },
      stringData: { apiKey: key },
    });
    await until(
      'given is ready',
      () => apiKey('given'),
      (object) => isReady(object) && object.status.keyHash === fingerprintOf(key),
    );
    await patch(`${SECRETS}/given-key`, { stringData: { apiKey: `${key}-2` } });
    await until(
      'its new key is in force',
      () => hashesOf('given'),
      (hashes) => hashes.join() === hash('sha256', `${key}-2`),
    );
    await patch(`${SECRETS}/given-key`, { stringData: { apiKey: 'sk-weak' } });
    await until(
      'a weak one is refused',
      () => apiKey('given'),
      (object) => conditionsOf(object).includes('Accepted=False WeakKey'),
    );
    assert.ok(run.writes.every((write) => !write.includes('given-key')));
  });

  it("follows a provider's credential, and leaves out channels without one", async () => {
    const credential = (): string | undefined => run.fleet.latest?.routes[0]?.channels[0]?.apiKey?.value;
    assert.equal(credential(), 'provider-credential');
    await patch('/api/v1/namespaces/model-gateway/secrets/openai', { stringData: { apiKey: 'rotated' } });
    await until('the new credential', credential, (value) => value === 'rotated');
    await cluster.remove('Secret', 'model-gateway', 'openai');
    await until(
      'its channel is left out',
      () => cluster.get('ModelRoute', 'model-gateway', 'openai'),
      (object) => conditionsOf(object).includes('ResolvedRefs=False SecretNotFound'),
    );
    await cluster.admin.call('POST', '/api/v1/namespaces/model-gateway/secrets', {
      metadata: { name: 'openai' },
      stringData: { apiKey: 'again' },
    });
    await until('and comes back', credential, (value) => value === 'again');
    await until('openai is ready', () => cluster.get('ModelRoute', 'model-gateway', 'openai'), isReady);
  });

  it("keeps a channel while an edit's new Secret is read", async () => {
    await cluster.admin.call('POST', '/api/v1/namespaces/model-gateway/secrets', {
      metadata: { name: 'second' },
      stringData: { apiKey: 'of-second' },
    });
    const from = run.fleet.published.length;
    const channel = {
      name: 'direct',
      protocol: 'OpenAI',
      baseUrl: 'http://127.0.0.1:1/v1',
      auth: { type: 'ApiKey', secretRef: { name: 'second', key: 'apiKey' } },
    };
    await patch('/apis/modelgateway.dev/v1alpha1/namespaces/model-gateway/modelroutes/openai', {
      spec: { channels: [channel] },
    });
    await until(
      'the second credential',
      () => run.fleet.latest?.routes[0]?.channels[0]?.apiKey?.value,
      (value) => value === 'of-second',
    );
    assert.ok(run.fleet.published.slice(from).every(({ routes }) => routes[0]?.channels.length === 1));
  });

  it('revokes deleted keys at once, although others still wait for the object', async () => {
    await apply('held');
    await until('held is ready', () => apiKey('held'), isReady);
    await patch(`${API_KEYS}/held`, { metadata: { finalizers: ['example.com/slow'] } });
    await cluster.remove('ApiKey', 'team-a', 'held');
    await until(
      'held is revoked',
      () => hashesOf('held'),
      (hashes) => hashes.length === 0,
    );
    await patch(`${API_KEYS}/held`, { metadata: { finalizers: null } });
  });

  it("does not change other gateways' objects", async () => {
    await cluster.apply(`
kind: Account
metadata: {name: theirs, namespace: team-b}
spec: {gatewayNamespace: other-gateway}
---
kind: ApiKey
metadata: {name: theirs, namespace: team-b}
spec: {gatewayNamespace: other-gateway, groupRef: {name: main}, accountRef: {name: theirs}}
---
kind: Group
metadata: {name: theirs, namespace: other-gateway}
spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
---
kind: Group
metadata: {name: lost, namespace: team-b}
spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
`);
    await until(
      'the lost Group is told so',
      () => cluster.get('Group', 'team-b', 'lost'),
      (object) => conditionsOf(object).includes('Accepted=False WrongNamespace'),
    );
    const theirs = [
      ['ApiKey', 'team-b'],
      ['Account', 'team-b'],
      ['Group', 'other-gateway'],
    ] as const;
    for (const [kind, namespace] of theirs) {
      const { status } = await cluster.get(kind, namespace, 'theirs');
      assert.deepEqual(Object.keys(status), ['conditions'], 'only what the definition begins with');
      assert.deepEqual(
        status.conditions.map(({ message }: { message: string }) => message),
        ['Waiting for the operator.'],
      );
    }
    assert.equal(await cluster.get('Secret', 'team-b', 'theirs-key'), undefined);
  });

  it('does not compete for an object that another gateway manages', async () => {
    const other = runOperator(cluster, { gatewayNamespace: 'team-b', watchNamespaces: ['team-b'] });
    await until(
      'the other gateway takes it',
      () => cluster.get('Group', 'team-b', 'lost'),
      (object) => conditionsOf(object).includes('Accepted=True Accepted'),
    );
    const count = (running: Running): number =>
      running.writes.filter((write) => write.includes('/groups/lost/status')).length;
    const [own, others] = [count(run), count(other)];
    await new Promise((resolve) => {
      setTimeout(resolve, 1000);
    });
    assert.ok(
      count(run) - own <= 1 && count(other) - others <= 1,
      `${count(run) - own} and ${count(other) - others} more writes`,
    );
    assert.ok(conditionsOf(await cluster.get('Group', 'team-b', 'lost')).includes('Accepted=True Accepted'));
    await other.stop();
  });

  it('selects namespaces by their current labels', async () => {
    await cluster.apply(
      'kind: Group\nmetadata: {name: chosen}\nspec: {allowedNamespaces: {from: Selector, selector: ' +
        '{matchLabels: {paying: "yes"}}}, routes: [{routeSelector: {}}]}\n',
    );
    await cluster.apply(
      'kind: ApiKey\nmetadata: {name: chosen, namespace: team-a}\nspec: {groupRef: {name: chosen}, ' +
        'accountRef: {name: team}}\n',
    );
    await until(
      'not admitted',
      () => apiKey('chosen'),
      (object) => conditionsOf(object).includes('Accepted=False NamespaceNotAllowed'),
    );
    await patch('/api/v1/namespaces/team-a', { metadata: { labels: { paying: 'yes' } } });
    await until('admitted', () => apiKey('chosen'), isReady);
  });
});

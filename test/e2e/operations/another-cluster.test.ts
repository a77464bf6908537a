/** "Another cluster" of docs/guides/operations.md on a real API server: which keys stay, and which are new. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import { SCENE, isReady, runOperator, startCluster, until, fingerprintOf } from '../cluster/support.ts';
import type { Cluster, Live } from '../cluster/support.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { blockWith, commandsBelow } from './documented.ts';

const missing = await kubeApiserverMissing();
const SECRETS = '/api/v1/namespaces/team-a/secrets';
const PROVIDED = `sk-${'p'.repeat(40)}`;
/** Keys whose Secrets are restored as documented, and keys with one deviation each. */
const OLD = ['given', 'made', 'rotated'];
const NEW = ['owned', 'plain'];
const KEYS = [...OLD, ...NEW];
/** Values that differ from the default. */
const KEY_SPECS: Readonly<Record<string, string>> = {
  given: 'type: Provided',
  rotated: 'rotation: 3',
  plain: 'rotation: 3',
};

const OBJECTS = KEYS.map(
  (name) => `kind: ApiKey
metadata: {name: ${name}, namespace: team-a}
spec: {groupRef: {name: main}, accountRef: {name: team}, key: {${KEY_SPECS[name] ?? ''}}}
`,
).join('---\n');

describe.skipIf(missing)('another cluster', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(['team-a']);
  });
  afterAll(async () => {
    await cluster?.stop();
  });

  const secretOf = (name: string): Promise<Live> => cluster.get('Secret', 'team-a', `${name}-key`);
  const keyIn = (secret: Live): string => Buffer.from(secret?.data?.apiKey ?? '', 'base64').toString();
  const create = async (metadata: object, secret: object): Promise<void> => {
    const { status, body } = await cluster.admin.call('POST', SECRETS, { ...secret, metadata });
    assert.equal(status, 201, body.message);
  };

  it('accepts restored Secrets with label and annotations but no owner, and replaces other keys', async () => {
    await cluster.apply(SCENE);
    await cluster.apply(OBJECTS);
    const label = { 'modelgateway.dev/api-key': 'given' };
    await create({ name: 'given-key', labels: label }, { stringData: { apiKey: PROVIDED } });
    const first = runOperator(cluster);
    for (const name of KEYS) await until(`${name} is ready`, () => cluster.get('ApiKey', 'team-a', name), isReady);
    await first.stop();
    const backup = new Map<string, Live>();
    for (const name of KEYS) backup.set(name, await secretOf(name));
    // another cluster for all of them: nothing exists, and applied objects get other uids
    for (const name of KEYS) await cluster.remove('ApiKey', 'team-a', name);
    for (const name of KEYS) await cluster.remove('Secret', 'team-a', `${name}-key`);

    for (const [
      key,
      {
        metadata: { name, labels, annotations, ownerReferences },
        type,
        data,
      },
    ] of backup)
      await create(
        {
          name,
          labels,
          ...(key === 'plain' ? {} : { annotations }),
          ...(key === 'owned' ? { ownerReferences } : {}),
        },
        { type, data },
      );
    await cluster.apply(OBJECTS);
    const second = runOperator(cluster);
    for (const name of NEW)
      await until(
        `${name} has another key`,
        async () => keyIn(await secretOf(name)),
        (key) => key !== '' && key !== keyIn(backup.get(name)),
      );
    for (const name of KEYS) {
      const now = keyIn(await secretOf(name));
      await until(
        `${name} is ready`,
        () => cluster.get('ApiKey', 'team-a', name),
        (object) => isReady(object) && object.status.keyHash === fingerprintOf(now),
      );
    }
    assert.deepEqual(
      await Promise.all(OLD.map(async (name) => keyIn(await secretOf(name)))),
      OLD.map((name) => keyIn(backup.get(name))),
    );
    assert.equal(keyIn(backup.get('given')), PROVIDED);
    await second.stop();
  });

  it('accepts the pod that restores a snapshot, also in restricted namespaces', async () => {
    const [, pod = ''] =
      /<<'EOF'\n([\s\S]*?)^EOF$/m.exec(
        blockWith(commandsBelow('guides/operations.md', '### The ledger on Valkey'), 'kind: Pod'),
      ) ?? [];
    await cluster.admin.call(
      'PATCH',
      '/api/v1/namespaces/model-gateway',
      { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } },
      'application/merge-patch+json',
    );
    const make = (object: { spec: object }): ReturnType<Cluster['admin']['call']> =>
      cluster.admin.call('POST', '/api/v1/namespaces/model-gateway/pods?fieldValidation=Strict&dryRun=All', object);
    const refused = await make({ ...parse(pod), spec: { ...parse(pod).spec, securityContext: {} } });
    assert.match(refused.body.message, /violates PodSecurity/);
    const { status, body } = await make(parse(pod));
    assert.equal(status, 201, body.message);
  });
});

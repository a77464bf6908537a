/** Secrets of ApiKeys: those that an ApiKey names are held, the others are known by name, and read once one names them. */
import assert from 'node:assert/strict';
import { it } from 'vitest';
import type { ApiKey } from '#crds/types.gen.ts';
import { watchKeySecrets } from '../../../../../operator/sources/cluster/key-secrets.ts';
import type { KubeObject } from '#kube/models.ts';
import type { StartWatch } from '../../../../../operator/sources/cluster/namespace-watch.ts';
import { openLiveSecrets } from '../../../../../operator/store/live-secrets.ts';
import { resourcesOf } from '../../support.ts';

const API_KEY: ApiKey = resourcesOf(`
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ci, namespace: team-a}
spec: {groupRef: {name: main}, accountRef: {name: team}}
`).apiKeys.get('team-a')![0]!;

function setUp() {
  const secrets = openLiveSecrets(() => undefined);
  const reads: { readonly path: string; readonly name: string; readonly onRead: (object: KubeObject) => void }[] = [];
  const watches = watchKeySecrets({
    secrets,
    reads: { read: (request) => void reads.push(request), stop: () => undefined },
    verified: (secret) => secret,
  });
  let handlers: Parameters<StartWatch>[1] | undefined;
  watches.watch((collection, given) => {
    handlers = given;
    return { collection, synced: true, problem: undefined, stop: async () => undefined };
  }, undefined);
  assert.ok(handlers);
  const held = (): string[] =>
    [...(secrets.all().get('team-a')?.values() ?? [])].map(({ name, data }) => `${name} ${data.get('apiKey')}`);
  return { watches, reads, on: handlers, held };
}

function secret(name: string, version: number): KubeObject {
  const labels = { 'modelgateway.dev/api-key': 'ci' };
  const object = {
    metadata: { name, namespace: 'team-a', uid: name, resourceVersion: String(version), labels },
    data: { apiKey: Buffer.from(`sk-${version}`).toString('base64') },
  };
  return object;
}

it('holds only what an ApiKey names', () => {
  const { watches, reads, on, held } = setUp();
  watches.named('ApiKey team-a/ci', API_KEY);
  on.onPage?.([secret('ci-key', 1), ...Array.from({ length: 350 }, (_, n) => secret(`big-${n}`, 2))]);
  assert.deepEqual([held(), reads.length], [['ci-key sk-1'], 0]);
  on.onApplied(secret('ci-key', 3));
  on.onApplied(secret('big-7', 4));
  assert.deepEqual(held(), ['ci-key sk-3']);
  on.onDeleted(secret('ci-key', 5));
  assert.deepEqual(held(), []);
});

it('reads a Secret once an ApiKey names it, and forgets it when none does', () => {
  const { watches, reads, on, held } = setUp();
  on.onPage?.([secret('ci-key', 1)]);
  on.onReplace([secret('ci-key', 1)]);
  watches.named('ApiKey team-a/ci', API_KEY);
  assert.deepEqual(
    reads.map(({ path, name }) => `${path} ${name}`),
    ['/api/v1/namespaces/team-a/secrets ci-key'],
  );
  reads[0]?.onRead(secret('ci-key', 1));
  assert.deepEqual(held(), ['ci-key sk-1']);
  watches.named('ApiKey team-a/ci', undefined);
  assert.deepEqual(held(), []);
  watches.named('ApiKey team-a/ci', API_KEY);
  assert.equal(reads.length, 2);
});

it('does not bring back a Secret that was deleted while it was read', () => {
  const { watches, reads, on, held } = setUp();
  on.onPage?.([secret('ci-key', 1)]);
  watches.named('ApiKey team-a/ci', API_KEY);
  on.onDeleted(secret('ci-key', 2));
  reads[0]?.onRead(secret('ci-key', 1));
  assert.deepEqual(held(), []);
  on.onApplied(secret('ci-key', 3));
  on.onReplace([]);
  assert.deepEqual(held(), [], 'a complete list without it removes it');
});

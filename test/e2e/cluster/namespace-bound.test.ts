/** A namespace with more objects than the operator holds of one: its owners are told, and all others go on. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { PLATFORM, conditionsOf, isReady, runOperator, startCluster, teamManifest, until } from './support.ts';
import type { Cluster, Live, Running } from './support.ts';

const missing = await kubeApiserverMissing();
/** Enough for an Account and some ApiKeys. */
const NAMESPACE_BYTES = 16 * 1024;
const KEYS = Array.from({ length: 24 }, (_, n) => `key-${String(n).padStart(2, '0')}`);
const TOLD = ['Accepted=False TooManyObjects', 'Ready=False TooManyObjects', 'Stalled=True TooManyObjects'];

describe.skipIf(missing)('a namespace with too many objects on a Kubernetes API server', () => {
  let cluster: Cluster;
  let run: Running;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.apply(`${PLATFORM}---${teamManifest('team-a')}---${teamManifest('team-b')}`);
    run = runOperator(cluster, { namespaceBytes: NAMESPACE_BYTES });
    await until('the first key', () => cluster.get('ApiKey', 'team-b', 'ci'), isReady);
    const manifest = (name: string): string =>
      `kind: ApiKey\nmetadata: {name: ${name}, namespace: team-b}\n` +
      'spec: {groupRef: {name: main}, accountRef: {name: team}}\n';
    await cluster.apply(KEYS.map(manifest).join('---\n'));
  });
  afterAll(async () => {
    await run?.stop();
    await cluster?.stop();
  });

  const isTold = (object: Live): boolean => TOLD.every((each) => conditionsOf(object).includes(each));
  /** The keys of team-b once each is in force or told that it is not. */
  async function decided(names: readonly string[], enough: (ready: number) => boolean): Promise<Live[]> {
    return until(
      'all keys are in force or told',
      () => Promise.all(names.map((name) => cluster.get('ApiKey', 'team-b', name))),
      (keys) => keys.every((key) => isReady(key) || isTold(key)) && enough(keys.filter(isReady).length),
    );
  }

  it('has its oldest objects in force; the owners of the others are told', async () => {
    const keys = await decided(KEYS, (ready) => ready > 0 && ready < KEYS.length);
    const told = keys.find(isTold);
    assert.match(JSON.stringify(told?.status), /exceed the memory limit for one namespace/);
    assert.ok(isReady(await cluster.get('ApiKey', 'team-b', 'ci')), 'the first stays');
  });

  it('delays no edit of another namespace', async () => {
    await cluster.apply(teamManifest('team-a', 'maxConcurrency: 3'));
    await until(
      'the edit',
      () => cluster.get('ApiKey', 'team-a', 'ci'),
      (key) => isReady(key) && key.status.observedGeneration === key.metadata.generation && key.metadata.generation > 1,
    );
  });

  it('has others in force when there is room again', async () => {
    const before = (await decided(KEYS, () => true)).filter(isReady).map(({ metadata }) => String(metadata.name));
    const [first = '', second = ''] = before;
    for (const name of [first, second]) await cluster.remove('ApiKey', 'team-b', name);
    const left = KEYS.filter((name) => name !== first && name !== second);
    await decided(left, (ready) => ready >= before.length - 1);
  });
});

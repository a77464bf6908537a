/**
 * Faults between operator and API server: conflicts, expired versions, restarts, silence. The final state is correct.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { openAccess } from '#kube/access.ts';
import { createKubeClient } from '#kube/client.ts';
import { SYSTEM_CLOCK } from '#runtime/clock.ts';
import { startListWatch } from '#kube/list-watch.ts';
import type { KubeObject } from '#kube/models.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { SCENE, conditionsOf, countingMeter, isReady, runOperator, startCluster, until } from './support.ts';
import type { Cluster, Live, Running } from './support.ts';

const missing = await kubeApiserverMissing();
const MERGE = 'application/merge-patch+json';
const QUIET = { info: () => undefined, warn: () => undefined };

describe.skipIf(missing)('an operator whose Kubernetes API server has problems', () => {
  let cluster: Cluster;
  let run: Running;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.apply(SCENE);
  });
  afterAll(async () => {
    await run?.stop();
    await cluster?.stop();
  });

  const apiKey = (name: string): Promise<Live> => cluster.get('ApiKey', 'team-a', name);
  const apply = (name: string, more = '') =>
    cluster.apply(
      `kind: ApiKey\nmetadata: {name: ${name}, namespace: ` +
        `team-a}\nspec: {groupRef: {name: main}, accountRef: {name: team}${more}}\n`,
    );

  it('rotates a key whose Secret somebody else writes at the same time', async () => {
    let conflicts = 0;
    run = runOperator(cluster, {
      waits: { settleMs: 200, idleTimeoutMs: 1500 },
      async onWrite(request, send) {
        if (request.method === 'PATCH' && request.path.endsWith('/secrets/ci-key') && conflicts < 2) {
          conflicts++;
          await cluster.admin.call(
            'PATCH',
            request.path,
            { metadata: { annotations: { note: String(conflicts) } } },
            MERGE,
          );
        }
        return send();
      },
    });
    await until('ci is ready', () => apiKey('ci'), isReady);
    await cluster.admin.call(
      'PATCH',
      '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci',
      { spec: { key: { rotation: 5 } } },
      MERGE,
    );
    await until(
      'it is rotated',
      () => apiKey('ci'),
      (object) => isReady(object) && object.status.keyRotation === 5,
    );
    assert.equal(conflicts, 2);
    assert.equal((await cluster.get('Secret', 'team-a', 'ci-key')).metadata.annotations.note, '2');
  });

  it('repairs a status that somebody else wrote, including extra entries, without a loop', async () => {
    const path = '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci/status';
    const writes = run.writes.length;
    const strange = {
      type: 'Stalled',
      status: 'True',
      reason: 'Invalid',
      message: 'by hand',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const wrong = { ...(await apiKey('ci')).status, keyHash: 'f'.repeat(64), spentUsd: '1.00' };
    await cluster.admin.call(
      'PATCH',
      path,
      {
        status: {
          ...wrong,
          conditions: [...wrong.conditions.filter(({ type }: { type: string }) => type !== 'Ready'), strange],
        },
      },
      MERGE,
    );
    await until(
      'it is repaired',
      () => apiKey('ci'),
      (object) =>
        isReady(object) &&
        object.status.keyHash !== wrong.keyHash &&
        !conditionsOf(object).some((text) => text.startsWith('Stalled')),
    );
    await new Promise((resolve) => {
      setTimeout(resolve, 700);
    });
    assert.ok(
      run.writes.slice(writes).filter((write) => write.includes('/apikeys/ci/status')).length <= 4,
      run.writes.slice(writes).join('\n'),
    );
  });

  it('lists again when the server has dropped a version, and loses nothing', async () => {
    const meter = countingMeter();
    const client = createKubeClient({
      access: openAccess({ kubeconfig: cluster.kubeconfig, nowMs: () => Date.now() }),
      userAgent: 'test',
      meter,
    });
    let lists = 0;
    const known = new Map<string, KubeObject>();
    const watch = startListWatch({
      clock: SYSTEM_CLOCK,
      meter,
      log: QUIET,
      collection: { resource: 'apikeys', path: '/apis/modelgateway.dev/v1alpha1/apikeys' },
      pageSize: 1,
      client: {
        async request(request) {
          const page = await client.request(request);
          lists += page.metadata.continue ? 0 : 1;
          return lists === 1 ? { ...page, metadata: { ...page.metadata, resourceVersion: '1' } } : page;
        },
        watch: (path, signal) => client.watch(path, signal),
      },
      onReplace(objects) {
        known.clear();
        for (const object of objects) known.set(object.metadata.name, object);
      },
      onApplied: (object) => void known.set(object.metadata.name, object),
      onDeleted: (object) => void known.delete(object.metadata.name),
    });
    await apply('seen');
    await until(
      'seen is seen',
      () => [...known.keys()].sort(),
      (names) => names.join() === 'ci,seen',
    );
    await cluster.remove('ApiKey', 'team-a', 'seen');
    await until(
      'and gone',
      () => [...known.keys()],
      (names) => names.join() === 'ci',
    );
    assert.ok(lists >= 2);
    assert.ok(meter.count('modelgateway_operator_watch_restarts_total', 'apikeys', 'gone') >= 1);
    await watch.stop();
    await client.close();
  });

  it('continues after the server was killed and restarted', async () => {
    await until(
      'what was removed before is out of force',
      () => run.fleet.latest?.keys.length,
      (count) => count === 1,
    );
    const before = run.fleet.published.length;
    const restarted = cluster.server.restart();
    await until(
      'the operator notices',
      () => run.operator.problems(),
      (problems) => problems.length > 0,
    );
    assert.equal(run.fleet.latest?.keys.length, 1, 'what is known stays in force');
    await restarted;
    await apply('after-restart');
    await until('after-restart is ready', () => apiKey('after-restart'), isReady);
    await cluster.remove('ApiKey', 'team-a', 'after-restart');
    await until(
      'and revoked',
      () => run.fleet.latest?.keys.map(({ name }) => name).join(),
      (names) => names === 'ci',
    );
    assert.ok(
      run.fleet.published
        .slice(before)
        .every(({ keys, routes }) => keys.length >= 1 && routes[0]?.channels.length === 1),
      'nothing was taken away meanwhile',
    );
  });

  it('notices a server that does not respond on open connections, gives up leadership, and recovers', async () => {
    cluster.server.freeze();
    await until(
      'the lead is given up',
      () => run.operator.leading,
      (leading) => !leading,
    );
    await until(
      'the silence is noticed',
      () => run.meter.count('modelgateway_operator_watch_restarts_total', 'apikeys', 'idle'),
      (count) => count > 0,
    );
    cluster.server.thaw();
    await until(
      'it leads again',
      () => run.operator.leading,
      (leading) => leading,
    );
    await apply('after-freeze');
    await until('after-freeze is ready', () => apiKey('after-freeze'), isReady);
  });

  it('reports a missing right, and what to do', async () => {
    const { body } = await cluster.admin.call('POST', '/api/v1/namespaces/team-b/serviceaccounts', {
      metadata: { name: 'nobody' },
    });
    assert.equal(body.metadata.name, 'nobody');
    const {
      body: {
        status: { token },
      },
    } = await cluster.admin.call('POST', '/api/v1/namespaces/team-b/serviceaccounts/nobody/token', { spec: {} });
    const client = createKubeClient({
      access: {
        server: cluster.server.url,
        namespace: undefined,
        open: async () => ({
          ...(await openAccess({ kubeconfig: cluster.kubeconfig, nowMs: () => 0 }).open()),
          headers: { authorization: `Bearer ${token}` },
        }),
        refused: () => undefined,
        close: async () => undefined,
      },
      userAgent: 'test',
      meter: countingMeter(),
    });
    const watch = startListWatch({
      client,
      clock: SYSTEM_CLOCK,
      meter: countingMeter(),
      log: QUIET,
      collection: { resource: 'apikeys', path: '/apis/modelgateway.dev/v1alpha1/apikeys' },
      onReplace: () => undefined,
      onApplied: () => undefined,
      onDeleted: () => undefined,
    });
    const problem = await until(
      'a problem',
      () => watch.problem,
      (text) => text !== undefined,
    );
    assert.match(problem ?? '', /apikeys.*403.*forbidden.*docs\/examples\/kubernetes\/rbac\.yaml/);
    await watch.stop();
  });
});

/**
 * A tenant with all rights in its own namespace cannot end the operators: neither by Secrets nor by objects, however
 * large and many. The operator runs as a process with the heap limits
 * of the chart, and, where control groups can be made, within the memory of its container.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { startXdsClient } from '../../../dataplane/xds/client.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { freePort } from '../../support/free-port.ts';
import { inParallel } from '../../support/in-parallel.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { memoryLimit } from '../../support/memory-limit.ts';
import type { MemoryLimit } from '../../support/memory-limit.ts';
import { GATEWAY_NAMESPACE, SCENE, conditionsOf, isReady, startCluster, teamManifest, until } from './support.ts';
import type { Cluster } from './support.ts';

const missing = await kubeApiserverMissing();
/** MGW_TEST_ATTACK=full plays the attacks at the size at which they once ended every operator. */
const FULL = process.env['MGW_TEST_ATTACK'] === 'full';
const SECRETS = FULL ? 350 : 120;
const SECRET_BYTES = 900 * 1024;
const API_KEYS = FULL ? 1_400 : 300;
const ANNOTATION_BYTES = 150 * 1024;
/** As much as the chart's policies admit. */
const ADMITTED_BYTES = 32 * 1000;
const AT_ONCE = 4;
const CONTAINER_MIB = 512;
/** Half of the container's memory, as the chart sets it. */
const HEAP_MIB = CONTAINER_MIB / 2;
const MERGE = 'application/merge-patch+json';
const KEYS_PATH = '/apis/modelgateway.dev/v1alpha1/namespaces/team-b/apikeys';

interface Operator {
  readonly process: ChildProcess;
  readonly xds: number;
}

describe.skipIf(missing)('an operator under attack by a tenant', { timeout: 600_000 }, () => {
  let cluster: Cluster;
  let operator: Operator;
  let proxy: Awaited<ReturnType<typeof startXdsClient>> | undefined;
  let snapshot: Snapshot | undefined;
  const children: ChildProcess[] = [];
  let limit: MemoryLimit | undefined;

  async function startOperator(xds: number): Promise<Operator> {
    const child = spawn(
      process.execPath,
      [
        `--max-old-space-size=${HEAP_MIB}`,
        '--max-semi-space-size=8',
        'bin/mgw.js',
        'operator',
        '--kubeconfig',
        cluster.kubeconfig,
        '--namespace',
        GATEWAY_NAMESPACE,
        '--insecure-xds',
        '--xds-listen',
        `127.0.0.1:${xds}`,
        '--admin',
        `127.0.0.1:${await freePort()}`,
        '--log-level',
        'error',
      ],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '65536' },
      },
    );
    children.push(child);
    if (child.pid !== undefined) await limit?.add(child.pid);
    return { process: child, xds };
  }

  /** The memory of the operator's process. */
  async function residentMib(): Promise<number> {
    const status = await readFile(`/proc/${operator.process.pid}/status`, 'utf8');
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  }

  async function highestMib(): Promise<number> {
    const status = await readFile(`/proc/${operator.process.pid}/status`, 'utf8');
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
  }

  const keyOfTeamA = () => snapshot?.keys.find(({ namespace }) => namespace === 'team-a');

  /** Another team disables its key or enables it; resolves with the time until a proxy has it in force. */
  async function edit(enabled: boolean): Promise<number> {
    const path = '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci';
    const { status } = await cluster.admin.call('PATCH', path, { spec: { enabled } }, MERGE);
    assert.equal(status, 200);
    const answeredMs = performance.now();
    await until('a proxy has the edit', keyOfTeamA, (key) => key?.enabled === enabled);
    return Math.round(performance.now() - answeredMs);
  }

  async function isServing(): Promise<void> {
    await until('a proxy has the key', keyOfTeamA, (key) => key !== undefined);
    await until('its status says so', () => cluster.get('ApiKey', 'team-a', 'ci'), isReady);
  }

  beforeAll(async () => {
    limit = await memoryLimit(`mgw-attack-${process.pid}`, CONTAINER_MIB * 2 ** 20);
    if (!limit) console.log('without a control group: the memory is only measured');
    cluster = await startCluster();
    await cluster.apply(`${SCENE}---${teamManifest('team-b')}`);
    operator = await startOperator(await freePort());
    const note = (): void => undefined;
    proxy = await startXdsClient({
      addresses: [`127.0.0.1:${operator.xds}`],
      nodeId: 'proxy-1',
      version: 'test',
      log: { debug: note, info: note, warn: note, error: note },
      secure: undefined,
      install({ snapshot: next }) {
        snapshot = next();
      },
    });
    await isServing();
  });
  afterAll(async () => {
    await proxy?.stop();
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    }
    await limit?.remove();
    await cluster?.stop();
  });

  /** Another team edits its key again and again, until the attack is over. */
  async function editDuring(attack: Promise<unknown>): Promise<readonly number[]> {
    const over = new AbortController();
    const ended = attack.finally(() => over.abort());
    const tookMs: number[] = [];
    while (!over.signal.aborted) tookMs.push(await edit(tookMs.length % 2 === 1));
    await ended;
    for (const enabled of [false, true]) tookMs.push(await edit(enabled));
    return tookMs.sort((one, other) => one - other);
  }

  /** Plays an attack; the figures are for people, because they depend on the machine. */
  async function attacked(what: string, attack: () => Promise<unknown>): Promise<void> {
    const before = await residentMib();
    const tookMs = await editDuring(attack());
    const [after, highest] = [await residentMib(), await highestMib()];
    const [median, last] = [tookMs[Math.floor(tookMs.length / 2)], tookMs.at(-1)];
    console.log(
      `${what}: ${before} → ${after} MiB, highest ${highest}; ` +
        `${tookMs.length} edits of another team, in force after ${median} ms (median), at most ${last} ms`,
    );
    assert.ok(highest < 400, `${highest} MiB`);
    assert.equal(operator.process.exitCode ?? operator.process.signalCode, null);
  }

  function createApiKeys(prefix: string, noteBytes: number): Promise<unknown> {
    const note = 'x'.repeat(noteBytes);
    return inParallel(API_KEYS, AT_ONCE, async (n) => {
      const { status, body } = await cluster.admin.call('POST', KEYS_PATH, {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'ApiKey',
        metadata: { name: `${prefix}-${n}`, annotations: { note } },
        spec: { groupRef: { name: 'main' }, accountRef: { name: 'team' } },
      });
      assert.equal(status, 201, body.message);
    });
  }

  it(`holds nothing of ${SECRETS} large Secrets that no ApiKey names`, async () => {
    const junk = 'x'.repeat(SECRET_BYTES);
    await attacked(`${SECRETS} Secrets`, () =>
      inParallel(SECRETS, AT_ONCE, async (n) => {
        const { status, body } = await cluster.admin.call('POST', '/api/v1/namespaces/team-b/secrets', {
          metadata: { name: `big-${n}`, labels: { 'modelgateway.dev/api-key': `big-${n}` } },
          stringData: { junk },
        });
        assert.equal(status, 201, body.message);
      }),
    );
  });

  for (const [prefix, bytes] of [
    ['admitted', ADMITTED_BYTES],
    ['key', ANNOTATION_BYTES],
  ] as const)
    it(`holds no annotation of ${API_KEYS} ApiKeys of ${bytes} bytes`, () =>
      attacked(`${API_KEYS} ApiKeys of ${bytes} bytes`, () => createApiKeys(prefix, bytes)));

  it('starts again beside all of them', async () => {
    operator.process.kill('SIGKILL');
    await once(operator.process, 'exit');
    operator = await startOperator(operator.xds);
    await cluster.admin.call(
      'DELETE',
      '/apis/coordination.k8s.io/v1/namespaces/model-gateway/leases/model-gateway-operator',
    );
    const path = '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci';
    await cluster.admin.call('PATCH', path, { spec: { enabled: false } }, MERGE);
    await until('the restarted operator serves', keyOfTeamA, (key) => key?.enabled === false);
    const highest = await highestMib();
    console.log(`restarted: highest ${highest} MiB`);
    assert.ok(highest < 400, `${highest} MiB`);
    const seen = await until(
      "the attacker's own objects are looked at too",
      () => cluster.get('ApiKey', 'team-b', 'key-7'),
      (object) => conditionsOf(object).some((condition) => condition.startsWith('Ready=True')),
    );
    assert.ok(seen);
  });
});

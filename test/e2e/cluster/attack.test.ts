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
const PLAIN_KEYS = FULL ? 2_000 : 300;
const ANNOTATION_BYTES = 150 * 1024;
/** As much as the chart's policies admit. */
const ADMITTED_BYTES = 32 * 1000;
const AT_ONCE = 4;
const CONTAINER_MIB = 512;
/** Half of the container's memory, as the chart sets it. */
const HEAP_MIB = CONTAINER_MIB / 2;
const MERGE = 'application/merge-patch+json';
const KEYS_PATH = '/apis/modelgateway.dev/v1alpha1/namespaces/team-b/apikeys';

/** Milliseconds until a proxy has an edit in force. */
interface EditTime {
  readonly sinceApply: number;
  /** Without the API server's own time, which shares the machine with everything else. */
  readonly sinceResponse: number;
}

interface Operator {
  readonly process: ChildProcess;
  readonly xds: number;
}

describe.skipIf(missing)('an operator under attack by a tenant', { timeout: 600_000 }, () => {
  let cluster: Cluster;
  let operator: Operator;
  let proxy: Awaited<ReturnType<typeof startXdsClient>> | undefined;
  let snapshot: Snapshot | undefined;
  let onInstall = (): void => undefined;
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

  /** Another team disables its key or enables it. */
  async function edit(enabled: boolean): Promise<EditTime> {
    const path = '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci';
    let inForceMs: number | undefined;
    onInstall = () => {
      if (keyOfTeamA()?.enabled === enabled) inForceMs ??= performance.now();
    };
    const appliedMs = performance.now();
    const { status } = await cluster.admin.call('PATCH', path, { spec: { enabled } }, MERGE);
    assert.equal(status, 200);
    const respondedMs = performance.now();
    onInstall(); // it may have been so before
    const seenMs = await until(
      'a proxy has the edit',
      () => inForceMs ?? 0,
      (ms) => ms > 0,
    );
    return { sinceApply: seenMs - appliedMs, sinceResponse: Math.max(0, seenMs - respondedMs) };
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
        onInstall();
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

  /** Another team does something again and again, until the attack is over. */
  async function duringAttack<T>(attack: Promise<unknown>, act: (n: number) => Promise<T>): Promise<T[]> {
    const over = new AbortController();
    const ended = attack.finally(() => over.abort());
    const results: T[] = [];
    while (!over.signal.aborted) results.push(await act(results.length));
    await ended;
    return results;
  }

  /** Plays an attack; the figures are for people, because they depend on the machine. */
  async function attacked(what: string, attack: () => Promise<unknown>): Promise<void> {
    const before = await residentMib();
    const edits = await duringAttack(attack(), (n) => edit(n % 2 === 1));
    for (const enabled of [false, true]) await edit(enabled);
    const [after, highest] = [await residentMib(), await highestMib()];
    console.log(
      `${what}: ${before} → ${after} MiB, highest ${highest}; ${edits.length} edits of another team, in force after ` +
        `${quantiles(edits.map(({ sinceApply }) => sinceApply))} ` +
        `(after the API server's response: ${quantiles(edits.map(({ sinceResponse }) => sinceResponse))})`,
    );
    assert.ok(highest < 400, `${highest} MiB`);
    assert.equal(operator.process.exitCode ?? operator.process.signalCode, null);
  }

  function createApiKeys(prefix: string, noteBytes: number, count = API_KEYS): Promise<unknown> {
    const note = 'x'.repeat(noteBytes);
    return inParallel(count, AT_ONCE, async (n) => {
      const { status, body } = await cluster.admin.call('POST', KEYS_PATH, {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'ApiKey',
        metadata: { name: `${prefix}-${n}`, ...(noteBytes > 0 && { annotations: { note } }) },
        spec: { groupRef: { name: 'main' }, accountRef: { name: 'team' } },
      });
      assert.equal(status, 201, body.message);
    });
  }

  /** Another team makes a new key; resolves with the milliseconds until its status says that it is in force. */
  async function welcome(name: string): Promise<number> {
    const appliedMs = performance.now();
    await cluster.apply(
      `{kind: ApiKey, metadata: {name: ${name}, namespace: team-a}, ` +
        'spec: {groupRef: {name: main}, accountRef: {name: team}}}',
    );
    await until(`${name} is ready`, () => cluster.get('ApiKey', 'team-a', name), isReady);
    return performance.now() - appliedMs;
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

  it(`makes no other team wait for ${PLAIN_KEYS} new keys`, async () => {
    await attacked(`${PLAIN_KEYS} new keys`, () => createApiKeys('edited', 0, PLAIN_KEYS));
    const tookMs = await duringAttack(createApiKeys('plain', 0, PLAIN_KEYS), (n) => welcome(`guest-${n}`));
    tookMs.push(await welcome('guest-last'));
    console.log(`${PLAIN_KEYS} more: ${tookMs.length} new keys of another team, ready after ${quantiles(tookMs)}`);
  });

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

function quantiles(tookMs: readonly number[]): string {
  const sorted = tookMs.toSorted((one, other) => one - other);
  const at = (share: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, at most ${at(1)} ms`;
}

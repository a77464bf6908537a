/**
 * From a write at a real API server to its effect at the proxies, with a real operator process between them:
 *   node test/bench/apply.ts [--keys 10000] [--clients 20] [--edits 200] [--heap MiB]
 * One of the clients is a real proxy (`mgw dataplane`) that is asked over HTTP whether it enforces the edit; the others
 * take the configuration, put it in force and acknowledge it, in one process beside this one. Keys are Provided: one
 * ApiKey and one labelled Secret each, made by parallel requests, so that the operator reads them as it would those of
 * people. Edits are merge patches (enabled: false and true) and deletes, one at a time; time runs from the moment in
 * which the request is sent, as kubectl sends it, so that it includes the API server and etcd. --heap bounds the
 * operator's heap, to find the least that it needs; it runs with the chart's memory settings. etcd does not sync
 * its file (as in all tests on a real API server).
 */
import { fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { PLATFORM, startCluster } from '../e2e/cluster/support.ts';
import type { Cluster } from '../e2e/cluster/support.ts';
import { freePort } from '../support/free-port.ts';
import { inParallel } from '../support/in-parallel.ts';
import type { Acknowledged, Watch } from './apply-clients.ts';
import { quantilesOf } from './figures.ts';

const { values } = parseArgs({
  options: {
    keys: {
      type: 'string',
      default: '10000',
    },
    clients: { type: 'string', default: '20' },
    edits: { type: 'string', default: '200' },
    heap: { type: 'string' },
  },
});
const keyCount = Number(values.keys);
const clientCount = Number(values.clients);
const edits = Math.min(Number(values.edits), keyCount);
const ROOT = join(import.meta.dirname, '../..');
const TEAMS = 100;
const PARALLEL = 48;
const GROUP = '/apis/modelgateway.dev/v1alpha1/namespaces';
const KEY_LABEL = 'modelgateway.dev/api-key';

function teamOf(n: number): string {
  return `team-${n % TEAMS}`;
}
function keyOf(n: number): string {
  return `sk-bench-${String(n).padStart(40, '0')}`;
}

async function create(cluster: Cluster, path: string, body: object): Promise<void> {
  const { status, body: answer } = await cluster.admin.call('POST', path, body);
  if (status >= 300) throw new Error(answer.message);
}

async function load(cluster: Cluster): Promise<void> {
  await cluster.apply(PLATFORM);
  const api = 'modelgateway.dev/v1alpha1';
  await inParallel(TEAMS, PARALLEL, async (n) => {
    const namespace = teamOf(n);
    await create(cluster, '/api/v1/namespaces', { metadata: { name: namespace } });
    await create(cluster, `${GROUP}/${namespace}/accounts`, {
      apiVersion: api,
      kind: 'Account',
      metadata: { name: 'team' },
      spec: { grants: [{ name: 'first', usd: '1000' }] },
    });
  });
  await inParallel(keyCount, PARALLEL, async (n) => {
    const [namespace, name] = [teamOf(n), `key-${n}`];
    await create(cluster, `/api/v1/namespaces/${namespace}/secrets`, {
      metadata: { name, labels: { [KEY_LABEL]: name } },
      stringData: { apiKey: keyOf(n) },
    });
    await create(cluster, `${GROUP}/${namespace}/apikeys`, {
      apiVersion: api,
      kind: 'ApiKey',
      metadata: { name },
      spec: {
        groupRef: { name: 'main' },
        accountRef: { name: 'team' },
        key: { type: 'Provided', secretRef: { name } },
        quota: { limitUsd: '25' },
      },
    });
  });
}

const children: ChildProcess[] = [];

/** The environment that the chart gives the operator. */
const SMALL = { NODE_OPTIONS: '--max-semi-space-size=8', MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '65536' };

function mgw(args: readonly string[], node: readonly string[] = []): ChildProcess {
  const child = spawn(process.execPath, [...node, 'bin/mgw.js', ...args], {
    cwd: ROOT,
    env: { ...process.env, ...(args[0] === 'operator' ? SMALL : {}) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(child);
  return child;
}

async function eventually(look: () => Promise<boolean>): Promise<void> {
  while (!(await look().catch(() => false))) await delay(2);
}

/** Resident now and at most so far, in MiB (Linux). */
async function memoryOf({ pid }: ChildProcess): Promise<string> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string): string => (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024).toFixed(0);
  return `${mib('VmRSS')} MiB (highest ${mib('VmHWM')} MiB)`;
}

/** User and system time so far, in ms. */
async function cpuOf({ pid }: ChildProcess): Promise<number> {
  const [, rest = ''] = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ');
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const ports = { xds: await freePort(), operator: await freePort(), proxy: await freePort(), sdk: await freePort() };
const folder = await mkdtemp(join(tmpdir(), 'mgw-bench-'));
let mark = performance.now();
const cluster = await startCluster([]);
const proxy = new Pool(`http://127.0.0.1:${ports.sdk}`, { connections: 1 });
try {
  await load(cluster);
  console.log(
    `${keyCount} ApiKeys with their Secrets in the API server: ` +
      `${((performance.now() - mark) / 1000).toFixed(1)} s, ${PARALLEL} requests at a time`,
  );

  mark = performance.now();
  const clients = fork(
    join(import.meta.dirname, 'apply-clients.ts'),
    [`127.0.0.1:${ports.xds}`, String(clientCount - 1), String(keyCount)],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  children.push(clients);
  const whole = once(clients, 'message');
  const operator = mgw(
    [
      'operator',
      '--kubeconfig',
      cluster.kubeconfig,
      '--insecure-xds',
      '--xds-listen',
      `127.0.0.1:${ports.xds}`,
      '--admin',
      `127.0.0.1:${ports.operator}`,
      '--log-level',
      'error',
    ],
    values.heap === undefined ? [] : [`--max-old-space-size=${values.heap}`],
  );
  mgw([
    'dataplane',
    '--insecure-xds',
    '--xds',
    `127.0.0.1:${ports.xds}`,
    '--listen',
    `127.0.0.1:${ports.sdk}`,
    '--admin',
    `127.0.0.1:${ports.proxy}`,
    '--data',
    folder,
    '--log-level',
    'error',
  ]);
  await eventually(async () => (await fetch(`http://127.0.0.1:${ports.operator}/readyz`)).ok);
  console.log(
    `operator: process start to first full snapshot given out: ${((performance.now() - mark) / 1000).toFixed(1)} ` +
      `s, CPU ${((await cpuOf(operator)) / 1000).toFixed(1)} s, ${await memoryOf(operator)}`,
  );
  await eventually(async () => (await fetch(`http://127.0.0.1:${ports.proxy}/readyz`)).ok);
  await whole;
  console.log(
    `the proxy and ${clientCount - 1} clients whole: ${((performance.now() - mark) / 1000).toFixed(1)} s ` +
      `after the operator's start`,
  );
  await eventually(async () =>
    /modelgateway_operator_status_queue 0\b/.test(
      await (await fetch(`http://127.0.0.1:${ports.operator}/metrics`)).text(),
    ),
  );
  console.log(
    `statuses of the first reading written: ${((performance.now() - mark) / 1000).toFixed(1)} s after the ` +
      `start, CPU ${((await cpuOf(operator)) / 1000).toFixed(1)} s, ${await memoryOf(operator)}`,
  );

  const statusOf = async (n: number): Promise<number> => {
    const { statusCode, body } = await proxy.request({
      method: 'GET',
      path: '/v1/models',
      headers: { authorization: `Bearer ${keyOf(n)}` },
    });
    await body.dump();
    return statusCode;
  };
  const figures: Record<'written' | 'acknowledged' | 'refused' | 'admitted' | 'refusedDeleted', number[]> = {
    written: [],
    acknowledged: [],
    refused: [],
    admitted: [],
    refusedDeleted: [],
  };
  const edit = async (
    n: number,
    wanted: boolean,
    enforced: number[],
    write: () => Promise<{ status: number }>,
  ): Promise<void> => {
    const answer = new Promise<Acknowledged>((resolve) => {
      clients.once('message', resolve);
    });
    clients.send({ key: keyOf(n), open: wanted } satisfies Watch);
    const startMs = performance.timeOrigin + performance.now();
    const written = write().then(({ status }) => {
      if (status >= 300) throw new Error(`the API server says ${status}`);
      figures.written.push(performance.timeOrigin + performance.now() - startMs);
    });
    const status = wanted ? 200 : 401;
    const seen = eventually(async () => (await statusOf(n)) === status).then(
      () => performance.timeOrigin + performance.now() - startMs,
    );
    const [{ lastMs }, seenMs] = await Promise.all([answer, seen, written]);
    enforced.push(seenMs);
    figures.acknowledged.push(Math.max(lastMs - startMs, seenMs));
  };
  const cpu = await cpuOf(operator);
  for (let i = 0; i < edits; i += 1) {
    const n = (i * 7919) % keyCount;
    const path = `${GROUP}/${teamOf(n)}/apikeys/key-${n}`;
    const patch = (enabled: boolean) => () =>
      cluster.admin.call('PATCH', path, { spec: { enabled } }, 'application/merge-patch+json');
    await edit(n, false, figures.refused, patch(false));
    if (i % 2 === 0) await edit(n, true, figures.admitted, patch(true));
    await (i % 2 === 0 ? edit(n, false, figures.refusedDeleted, () => cluster.admin.call('DELETE', path)) : undefined);
  }
  console.log(
    `CPU of the operator per edit, its status included: ` +
      `${(((await cpuOf(operator)) - cpu) / figures.written.length).toFixed(1)} ms`,
  );
  console.log(`the API server's answer to the write: ${quantilesOf(figures.written)}`);
  console.log(`write → in force on all ${clientCount}: ${quantilesOf(figures.acknowledged)}`);
  console.log(`write (enabled: false) → the proxy refuses: ${quantilesOf(figures.refused)}`);
  console.log(`write (enabled: true) → the proxy admits: ${quantilesOf(figures.admitted)}`);
  console.log(`delete → the proxy refuses: ${quantilesOf(figures.refusedDeleted)}`);
  console.log(`operator: ${await memoryOf(operator)}`);
} finally {
  await proxy.destroy();
  for (const child of children) {
    if (child.exitCode !== null) continue;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
  await cluster.stop();
  await rm(folder, { recursive: true, force: true });
}

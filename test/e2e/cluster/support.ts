/** The fixture of tests on a real API server: the server with our kinds, an operator with its client, and polling. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, parseAllDocuments } from 'yaml';
import { readCrdTexts } from '#crds/load.ts';
import { API_VERSION, KINDS } from '#crds/types.gen.ts';
import type { Condition, Kind } from '#crds/types.gen.ts';
import { fingerprintOf as productFingerprint } from '../../../operator/security/fingerprint.ts';
import { deriveKey } from '../../../operator/security/gateway-key.ts';
import { openAccess } from '#kube/access.ts';
import { createKubeClient } from '#kube/client.ts';
import type { KubeClient, KubeRequest } from '#kube/client.ts';
import { startClusterManager } from '../../../programs/cluster-operator/manager.ts';
import type { ClusterManager, ClusterManagerOptions } from '../../../programs/cluster-operator/manager.ts';
import type { MetricsRecorder } from '../../../operator/metrics.ts';
import { kubeClient } from '../../support/kube/client.ts';
import type { KubeAnswer, KubeClient as Admin } from '../../support/kube/client.ts';
import { installCrds } from '../../support/kube/install-crds.ts';
import type { Definition } from '../../support/kube/install-crds.ts';
import { startKubeApiserver } from '../../support/kube-apiserver.ts';
import type { KubeApiserver } from '../../support/kube-apiserver.ts';
import { FakeFleet } from './fake-fleet.ts';

export const GATEWAY_NAMESPACE = 'model-gateway';
const WITHIN_MS = 120_000;
const POLL_MS = 20;

/** An object of the server. */
export type Live = KubeAnswer['body'];

export interface Cluster {
  readonly server: KubeApiserver;
  /** An administrator. */
  readonly admin: Admin;
  readonly kubeconfig: string;
  /** Creates or replaces the objects of a YAML text, as kubectl apply does; rejects with the server's message. */
  apply(text: string): Promise<void>;
  get(kind: Kind | 'Secret', namespace: string, name: string): Promise<Live>;
  list(kind: Kind, namespace?: string): Promise<Live[]>;
  remove(kind: Kind | 'Secret', namespace: string, name: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server with the definitions (today's, or the given YAML texts) and some namespaces. */
export async function startCluster(
  namespaces: readonly string[] = ['team-a', 'team-b'],
  definitions?: readonly string[],
): Promise<Cluster> {
  const server = await startKubeApiserver();
  const admin = kubeClient(server);
  const folder = await mkdtemp(join(tmpdir(), 'mgw-cluster-'));
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigFor(server, server.token), { mode: 0o600 });
  for (const name of [GATEWAY_NAMESPACE, ...namespaces])
    await admin.call('POST', '/api/v1/namespaces', { metadata: { name } });
  await installCrds(
    admin,
    (definitions ?? (await readCrdTexts())).map((text) => parse(text) as Definition),
  );
  const cluster: Cluster = {
    server,
    admin,
    kubeconfig,
    async apply(text) {
      for (const document of parseAllDocuments(text)) {
        const object = document.toJS();
        if (!object) continue;
        const {
          kind,
          metadata: { namespace = GATEWAY_NAMESPACE, name },
        } = object;
        const answer = await admin.call(
          'PATCH',
          `${pathOf(kind, namespace, name)}?fieldManager=test&force=true`,
          {
            apiVersion: API_VERSION,
            ...object,
            metadata: { ...object.metadata, namespace },
          },
          'application/apply-patch+yaml',
        );
        if (answer.status >= 300) throw new Error(answer.body.message);
      }
    },
    async get(kind, namespace, name) {
      const answer = await admin.call('GET', pathOf(kind, namespace, name));
      return answer.status === 200 ? answer.body : undefined;
    },
    list: async (kind, namespace) => (await admin.call('GET', pathOf(kind, namespace, ''))).body.items,
    async remove(kind, namespace, name) {
      const answer = await admin.call('DELETE', pathOf(kind, namespace, name));
      if (answer.status >= 300) throw new Error(answer.body.message);
    },
    async stop() {
      await admin.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return cluster;
}

export function kubeconfigFor({ url, ca }: Pick<KubeApiserver, 'url' | 'ca'>, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [
      {
        name: 'test',
        cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
      },
    ],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: GATEWAY_NAMESPACE } }],
  });
}

export function pathOf(kind: Kind | 'Secret', namespace: string | undefined, name: string): string {
  const base = kind === 'Secret' ? '/api/v1' : `/apis/${API_VERSION}`;
  const plural = kind === 'Secret' ? 'secrets' : KINDS[kind].plural;
  return `${base}${
    namespace === undefined ? '' : `/namespaces/${namespace}`
  }/${plural}${name === '' ? '' : `/${name}`}`;
}

/** Polls; rejects with the last value. */
export async function until<T>(what: string, look: () => Promise<T> | T, holds: (seen: T) => boolean): Promise<T> {
  const deadline = Date.now() + WITHIN_MS;
  let seen = await look();
  while (!holds(seen)) {
    if (Date.now() > deadline)
      throw new Error(`${what}: not within ${WITHIN_MS / 1000} s; seen last: ${shown(seen).slice(0, 2000)}`);
    await delay(POLL_MS);
    seen = await look();
  }
  return seen;
}

/** Deletes an object of the operator; resolves with its data before and after it is back. */
export async function restoredAfterDeletion(
  { admin }: Pick<Cluster, 'admin'>,
  resource: 'secrets' | 'configmaps',
  name: string,
): Promise<{ readonly before: unknown; readonly after: unknown }> {
  const path = `/api/v1/namespaces/${GATEWAY_NAMESPACE}/${resource}/${name}`;
  const read = async (): Promise<Live> => (await admin.call('GET', path)).body;
  const before = await read();
  await admin.call('DELETE', path);
  const after = await until(
    `${name} is back`,
    read,
    ({ metadata }) => metadata?.uid !== undefined && metadata.uid !== before.metadata.uid,
  );
  await until(
    `an Event says that ${name} was restored`,
    async () => (await admin.call('GET', `/apis/events.k8s.io/v1/namespaces/${GATEWAY_NAMESPACE}/events`)).body.items,
    (events) => events.some((event: Live) => event.reason === 'Restored' && event.regarding.name === name),
  );
  return { before: before.data, after: after.data };
}

/** A value as text; of an object first its conditions, because the rest may be long. */
function shown(seen: unknown): string {
  const text = JSON.stringify(seen) ?? '';
  const status =
    typeof seen === 'object' && seen !== null && 'status' in seen ? JSON.stringify(seen.status) : undefined;
  return status === undefined ? text : `status ${status} of ${text}`;
}

/** "Ready=True Ready" and so on, for the current generation. */
export function conditionsOf(object: Live): string[] {
  const conditions: Condition[] = object?.status?.conditions ?? [];
  return conditions.map(
    ({ type, status, reason, observedGeneration }) =>
      `${type}=${status} ${reason}${observedGeneration === object?.metadata.generation ? '' : ' (of before)'}`,
  );
}

export function isReady(object: Live): boolean {
  return conditionsOf(object).includes('Ready=True Ready');
}

/** Counts by "metric label label". */
export function countingMeter(): MetricsRecorder & { count(name: string, ...labels: string[]): number } {
  const counts = new Map<string, number>();
  const keyOf = (name: string, labels: Readonly<Record<string, string>>): string =>
    [name, ...Object.values(labels)].join(' ');
  return {
    add: (name, labels, value) => void counts.set(keyOf(name, labels), (counts.get(keyOf(name, labels)) ?? 0) + value),
    set: (name, labels, value) => void counts.set(keyOf(name, labels), value),
    observe: () => undefined,
    count: (name, ...labels) =>
      [...counts]
        .filter(([key]) => key === [name, ...labels].join(' ') || key.startsWith(`${[name, ...labels].join(' ')} `))
        .reduce((sum, [, value]) => sum + value, 0),
  };
}

export interface Running {
  readonly operator: ClusterManager;
  readonly fleet: FakeFleet;
  readonly meter: ReturnType<typeof countingMeter>;
  readonly logs: unknown[];
  /** The writes in order: "POST path". */
  readonly writes: string[];
  stop(): Promise<void>;
  /** Stops it as a kill does: nothing more reaches the server, and the Lease stays. */
  kill(): Promise<void>;
}

export interface RunOptions extends Partial<Omit<ClusterManagerOptions, 'client' | 'lease'>> {
  readonly proxies?: FakeFleet;
  readonly lease?: Partial<ClusterManagerOptions['lease']>;
  /** Called before each write; if it throws, the request is lost, or its response if it was sent. */
  readonly onWrite?: (request: KubeRequest, send: () => Promise<unknown>) => Promise<unknown>;
  readonly kubeconfig?: string;
}

/** Shared by all replicas of these tests. */
const GATEWAY_KEY = Buffer.alloc(32, 'k');

/** The part of a status about the current key. */
export function fingerprintOf(key: string): string {
  return productFingerprint(key, deriveKey(GATEWAY_KEY, 'fingerprint'));
}

let replicas = 0;

/** Runs an operator on this cluster, with quick elections. */
export function runOperator(
  cluster: Cluster,
  { proxies, lease, onWrite, kubeconfig, waits, ...options }: RunOptions = {},
): Running {
  const fleet = proxies ?? new FakeFleet();
  const meter = countingMeter();
  const logs: unknown[] = [];
  const writes: string[] = [];
  const note = (...line: unknown[]): void => void logs.push(line);
  const real = createKubeClient({
    access: openAccess({ kubeconfig: kubeconfig ?? cluster.kubeconfig, nowMs: () => Date.now() }),
    userAgent: 'test',
    meter,
  });
  let dead = false;
  const client: KubeClient = {
    async request(request) {
      if (dead) throw new Error('killed');
      const isWrite = request.method !== 'GET' && !request.path.includes('/leases');
      if (isWrite) writes.push(`${request.method} ${request.path}`);
      return isWrite && onWrite ? onWrite(request, () => real.request(request)) : real.request(request);
    },
    watch: (path, signal) => real.watch(path, signal),
    close: () => real.close(),
  };
  const operator = startClusterManager({
    client,
    fleet,
    meter,
    gatewayNamespace: GATEWAY_NAMESPACE,
    log: { info: note, warn: note, error: note },
    waits: { settleMs: 200, ...waits },
    gatewayKey: GATEWAY_KEY,
    ...options,
    lease: {
      name: 'model-gateway-operator',
      identity: `replica-${(replicas += 1)}`,
      address: `replica-${replicas}:18000`,
      durationMs: 3000,
      renewWithinMs: 2000,
      retryMs: 300,
      ...lease,
    },
  });
  return {
    operator,
    fleet,
    meter,
    logs,
    writes,
    async stop() {
      await operator.stop();
      await client.close();
    },
    async kill() {
      dead = true;
      await client.close();
      await operator.stop();
    },
  };
}

/** The platform team's objects: a route with its credential, a price, a group for all. */
export const PLATFORM = `
apiVersion: v1
kind: Secret
metadata: {name: openai}
stringData: {apiKey: provider-credential}
---
kind: ModelRoute
metadata: {name: openai, labels: {tier: standard}}
spec:
  models: [{name: gpt, contextTokens: 1000, maxOutputTokens: 100}]
  channels: [{name: direct, protocol: OpenAI, baseUrl: "http://127.0.0.1:1/v1",
    auth: {type: ApiKey, secretRef: {name: openai, key: apiKey}}}]
---
kind: PriceCatalog
metadata: {name: prices}
spec: {models: [{name: gpt, vendor: OpenAI, quotaType: Token, modelRatio: "1"}]}
---
kind: Group
metadata: {name: main}
spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
`;

/** A team's objects: an account and a key. `more` is added to the key's spec. */
export function teamManifest(namespace: string, more = ''): string {
  return `
kind: Account
metadata: {name: team, namespace: ${namespace}}
spec: {grants: [{name: first, usd: "10"}]}
---
kind: ApiKey
metadata: {name: ci, namespace: ${namespace}}
spec: {groupRef: {name: main}, accountRef: {name: team}${more && `, ${more}`}}
`;
}

/** The objects of a whole small gateway. */
export const SCENE = `${PLATFORM}---${teamManifest('team-a')}`;

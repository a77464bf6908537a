/**
 * Measures what one edit among many keys costs the operator: CPU and wall time from the watch event to the published
 * snapshot, and CPU until all is quiet, which is when no status waits to be written. This process runs the complete
 * provider and controller without proxies, and replaces the API server by lists and watches in memory.
 *   node --expose-gc test/bench/reconcile.ts [--keys 10000] [--edits 200] [--kind apikeys|secrets|accounts]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { loadApiKindsSync } from '#crds/load.ts';
import { admitObjects } from '../../operator/sources/cluster/admit-object.ts';
import type { WatchEvent } from '#kube/client.ts';
import { SYSTEM_CLOCK } from '#runtime/clock.ts';
import type { KubeObject } from '#kube/models.ts';
import { provideCluster } from '../../operator/sources/cluster/provider.ts';
import { Controller } from '../../operator/reconcile/controller.ts';
import { createValidPublisher } from '../../operator/reconcile/last-good.ts';
import { clusterKeys } from '../../operator/reconcile/cluster-keys.ts';
import { StatusWriter } from '../../operator/status/writer.ts';
import type { StatusBody } from '#objects/live-object.ts';
import type { StatusTarget } from '../../operator/status/writer.ts';
import { ResourceCache } from '../../operator/xds/resource-cache.ts';
import { createSnapshotChanges } from '../../operator/xds/snapshot-changes.ts';
import { quantilesOf } from './figures.ts';
import { ownCpuMs } from './proc.ts';

const { values } = parseArgs({
  options: {
    keys: {
      type: 'string',
      default: '10000',
    },
    edits: { type: 'string', default: '200' },
    kind: { type: 'string', default: 'apikeys' },
  },
});
const keyCount = Number(values.keys);
const edits = Number(values.edits);
const GATEWAY = 'model-gateway';
const API = 'modelgateway.dev/v1alpha1';
const LOG = { info: () => undefined, warn: console.error, error: console.error };
const METER = { add: () => undefined, set: () => undefined, observe: () => undefined };

interface Meta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
}
interface Manifest extends KubeObject {
  readonly metadata: Meta;
  readonly [field: string]: unknown;
}

let version = 1;

function meta(name: string, namespace: string, generation = 1): Meta {
  return { name, namespace, uid: `${namespace}/${name}`, resourceVersion: String(++version), generation };
}

function object(kind: string, metadata: Meta, spec: object): Manifest {
  return {
    apiVersion: API,
    kind,
    metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z', managedFields: [] } as never,
    spec,
  };
}

function keyOf(n: number, generation: number, enabled: boolean): Manifest {
  const namespace = `team-${n % 100}`;
  return object('ApiKey', meta(`key-${n}`, namespace, generation), {
    gatewayNamespace: GATEWAY,
    enabled,
    groupRef: { name: `group-${n % 10}` },
    accountRef: { name: namespace },
    quota: {
      limitUsd: '25',
      period: 'Monthly',
      whenShort: 'Lower',
    },
    key: { type: 'Generated', rotation: 1, overlapSeconds: 0 },
  });
}

function secretOf(n: number, edit = 0): Manifest {
  const { metadata } = { metadata: meta(`key-${n}-key`, `team-${n % 100}`) };
  return {
    metadata: { ...metadata, labels: { 'modelgateway.dev/api-key': `key-${n}` } } as never,
    data: { apiKey: Buffer.from(`sk-${`${edit}-${n}`.padStart(48, 'x')}`).toString('base64') },
  };
}

function platform(): Map<string, Manifest[]> {
  const teams = Array.from({ length: 100 }, (_, n) =>
    object('Account', meta(`team-${n}`, `team-${n}`), {
      gatewayNamespace: GATEWAY,
      grants: [{ name: 'g', usd: '100' }],
    }),
  );
  const groups = Array.from({ length: 10 }, (_, n) =>
    object('Group', meta(`group-${n}`, GATEWAY), {
      type: 'Direct',
      priceRatio: '1',
      allowedNamespaces: { from: 'All' },
      routes: [{ routeSelector: {} }],
    }),
  );
  const models = (route: number): string[] => Array.from({ length: 20 }, (_, n) => `model-${route * 20 + n}`);
  const routes = Array.from({ length: 10 }, (_, r) =>
    object('ModelRoute', meta(`route-${r}`, GATEWAY), {
      models: models(r).map((name) => ({
        name,
        endpoints: ['Chat'],
        inputs: ['Text'],
        contextTokens: 1000,
        maxOutputTokens: 100,
        imageTokens: 1,
        outputLimitField: 'max_tokens',
        allow: [],
      })),
      clientDisconnect: 'Cancel',
      retry: { attempts: 1 },
      channels: [
        {
          name: 'one',
          protocol: 'OpenAI',
          baseUrl: 'https://api.test/v1',
          priority: 0,
          weight: 1,
          timeouts: { connectSeconds: 1, firstByteSeconds: 9, wholeSeconds: 9, idleSeconds: 9 },
        },
      ],
    }),
  );
  const catalog = object('PriceCatalog', meta('all', GATEWAY), {
    ratioBaseUsd: '2',
    models: routes
      .flatMap((_, r) => models(r))
      .map((name) => ({ name, vendor: 'v', quotaType: 'Token', modelRatio: '1' })),
  });
  const namespaces = Array.from({ length: 100 }, (_, n) => ({
    metadata: { ...meta(`team-${n}`, ''), labels: {} } as never,
  }));
  return new Map([
    ['accounts', teams],
    ['groups', groups],
    ['modelroutes', routes],
    ['pricecatalogs', [catalog]],
    ['namespaces', namespaces],
  ]);
}

/** A watch in memory: `events` yields what `push` queues, until its signal aborts. */
function pipe(): { push(event: WatchEvent): void; events(signal: AbortSignal): AsyncGenerator<WatchEvent> } {
  const waiting: WatchEvent[] = [];
  let wake = (): void => undefined;
  return {
    push(event) {
      waiting.push(event);
      wake();
    },
    async *events(signal) {
      signal.addEventListener('abort', () => wake(), { once: true });
      while (!signal.aborted) {
        yield* waiting.splice(0);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

const collections = platform();
collections.set(
  'apikeys',
  Array.from({ length: keyCount }, (_, n) => keyOf(n, 1, true)),
);
collections.set(
  'secrets',
  Array.from({ length: keyCount }, (_, n) => secretOf(n)),
);
const pipes = new Map([...collections.keys()].map((name) => [name, pipe()]));
const collectionOf = (path: string): string => (path.split('?')[0] ?? '').split('/').at(-1) ?? '';
const client = {
  request: async ({ path }: { readonly path: string }) =>
    ({ metadata: { resourceVersion: String(version) }, items: collections.get(collectionOf(path)) ?? [] }) as never,
  watch: (path: string, signal: AbortSignal) => (pipes.get(collectionOf(path)) ?? pipe()).events(signal),
};

const startCpu = ownCpuMs();
const startedAt = performance.now();
const cache = new ResourceCache();
const takeSnapshot = createSnapshotChanges(cache);
let onPublished = (_changes: number): void => undefined;
let writes = 0;
const MAC_KEY = Buffer.alloc(32);
const provider = provideCluster({
  client,
  clock: SYSTEM_CLOCK,
  meter: METER,
  log: LOG,
  gatewayNamespace: GATEWAY,
  macKey: MAC_KEY,
  admit: admitObjects(loadApiKindsSync()),
  onResources: () => controller.resourcesChanged(),
  onLive: (id) => controller.liveChanged(id),
});
const writer = new StatusWriter({
  clock: SYSTEM_CLOCK,
  meter: METER,
  log: LOG,
  writesPerSecond: 1_000_000,
  desired: (id) => {
    const status = controller.status(id)?.status;
    return status && { ...status };
  },
  live: (id) => {
    const live = provider.objects.live(id);
    return live && { ...live, status: { ...live.status } };
  },
  apply: async (target, _owner, part) => written(target, part),
  remove: async () => 'Written',
});
const controller: Controller = new Controller({
  gatewayNamespace: GATEWAY,
  source: provider,
  statuses: writer,
  clock: SYSTEM_CLOCK,
  meter: METER,
  log: LOG,
  onMinted: () => undefined,
  settleMs: 0,
  keys: clusterKeys({ client, provider, macKey: MAC_KEY, nowMs: () => Date.now(), leading: () => true }),
  proxies: {
    publish: createValidPublisher({
      publish: (snapshot) => onPublished(takeSnapshot(snapshot).reduce((sum, { names }) => sum + names.length, 0)),
      log: LOG,
    }),
    progress: () => ({ version: '1', connected: 20, acknowledged: 20, rejected: [], convergedMs: 5 }),
  },
});

/** Stands in for the API server: takes a status and gives the object its next resourceVersion. */
function written(target: StatusTarget, part: StatusBody): 'Written' {
  writes += 1;
  provider.objects.written({
    apiVersion: API,
    kind: target.kind,
    metadata: { ...target, resourceVersion: String(++version) },
    spec: {},
    status: part,
  } as never);
  return 'Written';
}

await provider.ready;
await controller.start();
const refused = controller
  .statuses()
  .filter(({ status }) => status.conditions.some(({ type, status: holds }) => type === 'Ready' && holds !== 'True'));
if (refused.length > 0) throw new Error(`not every object is ready: ${JSON.stringify(refused[0])}`);
console.log(
  `start → first snapshot with ${keyCount} keys: ${(performance.now() - startedAt).toFixed(0)} ms, CPU ` +
    `${(ownCpuMs() - startCpu).toFixed(0)} ms`,
);
await controller.lead(true);
while (writer.waiting > 0) await delay(20);
await delay(500);
console.log(`${writes} statuses written, CPU ${(ownCpuMs() - startCpu).toFixed(0)} ms since the start`);

/** The nth edit, which changes the object at `index` of the kind that --kind names. */
function editOf(index: number, n: number): Manifest {
  if (values.kind === 'secrets') return secretOf(index, n + 1);
  const team = `team-${index % 100}`;
  if (values.kind === 'accounts')
    return object('Account', meta(team, team, n + 2), {
      gatewayNamespace: GATEWAY,
      grants: [{ name: 'g', usd: String(200 + n) }],
    });
  return keyOf(index, n + 2, n % 2 === 0);
}

const published: number[] = [];
const wall: number[] = [];
const whole: number[] = [];
for (let n = 0; n < edits; n += 1) {
  const index = (n * 7919) % keyCount;
  const edited = editOf(index, n);
  const before = ownCpuMs();
  const at = performance.now();
  await new Promise<void>((resolve) => {
    onPublished = (changes) => {
      if (changes === 0) return;
      published.push(ownCpuMs() - before);
      wall.push(performance.now() - at);
      resolve();
    };
    pipes.get(values.kind)?.push({ type: 'MODIFIED', object: edited });
  });
  onPublished = () => undefined;
  await delay(15);
  while (writer.waiting > 0) await delay(1);
  whole.push(ownCpuMs() - before);
}
console.log(`CPU, event → published: ${quantilesOf(published)}`);
console.log(`event → published, wall: ${quantilesOf(wall)}`);
console.log(`CPU, event → all quiet: ${quantilesOf(whole)}`);
globalThis.gc?.();
const { rss, heapUsed } = process.memoryUsage();
console.log(
  `${writes} statuses written; resident ${(rss / 2 ** 20).toFixed(0)} MiB, heap ` +
    `${(heapUsed / 2 ** 20).toFixed(0)} MiB`,
);
await Promise.all([controller.stop(), provider.stop()]);

/**
 * An operator in a process of its own, with an API server that is only a list and a pipe: takes spec edits in groups,
 * each published before the next one, first as a follower and then, as many again, as the leader. Prints the heap in
 * use after collections at equal distances, for each role.
 *   node --expose-gc churning-operator.ts KEYS EDITS-PER-ROLE [EDITS-PER-GROUP]
 */
import { loadApiKindsSync } from '#crds/load.ts';
import { SYSTEM_CLOCK } from '#runtime/clock.ts';
import { admitObjects } from '../../../../operator/sources/cluster/admit-object.ts';
import type { WatchEvent } from '#kube/client.ts';
import { provideCluster } from '../../../../operator/sources/cluster/provider.ts';
import { Controller } from '../../../../operator/reconcile/controller.ts';
import { createValidPublisher } from '../../../../operator/reconcile/last-good.ts';
import { clusterKeys } from '../../../../operator/reconcile/cluster-keys.ts';
import { createClusterCache } from '../../../../operator/store/cluster-cache.ts';
import type { StatusBody } from '#objects/live-object.ts';
import { StatusWriter } from '../../../../operator/status/writer.ts';
import type { StatusTarget } from '../../../../operator/status/writer.ts';
import { startDistribution } from '../../../../operator/xds/distribution.ts';

const [keyCount = 0, edits = 0] = process.argv.slice(2, 4).map(Number);
const groupSize = Number(process.argv[4] ?? 1);
const SAMPLES = 6;
const GATEWAY = 'model-gateway';
const API = 'modelgateway.dev/v1alpha1';
const LOG = { info: () => undefined, warn: console.error, error: console.error, debug: () => undefined };
const METER = { add: () => undefined, set: () => undefined, observe: () => undefined };

let version = 1;
let leads = false;
/** The edits so far. */
let edited = 0;

interface Identity {
  readonly name: string;
  readonly namespace: string;
}

function metadataOf({ name, namespace }: Identity, generation: number) {
  return {
    name,
    namespace,
    uid: `${namespace}/${name}`,
    resourceVersion: String(++version),
    generation,
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
}

function object(kind: string, identity: Identity, spec: object, generation = 1) {
  return { apiVersion: API, kind, metadata: metadataOf(identity, generation), spec };
}

function keyOf(n: number, generation: number) {
  const namespace = `team-${n % 100}`;
  return object(
    'ApiKey',
    { name: `key-${n}`, namespace },
    {
      gatewayNamespace: GATEWAY,
      enabled: generation % 2 === 1,
      groupRef: { name: 'main' },
      accountRef: { name: namespace },
      quota: { limitUsd: '25', period: 'Monthly', whenShort: 'Lower' },
      key: { type: 'Generated', rotation: 1, overlapSeconds: 0 },
    },
    generation,
  );
}

function secretOf(n: number) {
  const metadata = metadataOf({ name: `key-${n}-key`, namespace: `team-${n % 100}` }, 1);
  return {
    metadata: { ...metadata, labels: { 'modelgateway.dev/api-key': `key-${n}` } },
    data: { apiKey: Buffer.from(`sk-${String(n).padStart(48, 'x')}`).toString('base64') },
  };
}

const numbers = Array.from({ length: keyCount }, (_, n) => n);
const collections: Readonly<Record<string, readonly unknown[]>> = {
  apikeys: numbers.map((n) => keyOf(n, 1)),
  secrets: numbers.map(secretOf),
  accounts: Array.from({ length: 100 }, (_, n) =>
    object(
      'Account',
      { name: `team-${n}`, namespace: `team-${n}` },
      { gatewayNamespace: GATEWAY, grants: [{ name: 'g', usd: '100' }] },
    ),
  ),
  groups: [
    object(
      'Group',
      { name: 'main', namespace: GATEWAY },
      {
        type: 'Direct',
        priceRatio: '1',
        allowedNamespaces: { from: 'All' },
        routes: [{ routeSelector: {} }],
      },
    ),
  ],
  namespaces: Array.from({ length: 100 }, (_, n) => ({
    metadata: metadataOf({ name: `team-${n}`, namespace: '' }, 1),
  })),
};
const collectionOf = (path: string): string => (path.split('?')[0] ?? '').split('/').at(-1) ?? '';

/** The events of the watch of ApiKeys; the other watches stay silent. */
const events: WatchEvent[] = [];
let wake = (): void => undefined;

async function* watchEvents(path: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
  const watched = collectionOf(path) === 'apikeys';
  const aborted = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  while (!signal.aborted) {
    if (watched) yield* events.splice(0);
    await Promise.race([
      aborted,
      watched
        ? new Promise<void>((resolve) => {
            wake = resolve;
          })
        : aborted,
    ]);
  }
}

const client = {
  request: ({ path }: { readonly path: string }) =>
    Promise.resolve({
      metadata: { resourceVersion: String(version) },
      items: collections[collectionOf(path)] ?? [],
    }),
  watch: watchEvents,
};

let published = Promise.withResolvers<void>();
const distribution = await startDistribution({
  listen: { host: '127.0.0.1', port: 0 },
  gatewayNamespace: GATEWAY,
  security: { insecure: true },
  log: LOG,
});
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
  onChange: (id) => cache.changed(id),
});
const cache = createClusterCache({
  objects: provider.objects,
  namespaces: () => [],
  covers: () => true,
  after: SYSTEM_CLOCK.after,
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
  apply: (target, _owner, part) => Promise.resolve(written(target, part)),
  remove: () => Promise.resolve('Written'),
});
const controller: Controller = new Controller({
  gatewayNamespace: GATEWAY,
  source: provider,
  statuses: writer,
  clock: SYSTEM_CLOCK,
  meter: METER,
  log: LOG,
  settleMs: 0,
  debounceMs: 0,
  onMinted: () => undefined,
  keys: clusterKeys({
    client,
    provider,
    macKey: MAC_KEY,
    nowMs: () => Date.now(),
    leading: () => leads,
  }),
  proxies: {
    publish: createValidPublisher({
      publish(snapshot) {
        distribution.publish(snapshot);
        published.resolve();
      },
      log: LOG,
    }),
    progress: (id) => distribution.progress(id),
  },
});

/** Responds as an API server: with the object's next version. */
function written(target: StatusTarget, part: StatusBody): 'Written' {
  const answer: unknown = {
    apiVersion: API,
    kind: target.kind,
    metadata: { ...target, resourceVersion: String(++version) },
    spec: {},
    status: part,
  };
  provider.objects.written(answer as Parameters<typeof provider.objects.written>[0]);
  return 'Written';
}

async function heapMiB(): Promise<number> {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** The heap after this many groups of edits. */
async function churn(groups: number): Promise<number[]> {
  const samples: number[] = [];
  for (let group = 0; group < groups; group++) {
    if (group % Math.ceil(groups / SAMPLES) === 0) samples.push(await heapMiB());
    published = Promise.withResolvers();
    for (const end = edited + groupSize; edited < end; edited++)
      events.push({ type: 'MODIFIED', object: keyOf((edited * 7919) % keyCount, edited + 2) });
    wake();
    await published.promise;
  }
  return [...samples, await heapMiB()].map((sample) => Math.round(sample * 10) / 10);
}

await provider.ready;
await controller.start();
cache.list('ApiKey'); // as the console does
const groups = Math.ceil(edits / groupSize);
const heap: Record<string, readonly number[]> = {};
for (const role of ['follower', 'leader']) {
  leads = role === 'leader';
  await controller.lead(leads);
  heap[role] = await churn(groups);
}
console.log(JSON.stringify(heap));
await Promise.all([controller.stop(), provider.stop(), distribution.stop()]);

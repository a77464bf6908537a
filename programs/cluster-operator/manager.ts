/**
 * Composes the watches, leader election, the control loop that publishes the configuration, and the leader's writers of
 * statuses, keys and Events.
 */
import { getHeapStatistics } from 'node:v8';
import type { Logger } from 'pino';
import { ALL_KINDS } from '#crds/kinds.ts';
import { loadApiKindsSync } from '#crds/load.ts';
import type { LedgerReader } from '#ledger/spending.ts';
import { admitObjects } from '../../operator/sources/cluster/admit-object.ts';
import type { KubeClient } from '#kube/client.ts';
import { SYSTEM_CLOCK } from '#runtime/clock.ts';
import type { OperatorClock } from '#runtime/clock.ts';
import { createEventRecorder } from '#kube/events.ts';
import type { EventRecorder } from '#kube/events.ts';
import { startLeaderElection } from '#kube/lease.ts';
import type { LeaderElectionOptions } from '#kube/lease.ts';
import { startListWatch } from '#kube/list-watch.ts';
import type { OwnedRef } from '#kube/owned-object.ts';
import { parseResource } from '#kube/parse-object.ts';
import { provideCluster } from '../../operator/sources/cluster/provider.ts';
import type { ClusterProvider } from '../../operator/sources/cluster/provider.ts';
import { createStatusClient } from '#kube/status-client.ts';
import type { MetricsRecorder } from '../../operator/metrics.ts';
import { Controller } from '../../operator/reconcile/controller.ts';
import { clusterKeys } from '../../operator/reconcile/cluster-keys.ts';
import { knownSpending } from '../../operator/reconcile/known-spending.ts';
import { createValidPublisher } from '../../operator/reconcile/last-good.ts';
import type { KnownSpending } from '../../operator/reconcile/known-spending.ts';
import type { MintedKey } from '../../operator/reconcile/mint-keys.ts';
import type { ObjectStatus } from '../../operator/reconcile/status-tracker.ts';
import type { ProxyDistribution } from '../../operator/xds/distribution.ts';
import { transitionsOf } from '../../operator/status/transitions.ts';
import { createClusterCache } from '../../operator/store/cluster-cache.ts';
import type { ClusterCache } from '#objects/cluster-cache.ts';
import { fingerprintOf, withFingerprints } from '../../operator/security/fingerprint.ts';
import { deriveKey } from '../../operator/security/gateway-key.ts';
import type { LiveObject } from '#objects/live-object.ts';
import type { Resources } from '#objects/resources.ts';
import { createSharedBudget } from '../../operator/status/write-budget.ts';
import { StatusWriter } from '../../operator/status/writer.ts';
import { watchFleet } from '../../operator/sources/cluster/fleet.ts';
import type { Fleet } from '../../operator/sources/cluster/fleet.ts';
import { watchForRemoval } from '../../operator/upkeep/removal.ts';

export interface ClusterManagerOptions {
  readonly client: KubeClient;
  readonly fleet: ProxyDistribution;
  readonly gatewayNamespace: string;
  /** The Service that selects the pods of all proxies; absent: only connected proxies count. */
  readonly proxiesService?: string;
  /** The gateway's own key. */
  readonly gatewayKey: Uint8Array;
  /** Absent: all namespaces. */
  readonly watchNamespaces?: readonly string[];
  /** The labels that usage records carry. */
  readonly usageLabels?: readonly string[] | undefined;
  /** The maximum size of the objects of one namespace, in bytes. Default: a tenth of the heap. */
  readonly namespaceBytes?: number | undefined;
  readonly lease: Pick<
    LeaderElectionOptions,
    'name' | 'identity' | 'address' | 'durationMs' | 'renewWithinMs' | 'retryMs'
  >;
  /** Without a ledger, statuses contain no spending. */
  readonly ledger?: LedgerReader;
  /** Called when this replica becomes the leader. */
  readonly onLead?: () => void;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly meter: MetricsRecorder;
  readonly clock?: OperatorClock;
  /** Shorter intervals, for tests. */
  readonly waits?: {
    readonly idleTimeoutMs?: number;
    readonly settleMs?: number;
    readonly spendingEveryMs?: number;
  };
}

export interface ClusterManager {
  /** Resolves when the first configuration has been published to the proxies. */
  readonly ready: Promise<void>;
  readonly leading: boolean;
  /** Sentences about what prevents readiness or fails at the moment. */
  problems(): readonly string[];
  /** Sets the metric of known objects. */
  countObjects(): void;
  /** True if a configuration has been published to the proxies. */
  readonly published: boolean;
  /** The number of ready proxies that are connected to no operator, as far as this replica knows. */
  readonly missingProxies: number;
  /** The objects that were read, for people who may see them. */
  readonly cache: ClusterCache;
  resources(): Resources;
  /** The statuses as they should be, without secrets. */
  statuses(): readonly ObjectStatus[];
  /** Records an Event at an object of the operator that this replica has restored. */
  recordRestored(object: OwnedRef): void;
  /** The hash of a key that statuses show. */
  keyHashOf(key: string): string;
  /** The spending in the statuses, once they have been read. */
  knownSpending(): Promise<KnownSpending>;
  /** Releases the Lease at once. */
  stop(): Promise<void>;
}

/** An object takes about five times its size as JSON, so that one namespace may take half of the heap. */
const HEAP_SHARE = 10;
const EVENTS = { perSecond: 10, burst: 100 };
const EVENTS_OF_NAMESPACE = { perSecond: 2.5, burst: 25 };
const RESTORED = {
  type: 'Warning',
  reason: 'Restored',
  note: 'The object was deleted or changed. The operator owns it and has restored it.',
} as const;
const NOT_CONNECTED = {
  type: 'Warning',
  reason: 'ProxyNotConnected',
  note:
    'The proxy is ready but not connected to an operator. It continues with its last good configuration, so it ' +
    'misses changes and revocations. See the log of the proxy.',
} as const;

/** Starts at once, and waits for whatever is not available yet. */
export function startClusterManager(options: ClusterManagerOptions): ClusterManager {
  const { client, fleet, gatewayNamespace, gatewayKey, log, meter, clock = SYSTEM_CLOCK, waits = {} } = options;
  let started = false;
  const macKey = deriveKey(gatewayKey, 'previous-keys');
  const fingerprintKey = deriveKey(gatewayKey, 'fingerprint');
  const leading = (): boolean => lease.leading;
  const provider = provideCluster({
    client,
    clock,
    meter,
    log,
    gatewayNamespace,
    macKey,
    ...waits,
    namespaceBytes: options.namespaceBytes ?? getHeapStatistics().heap_size_limit / HEAP_SHARE,
    admit: admitObjects(loadApiKindsSync()),
    ...(options.watchNamespaces && { watchNamespaces: options.watchNamespaces }),
    onResources() {
      removal.check();
      if (started) controller.resourcesChanged();
    },
    onLive: (id) => controller.liveChanged(id),
    onChange: (id) => cache.changed(id),
  });
  const cache = openCache(options, provider, clock);
  const events = recordEvents(options, clock);
  const writable = writableObjects(provider, gatewayNamespace);
  const desired = (id: string): ObjectStatus['status'] | undefined => {
    const status = controller.status(id)?.status;
    return status && withFingerprints(status, fingerprintKey);
  };
  const pods = watchPods({ ...options, clock }, { leading, events, onMissing: () => controller.proxiesChanged() });
  const writer = writeStatuses({ ...options, clock }, { provider, events, leading, desired, writable });
  const controller = new Controller({
    gatewayNamespace,
    source: provider,
    proxies: {
      publish: createValidPublisher({ publish: (snapshot) => fleet.publish(snapshot), log }),
      progress: (id) => (pods ?? fleet).progress(id),
    },
    statuses: writer,
    clock,
    meter,
    log,
    ...waits,
    sealingKeys: [deriveKey(gatewayKey, 'sealing').toString('base64')],
    keys: clusterKeys({ client, provider, macKey, nowMs: () => clock.nowMs(), leading }),
    onMinted: (minted) => recordMinted(minted, { writable, events, meter }),
    onUnserved: ({ id, message }) => recordUnserved(id, message, { writable, events }),
    ...(options.ledger && { ledger: options.ledger }),
    ...(options.usageLabels && { usageLabels: options.usageLabels }),
  });
  const removal = watchForRemoval({
    client,
    clock,
    log,
    gatewayNamespace,
    isDue: () => leading() && provider.isTerminating(gatewayNamespace),
  });
  const unlisten = [
    fleet.onProgress((ids) => controller.progressed(ids)),
    fleet.onNames(() => controller.proxiesChanged()),
    fleet.onRefusal((refusal) => controller.refused(refusal)),
  ];
  const lease = startLeaderElection({
    ...options.lease,
    client,
    clock,
    log,
    namespace: gatewayNamespace,
    onChange(leads, address) {
      meter.set('modelgateway_operator_leader', {}, leads ? 1 : 0);
      fleet.leaderAt(address);
      pods?.leadChanged();
      if (leads) {
        removal.check();
        options.onLead?.();
      }
      controller.lead(leads).catch((error: unknown) => log.error({ err: error }, 'leadership could not be started'));
    },
  });
  const leaseWatch = startListWatch({
    client,
    clock,
    meter,
    log,
    collection: leaseCollection(gatewayNamespace, options.lease.name),
    onReplace: () => lease.changed(),
    onApplied: () => lease.changed(),
    onDeleted: () => lease.changed(),
  });
  const ready = provider.ready.then(async () => {
    await controller.start();
    started = true;
    controller.resourcesChanged(); // publishes what changed during the start
  });
  return {
    ready,
    get leading() {
      return lease.leading;
    },
    get published() {
      return controller.published;
    },
    get missingProxies() {
      return pods?.missing ?? 0;
    },
    cache,
    resources: () => provider.resources(),
    statuses: () => controller.statuses(),
    recordRestored: (object) => events.record({ apiVersion: 'v1', ...object }, RESTORED),
    keyHashOf: (key) => fingerprintOf(key, fingerprintKey),
    async knownSpending() {
      await provider.ready;
      return knownSpending(provider.objects, gatewayNamespace);
    },
    problems: () => [...provider.problems(), ...(pods?.problems() ?? [])],
    countObjects() {
      for (const kind of ALL_KINDS) meter.set('modelgateway_operator_objects', { kind }, provider.objects.count(kind));
      meter.set('modelgateway_operator_objects_left_out', {}, provider.beyondBound);
    },
    async stop() {
      for (const end of unlisten) end();
      // nothing may be written after the Lease is released
      await Promise.all([controller.stop(), removal.stop(), provider.stop(), leaseWatch.stop(), pods?.stop()]);
      await lease.stop();
      await events.stop();
    },
  };
}

type WithClock = ClusterManagerOptions & { readonly clock: OperatorClock };

function openCache(
  { gatewayNamespace, watchNamespaces }: ClusterManagerOptions,
  provider: ClusterProvider,
  clock: OperatorClock,
): ReturnType<typeof createClusterCache> {
  const cache = createClusterCache({
    objects: provider.objects,
    after: clock.after,
    namespaces: () =>
      watchNamespaces ? [gatewayNamespace, ...watchNamespaces] : provider.resources().namespaces.keys(),
    covers: (namespace) => !watchNamespaces || namespace === gatewayNamespace || watchNamespaces.includes(namespace),
  });
  provider.ready.then(
    () => cache.complete(),
    () => undefined,
  );
  return cache;
}

/** Finds an object that may be written: neither it, its namespace nor the gateway's namespace is being deleted. */
type FindWritable = (id: string) => LiveObject | undefined;

function writableObjects(provider: ClusterProvider, gatewayNamespace: string): FindWritable {
  return (id) => {
    const live = provider.objects.live(id);
    if (!live || provider.isTerminating(gatewayNamespace)) return undefined;
    return provider.isTerminating(live.namespace) ? undefined : live;
  };
}

interface PodParts {
  readonly leading: () => boolean;
  readonly events: EventRecorder;
  readonly onMissing: () => void;
}

/** Watches the pods of the proxies, if their Service is known. */
function watchPods(
  { fleet, gatewayNamespace, proxiesService, client, clock, meter, log }: WithClock,
  { leading, events, onMissing }: PodParts,
): Fleet | undefined {
  if (proxiesService === undefined) return undefined;
  return watchFleet({
    proxies: fleet,
    namespace: gatewayNamespace,
    service: proxiesService,
    client,
    clock,
    meter,
    log,
    leading,
    onMissing,
    onLongMissing: (pod) =>
      events.record({ apiVersion: 'v1', kind: 'Pod', namespace: gatewayNamespace, ...pod }, NOT_CONNECTED),
  });
}

function leaseCollection(
  namespace: string,
  name: string,
): { readonly resource: string; readonly path: string; readonly fieldSelector: string } {
  return {
    resource: 'leases',
    path: `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`,
    fieldSelector: `metadata.name=${name}`,
  };
}

function recordEvents({ client, meter, lease }: ClusterManagerOptions, clock: OperatorClock): EventRecorder {
  const budget = createSharedBudget(EVENTS, EVENTS_OF_NAMESPACE);
  return createEventRecorder({
    client,
    clock,
    meter,
    identity: lease.identity,
    allows: (namespace, nowMs) => budget.take(namespace, nowMs),
  });
}

interface WriterParts {
  readonly provider: ClusterProvider;
  readonly events: EventRecorder;
  readonly leading: () => boolean;
  readonly desired: (id: string) => ObjectStatus['status'] | undefined;
  readonly writable: FindWritable;
}

function writeStatuses(
  options: WithClock,
  { provider, events, leading, desired, writable }: WriterParts,
): StatusWriter {
  const { client, gatewayNamespace, meter, log, clock, waits = {} } = options;
  const statuses = createStatusClient({
    client,
    gatewayNamespace,
    leading,
    onWritten: (kind, object) => provider.objects.written(parseResource(kind, object)),
  });
  return new StatusWriter({
    clock,
    meter,
    log,
    ...(waits.spendingEveryMs !== undefined && { spendingEveryMs: waits.spendingEveryMs }),
    desired: (id) => desired(id) && { ...desired(id) },
    live(id) {
      const live = writable(id);
      return live && { ...live, status: { ...live.status } };
    },
    apply: (target, owner, part) => statuses.apply(target, owner, part),
    remove: (target, operations) => statuses.remove(target, operations),
    onWritten(target, now) {
      for (const transition of transitionsOf(target.status, now)) events.record(target, transition);
    },
  });
}

interface EventParts {
  readonly writable: FindWritable;
  readonly events: EventRecorder;
}

/** Records an Event for the owner of an object that no operator serves. */
function recordUnserved(id: string, note: string, { writable, events }: EventParts): void {
  const object = writable(id);
  if (object) events.record(object, { type: 'Warning', reason: 'GatewayNotServed', note });
}

/** Records an Event that a key was created, without the key. */
function recordMinted(
  { namespace, name }: MintedKey,
  { writable, events, meter }: EventParts & { readonly meter: MetricsRecorder },
): void {
  meter.add('modelgateway_operator_keys_made_total', { outcome: 'ok' }, 1);
  const apiKey = writable(`ApiKey ${namespace}/${name}`);
  if (apiKey)
    events.record(apiKey, { type: 'Normal', reason: 'KeyMade', note: 'Generated a key and wrote it to its Secret.' });
}

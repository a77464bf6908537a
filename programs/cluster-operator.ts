/**
 * Composes the operator for a cluster: ports, certificates, manager. The admin port opens first, so that a start that
 * hangs can be examined.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { LedgerReader } from '#ledger/spending.ts';
import type { Ledger } from '../dataplane/ledger/ledger.ts';
import { createAdmin } from '../dataplane/admin/server.ts';
import type { Admin } from '../dataplane/admin/server.ts';
import { openEdge } from './cluster-operator/edge.ts';
import type { Edge } from './cluster-operator/edge.ts';
import type { ClusterConsole } from './cluster-operator/console.ts';
import { keepGatewayKey } from '../operator/security/cluster-gateway-key.ts';
import { startClusterManager } from './cluster-operator/manager.ts';
import type { ClusterManager } from './cluster-operator/manager.ts';
import { problemsOf, readinessOf } from './cluster-operator/readiness.ts';
import { secureXds } from './cluster-operator/security.ts';
import type { ClusterSettings } from './cluster-operator/settings.ts';
import { startWebhook } from './cluster-operator/webhook.ts';
import type { Webhook } from './cluster-operator/webhook.ts';
import type { SharedAccess } from '#kube/access.ts';
import { createPathAuthorizer } from '#kube/authorize-request.ts';
import { createKubeClient } from '#kube/client.ts';
import type { KubeClient } from '#kube/client.ts';
import type { Ownership } from '#kube/owned-object.ts';
import { SYSTEM_CLOCK } from '#runtime/clock.ts';
import type { OperatorClock } from '#runtime/clock.ts';
import { createOperatorMetrics } from '../operator/metrics.ts';
import type { GaugeCollectors, OperatorMetrics } from '../operator/metrics.ts';
import type { KnownSpending } from '../operator/reconcile/known-spending.ts';
import { startDistribution } from '../operator/xds/distribution.ts';
import type { Distribution, DistributionSecurity } from '../operator/xds/distribution.ts';

export interface ClusterOptions {
  readonly settings: ClusterSettings;
  readonly access: SharedAccess;
  /** The gateway's namespace. */
  readonly namespace: string;
  readonly version: string;
  readonly log: Logger;
  /** Absent: statuses contain no spending. */
  readonly ledger?: FleetLedger;
}

interface FleetLedger {
  /** The URL of the store that the fleet shares. */
  readonly url: string;
  /** `refill` returns the spending in the statuses, for a store that has lost its data. */
  readonly open: (refill: () => Promise<KnownSpending>) => Promise<Ledger>;
}

export interface ClusterOperator {
  readonly adminPort: number;
  /** Resolves with the proxies' port once all ports listen. Rejects if one of them cannot be opened. */
  start(): Promise<number>;
  /** Releases the Lease at once, even during the start. */
  stop(): Promise<void>;
}

interface Running {
  keyProblem?: string;
  manager?: ClusterManager;
  distribution?: Distribution;
  edge?: Edge;
  webhook?: Webhook;
  /** Looks at what the operator owns, because this replica has become the leader. */
  readonly looks: (() => void)[];
}

interface Context extends ClusterOptions {
  readonly client: KubeClient;
  readonly metrics: OperatorMetrics;
  readonly running: Running;
}

/** Resolves once the admin port listens. Rejects if it cannot be opened. */
export async function openClusterOperator(options: ClusterOptions): Promise<ClusterOperator> {
  const { access, settings, version } = options;
  const running: Running = { looks: [] };
  const metrics = createOperatorMetrics(collectorsOf(running));
  const client = createKubeClient({ access, userAgent: `model-gateway-operator/${version}`, meter: metrics.meter });
  const context: Context = { ...options, client, metrics, running };
  const ending = new AsyncDisposableStack();
  ending.defer(() => client.close());
  try {
    const admin = ending.adopt(adminOf(context), (each) => each.close());
    const adminPort = await admin.listen(settings.admin.host, settings.admin.port);
    return { adminPort, start: () => start(context, ending), stop: () => ending.disposeAsync() };
  } catch (error) {
    await ending.disposeAsync();
    throw error;
  }
}

async function start(context: Context, ending: AsyncDisposableStack): Promise<number> {
  const {
    settings,
    log,
    client,
    metrics: { meter },
    namespace,
    running,
  } = context;
  const timers = cancellableTimers();
  ending.defer(() => timers.end());
  const ownership = ownershipOf(context, timers.after);
  const security = await openSecurity(context, ownership, ending);
  const distribution = ending.adopt(
    await startDistribution({
      listen: settings.xdsListen,
      gatewayNamespace: namespace,
      security,
      log,
      onAcknowledged: (latencyMs) =>
        meter.observe('modelgateway_operator_xds_acknowledge_duration_seconds', {}, latencyMs / 1000),
    }),
    (each) => each.stop(),
  );
  running.distribution = distribution;
  // starts first, because proxies wait for its certificates
  const webhook = openWebhook(context, ownership, ending);
  webhook.catch(() => undefined); // the code that awaits it reports the failure
  await openEdgePort(context, security, ending);
  const ownKey = ending.adopt(
    keepGatewayKey(ownership, (problem) => {
      running.keyProblem = problem;
    }),
    (each) => each.stop(),
  );
  running.looks.push(() => ownKey.look());
  const gatewayKey = await ownKey.first;
  // the key may arrive while the parts that were started before are stopped
  if (ending.disposed) throw new Error('the operator stopped during its start');
  const ledger = context.ledger && openFleetLedger(context, context.ledger);
  if (ledger) ending.defer(() => ledger.close());
  running.manager = ending.adopt(
    startClusterManager({
      client,
      fleet: distribution,
      gatewayNamespace: namespace,
      gatewayKey,
      log,
      meter,
      ...(settings.watchNamespaces && { watchNamespaces: settings.watchNamespaces }),
      ...(settings.proxiesService !== undefined && { proxiesService: settings.proxiesService }),
      usageLabels: settings.usageLabels,
      namespaceBytes: settings.namespaceMemory,
      ...(ledger && { ledger: ledger.reader }),
      onLead() {
        for (const look of running.looks) look();
      },
      lease: {
        name: settings.leaseName,
        identity: settings.identity ?? `${hostname()}-${randomUUID().slice(0, 8)}`,
        ...(settings.advertise !== undefined && { address: settings.advertise }),
      },
    }),
    (each) => each.stop(),
  );
  void running.manager.ready.then(() => log.info('serving the configuration to the proxies'));
  await webhook;
  await openConsole(context, ownership, ending);
  return distribution.port;
}

/** Before there is a manager, any replica may create what is missing, because pods wait for it. */
function ownershipOf({ client, log, metrics, namespace, running }: Context, after: OperatorClock['after']): Ownership {
  return {
    client,
    clock: { ...SYSTEM_CLOCK, after },
    meter: metrics.meter,
    log,
    namespace,
    leading: () => running.manager?.leading ?? true,
    onRestored(object) {
      log.warn(
        { kind: object.kind, name: object.name },
        'restored an object of the operator that was deleted or changed',
      );
      running.manager?.recordRestored(object);
    },
  };
}

/** Resolves once there are certificates for the proxies' port. */
async function openSecurity(
  { settings, namespace, running }: Context,
  ownership: Ownership,
  ending: AsyncDisposableStack,
): Promise<DistributionSecurity> {
  if (settings.insecureXds) return { insecure: true };
  const security = await secureXds({
    ownership,
    tokenFile: settings.tokenFile,
    serverName: settings.xdsName ?? `model-gateway-operator.${namespace}.svc`,
    serviceAccounts: { proxies: settings.xdsProxies, operators: settings.xdsOperators },
  });
  ending.defer(() => security.stop());
  running.looks.push(() => void security.refresh());
  return security;
}

/** Opens the port for Envoys in front of the fleet, if configured. */
async function openEdgePort(
  context: Context,
  security: DistributionSecurity,
  ending: AsyncDisposableStack,
): Promise<void> {
  const {
    settings,
    client,
    namespace,
    log,
    metrics: { meter },
    running,
  } = context;
  const { envoyXdsListen } = settings;
  if (!envoyXdsListen) return;
  const edge = ending.adopt(
    await openEdge({
      settings: { ...settings, envoyXdsListen },
      client,
      namespace,
      security,
      log,
      meter,
    }),
    (each) => each.stop(),
  );
  running.edge = edge;
  log.info({ xds: edge.port, service: settings.edgeService }, 'Envoys can connect');
}

/** Opens the port on which the API server asks about pods that want a sidecar, if configured. */
async function openWebhook(
  { settings, client, log, metrics, running }: Context,
  ownership: Ownership,
  ending: AsyncDisposableStack,
): Promise<void> {
  const { webhookListen } = settings;
  if (!webhookListen) return;
  const webhook = ending.adopt(
    await startWebhook({
      settings: { ...settings, webhookListen },
      client,
      meter: metrics.meter,
      log,
      ownership: { ...ownership, leading: () => running.manager?.leading ?? false },
    }),
    (each) => each.stop(),
  );
  running.webhook = webhook;
  running.looks.push(() => webhook.look());
  log.info({ port: webhook.port }, 'the sidecar webhook is ready');
}

/** Opens the console's port, if configured. */
async function openConsole(context: Context, ownership: Ownership, ending: AsyncDisposableStack): Promise<void> {
  const {
    settings,
    client,
    access,
    namespace,
    version,
    log,
    metrics: { meter },
    running,
  } = context;
  if (!settings.console || !running.manager) return;
  const { startClusterConsole } = await import('./cluster-operator/console.ts'); // loaded only if it is used
  const page: ClusterConsole = ending.adopt(
    await startClusterConsole({
      settings: { ...settings, console: settings.console },
      ledgerUrl: context.ledger?.url,
      client,
      access,
      namespace,
      version,
      manager: running.manager,
      ownership,
      meter,
      log,
    }),
    (each) => each.stop(),
  );
  running.looks.push(() => page.look());
  log.info({ port: await page.ready }, 'the console is ready');
}

/** Timers that `end` cancels, whatever still waits for them. */
function cancellableTimers(): { readonly after: OperatorClock['after']; readonly end: () => void } {
  const pending = new Set<() => void>();
  let ended = false;
  return {
    after: (ms, run) => {
      if (ended) return () => undefined;
      const cancel = SYSTEM_CLOCK.after(ms, () => {
        pending.delete(cancel);
        run();
      });
      pending.add(cancel);
      return () => {
        pending.delete(cancel);
        cancel();
      };
    },
    end: () => {
      ended = true;
      for (const cancel of pending) cancel();
    },
  };
}

interface OpenedLedger {
  readonly reader: LedgerReader;
  close(): Promise<void>;
}

/** Opens the ledger concurrently, because a store that has lost its data asks for the spending in the statuses. */
function openFleetLedger({ log, running }: Context, { open }: FleetLedger): OpenedLedger {
  const opened = open(async () => (await running.manager?.knownSpending()) ?? { keys: [], accounts: [] });
  opened.catch((error: unknown) => log.error({ err: error }, 'cannot use the ledger; statuses do not show spending'));
  return {
    reader: {
      readKey: async (keyUid, period, account) => (await opened).readKey(keyUid, period, account),
      readAccount: async (account, windows) => (await opened).readAccount(account, windows),
    },
    close: () =>
      opened.then(
        (ledger) => ledger.close(),
        () => undefined,
      ),
  };
}

function adminOf({ metrics, running, settings, namespace, version, client }: Context): Admin {
  return createAdmin({
    mayDump: createPathAuthorizer({ client, path: '/config_dump' }),
    metrics: metrics.registry,
    readiness: () => [
      ...readinessOf(running),
      ...(settings.webhookListen
        ? [
            {
              name: 'webhook',
              ok: running.webhook !== undefined,
              detail: 'its certificates are not ready; see the log',
            },
          ]
        : []),
    ],
    dump: () => ({
      version,
      namespace,
      watchNamespaces: settings.watchNamespaces ?? 'all',
      leading: running.manager?.leading ?? false,
      problems: problemsOf(running),
      proxies: running.distribution?.figures(),
      statuses: running.manager?.statuses() ?? [],
    }),
  });
}

/** Reads the gauges whose values the operator's parts know, at each scrape. */
function collectorsOf(running: Running): GaugeCollectors {
  const figures = (): ReturnType<Distribution['figures']> | undefined => running.distribution?.figures();
  return {
    modelgateway_operator_objects: () => running.manager?.countObjects(),
    modelgateway_operator_proxies(gauge) {
      const { connectedProxies, remoteProxies } = figures() ?? {};
      if (connectedProxies !== undefined) gauge.set({ at: 'here' }, connectedProxies);
      if (remoteProxies !== undefined) gauge.set({ at: 'other_replicas' }, remoteProxies);
    },
    modelgateway_operator_proxies_not_connected: (gauge) => gauge.set(running.manager?.missingProxies ?? 0),
    modelgateway_operator_xds_resources: (gauge) => gauge.set(figures()?.resources ?? 0),
    modelgateway_operator_xds_snapshot_bytes: (gauge) => gauge.set(figures()?.snapshotBytes ?? 0),
    modelgateway_operator_xds_pushes: (gauge) => gauge.set(figures()?.pushesTotal ?? 0),
    modelgateway_operator_xds_rejections: (gauge) => gauge.set(figures()?.rejectionsTotal ?? 0),
  };
}

/**
 * What `mgw operator` does: reaches the API server, opens the ports, and runs until it is told to stop. The admin port answers
 * from the first moment, so that what is still missing can be read there.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { createAdmin } from '../../dataplane/admin/server.ts';
import type { Admin } from '../../dataplane/admin/server.ts';
import type { Ledger, LedgerReader } from '../../dataplane/ledger/ledger.ts';
import { createLogger } from '../../dataplane/telemetry/log.ts';
import type { LogOptions } from '../../dataplane/telemetry/log.ts';
import { NoKubeAccess, openAccess } from '../../operator/kube/access.ts';
import type { KubeAccess, SharedAccess } from '../../operator/kube/access.ts';
import { createKubeClient } from '../../operator/kube/client.ts';
import type { KubeClient } from '../../operator/kube/client.ts';
import { SYSTEM_CLOCK } from '../../operator/kube/clock.ts';
import type { Clock } from '../../operator/kube/clock.ts';
import { startKubernetesOperator } from '../../operator/kubernetes.ts';
import type { KubernetesOperator } from '../../operator/kubernetes.ts';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import type { GaugeCollectors, OperatorMetrics } from '../../operator/metrics.ts';
import { startDistribution } from '../../operator/xds/distribution.ts';
import type { Distribution, DistributionSecurity } from '../../operator/xds/distribution.ts';
import { DEFAULT_GATEWAY_NAMESPACE } from '../defaults.ts';
import { CommandFailed, EXIT } from '../exit.ts';
import { openLedger } from '../open-ledger.ts';
import { formatAddress, urlOf } from '../options.ts';
import type { Address, LedgerPlace } from '../options.ts';
import { explainStart } from '../run/start-errors.ts';
import { listenStopSignals, sayEnded } from '../run/stop-signals.ts';
import { VERSION } from '../version.ts';
import type { ConsoleFlags } from './console.ts';
import { startEdge } from './edge.ts';
import type { Edge } from './edge.ts';
import { problemsOf, readinessOf } from './readiness.ts';
import { secureXds } from './secure-xds.ts';
import { readSettings, startWebhook } from './webhook.ts';
import type { Webhook, WebhookFlags } from './webhook.ts';

/** The flags of `mgw operator`, parsed. */
export interface OperatorFlags extends WebhookFlags, ConsoleFlags {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly watchNamespaces?: readonly string[];
  readonly xdsListen: Address;
  readonly xdsName?: string;
  readonly insecureXds?: boolean;
  readonly tokenFile: string;
  readonly xdsProxies: readonly string[];
  readonly xdsOperators: readonly string[];
  readonly advertise?: string;
  readonly admin: Address;
  readonly ledger?: LedgerPlace;
  readonly leaseName: string;
  readonly identity?: string;
  readonly logLevel: NonNullable<LogOptions['level']>;
  readonly envoyXdsListen?: Address;
  readonly edgeService: string;
  readonly edgeListen: Address;
  readonly edgeTls?: string;
}

interface Running {
  operator?: KubernetesOperator;
  distribution?: Distribution;
  edge?: Edge;
  webhook?: Webhook;
}

interface Context {
  readonly flags: OperatorFlags;
  readonly log: ReturnType<typeof createLogger>;
  readonly access: SharedAccess;
  readonly client: KubeClient;
  readonly metrics: OperatorMetrics;
  readonly namespace: string;
  readonly running: Running;
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;

/** Runs until told to stop; resolves with the exit code. */
export async function runOperator(flags: OperatorFlags): Promise<number> {
  check(flags);
  readSettings(flags, flags.namespace ?? DEFAULT_GATEWAY_NAMESPACE);
  const signals = listenStopSignals();
  const log = createLogger({ level: flags.logLevel });
  const context = prepare(flags, log);
  await using ending = new AsyncDisposableStack();
  ending.defer(() => context.client.close());
  try {
    const admin = ending.adopt(adminOf(context), (each) => each.close());
    const port = await admin.listen(flags.admin.host, flags.admin.port);
    log.info({ server: context.access.server, namespace: context.namespace, admin: urlOf({ ...flags.admin, port }) }, 'the operator starts');
    const started = start(context, ending).then(() => 'started' as const);
    if (await Promise.race([signals.first, started]) === 'started') log.info({ xds: context.running.distribution?.port }, 'proxies can connect');
    const signal = await signals.first;
    log.info({ signal }, 'the lead is given back; proxies go on with what they have');
  } catch (error) {
    throw explainStart(error, portsOf(flags));
  }
  await ending.disposeAsync();
  return sayEnded(signals, log);
}

function portsOf({ admin, xdsListen, envoyXdsListen, webhookListen, console: page }: OperatorFlags): Parameters<typeof explainStart>[1] {
  return [{ flag: '--admin', ...admin }, { flag: '--xds-listen', ...xdsListen }, ...envoyXdsListen ? [{ flag: '--envoy-xds-listen', ...envoyXdsListen }] : [], ...webhookListen ? [{ flag: '--webhook-listen', ...webhookListen }] : [], ...page ? [{ flag: '--console', ...page }] : []];
}

function check({ insecureXds, xdsListen, envoyXdsListen, ledger }: OperatorFlags): void {
  if (insecureXds && envoyXdsListen && !LOOPBACK.test(envoyXdsListen.host))
    throw new CommandFailed(`--insecure-xds: Envoys too are configured without TLS only on a loopback address, such as --envoy-xds-listen 127.0.0.1:${envoyXdsListen.port}; this one is ${formatAddress(envoyXdsListen)}.`, EXIT.usage);
  if (insecureXds && !LOOPBACK.test(xdsListen.host))
    throw new CommandFailed(`--insecure-xds: the configuration holds providers' credentials, so it is given out without TLS only on a loopback address, such as --xds-listen 127.0.0.1:${xdsListen.port}; this one is ${formatAddress(xdsListen)}.`, EXIT.usage);
  if (ledger?.kind === 'file')
    throw new CommandFailed('--ledger: a file belongs to one process, the proxy that writes it. Statuses read the fleet\'s ledger: valkey://HOST:PORT.', EXIT.usage);
}

function prepare(flags: OperatorFlags, log: Context['log']): Context {
  const running: Running = {};
  const metrics = createOperatorMetrics(collectorsOf(running));
  try {
    const access = openAccess({ ...flags.kubeconfig !== undefined && { kubeconfig: flags.kubeconfig }, nowMs: () => Date.now() });
    const client = createKubeClient({ access, userAgent: `model-gateway-operator/${VERSION}`, meter: metrics.meter });
    const namespace = flags.namespace ?? namespaceOf(access, flags) ?? DEFAULT_GATEWAY_NAMESPACE;
    return { flags, log, access, client, metrics, namespace, running };
  } catch (error) {
    if (error instanceof NoKubeAccess) throw new CommandFailed(error.message, EXIT.failed, error);
    throw error;
  }
}

/** A pod's own namespace is the gateway's; the one that a person's kubeconfig happens to name is not. */
function namespaceOf({ namespace }: KubeAccess, { kubeconfig }: OperatorFlags): string | undefined {
  return kubeconfig === undefined && process.env['KUBERNETES_SERVICE_HOST'] !== undefined ? namespace : undefined;
}

async function start(context: Context, ending: AsyncDisposableStack): Promise<void> {
  const { flags, log, client, metrics: { meter }, namespace, running } = context;
  const timers = endingTimers();
  ending.defer(() => timers.end());
  const security = flags.insecureXds ? { insecure: true } as const : await secureXds({
    client, log, namespace, tokenFile: flags.tokenFile, serverName: flags.xdsName ?? `model-gateway-operator.${namespace}.svc`,
    serviceAccounts: { proxies: flags.xdsProxies, operators: flags.xdsOperators },
    leading: () => running.operator?.leading ?? true, after: timers.after,
  });
  if (!security.insecure) ending.defer(() => security.stop());
  const distribution = ending.adopt(await startDistribution({
    listen: flags.xdsListen, gatewayNamespace: namespace, security, log,
    onAcknowledged: (latencyMs) => meter.observe('modelgateway_operator_xds_acknowledge_duration_seconds', {}, latencyMs / 1000),
  }), (each) => each.stop());
  running.distribution = distribution;
  // its certificates, for which proxies wait, do not wait for anything else
  const webhook = openWebhook(context, timers.after, ending);
  webhook.catch(() => undefined); // told where it is waited for
  await openEdge(context, security, ending);
  const ledger = flags.ledger && openFleetLedger(context, flags.ledger);
  if (ledger) ending.defer(() => ledger.close());
  running.operator = ending.adopt(startKubernetesOperator({
    client, fleet: distribution, gatewayNamespace: namespace, log, meter,
    ...flags.watchNamespaces && { watchNamespaces: flags.watchNamespaces },
    ...ledger && { ledger: ledger.reader },
    lease: { name: flags.leaseName, identity: flags.identity ?? `${hostname()}-${randomUUID().slice(0, 8)}`, ...flags.advertise !== undefined && { address: flags.advertise } },
  }), (each) => each.stop());
  void running.operator.ready.then(() => log.info('the configuration is given to the proxies'));
  await webhook;
  await openConsole(context, timers.after, ending);
}

/** The port for Envoys before the fleet, where one is asked for. */
async function openEdge({ flags, client, namespace, log, metrics: { meter }, running }: Context, security: DistributionSecurity, ending: AsyncDisposableStack): Promise<void> {
  const { envoyXdsListen } = flags;
  if (!envoyXdsListen) return;
  const edge = ending.adopt(await startEdge({ flags: { ...flags, envoyXdsListen }, client, namespace, security, log, meter }), (each) => each.stop());
  running.edge = edge;
  log.info({ xds: edge.port, service: flags.edgeService }, 'Envoys can connect');
}

/** The port on which the API server asks about pods that want a sidecar, where one is asked for. */
async function openWebhook({ flags, client, namespace, log, metrics: { meter }, running }: Context, after: Clock['after'], ending: AsyncDisposableStack): Promise<void> {
  const { webhookListen } = flags;
  if (!webhookListen) return;
  running.webhook = ending.adopt(await startWebhook({
    flags: { ...flags, webhookListen }, client, namespace, after, log, meter,
    leading: () => running.operator?.leading ?? false,
  }), (each) => each.stop());
  log.info({ port: running.webhook.port }, 'the API server can ask for sidecars');
}

/** The port for people, where one is asked for. */
async function openConsole(context: Context, after: Clock['after'], ending: AsyncDisposableStack): Promise<void> {
  const { flags, client, access, namespace, log, metrics: { meter }, running } = context;
  if (!flags.console || !running.operator) return;
  const { startClusterConsole } = await import('./console.ts'); // loaded only by who needs it
  const page = ending.adopt(await startClusterConsole({
    flags: { ...flags, console: flags.console }, ledger: flags.ledger, client, access, namespace, operator: running.operator, meter, after, log,
  }), (each) => each.stop());
  log.info({ port: await page.ready }, 'people can sign in to the console');
}

/** Timers that end with the process, whatever still waits for them. */
function endingTimers(): { readonly after: Clock['after']; readonly end: () => void } {
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

/** Opened beside everything else: a store that begins anew asks for what the statuses remember. */
function openFleetLedger({ log, running }: Context, place: LedgerPlace): { readonly reader: LedgerReader; close(): Promise<void> } {
  const opened: Promise<Ledger> = openLedger({
    place, sync: 'normal', dataDir: undefined, log,
    refill: async () => await running.operator?.knownSpending() ?? { keys: [], accounts: [] },
  });
  opened.catch((error: unknown) => log.error({ err: error }, 'the ledger cannot be used; statuses say nothing of spending'));
  return {
    reader: {
      readKey: async (keyUid, period, account) => (await opened).readKey(keyUid, period, account),
      readAccount: async (account) => (await opened).readAccount(account),
    },
    close: () => opened.then((ledger) => ledger.close(), () => undefined),
  };
}

function adminOf({ metrics, running, flags, namespace }: Context): Admin {
  return createAdmin({
    metrics: metrics.registry,
    readiness: () => [...readinessOf(running), ...flags.webhookListen ? [{ name: 'webhook', ok: running.webhook !== undefined, detail: 'its certificates are not there yet; the log says why' }] : []],
    dump: () => ({ version: VERSION, namespace, watchNamespaces: flags.watchNamespaces ?? 'all', leading: running.operator?.leading ?? false, problems: problemsOf(running), proxies: running.distribution?.figures(), statuses: running.operator?.statuses() ?? [] }),
  });
}

/** Reads the gauges whose values the operator's parts know, at each scrape. */
function collectorsOf(running: Running): GaugeCollectors {
  const figures = (): ReturnType<Distribution['figures']> | undefined => running.distribution?.figures();
  return {
    modelgateway_operator_objects: () => running.operator?.countObjects(),
    modelgateway_operator_proxies(gauge) {
      const { connectedProxies, remoteProxies } = figures() ?? {};
      if (connectedProxies !== undefined) gauge.set({ at: 'here' }, connectedProxies);
      if (remoteProxies !== undefined) gauge.set({ at: 'other_replicas' }, remoteProxies);
    },
    modelgateway_operator_xds_resources: (gauge) => gauge.set(figures()?.resources ?? 0),
    modelgateway_operator_xds_snapshot_bytes: (gauge) => gauge.set(figures()?.snapshotBytes ?? 0),
    modelgateway_operator_xds_pushes: (gauge) => gauge.set(figures()?.pushesTotal ?? 0),
    modelgateway_operator_xds_rejections: (gauge) => gauge.set(figures()?.rejectionsTotal ?? 0),
  };
}

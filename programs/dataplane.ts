/**
 * The composition root of the data plane: it starts and drains ledger, state, upstreams, pipeline, HTTP server and
 * admin port. Its configuration comes through apply or install, from a file, an operator or a test.
 */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { ActivityWriter } from '#activity/activity.ts';
import { createActivityRecorder } from '../dataplane/activity/recorder.ts';
import type { ActivityRecorder } from '../dataplane/activity/recorder.ts';

import { createAdmin } from '../dataplane/admin/server.ts';
import type { Admin } from '../dataplane/admin/server.ts';
import { createBodyWorker } from '../dataplane/body-worker/body-worker.ts';
import { every, SYSTEM_CLOCK } from '../dataplane/clock.ts';
import type { Clock, Timers } from '../dataplane/clock.ts';
import { recordJobEnd } from '../dataplane/jobs/record-job-end.ts';
import { pollJob } from '../dataplane/jobs/poll-job.ts';
import { startPoller } from '../dataplane/jobs/poller.ts';
import type { Poller } from '../dataplane/jobs/poller.ts';
import { CallMap } from '../dataplane/ledger/call-map.ts';
import { createLeaseKeeper } from '../dataplane/ledger/lease.ts';
import type { LeaseKeeper } from '../dataplane/ledger/lease.ts';
import { KeptResponses } from '../dataplane/kept/kept-responses.ts';
import type { KeepingOptions } from '../dataplane/kept/kept-values.ts';
import type { ConversationLimits, Ledger } from '../dataplane/ledger/ledger.ts';
import { checkLedger } from '../dataplane/ledger-check.ts';
import type { CallRecord, PipelineDeps, RouteWarning } from '../dataplane/pipeline/context.ts';
import { countRunningCalls } from '../dataplane/pipeline/new-thresholds.ts';
import { createRefusingChannels } from '../dataplane/pipeline/refusing-channels.ts';
import { withTimeout } from '../dataplane/pipeline/settle.ts';
import { buildServer } from '../dataplane/server/app.ts';
import type { ListenAddress } from '../dataplane/listen.ts';
import { MemoryBudget } from '../dataplane/memory-budget.ts';
import type { MemoryLimits } from '../dataplane/memory-budget.ts';
import { createGracefulShutdown } from '../dataplane/server/graceful-shutdown.ts';
import { createInFlight } from '../dataplane/server/in-flight.ts';
import { listenTls } from '../dataplane/server/tls-listener.ts';
import type { TlsListener, TlsMaterial } from '../dataplane/server/tls-listener.ts';
import { redactSnapshot } from '#snapshot/redact.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { validateSnapshot } from '#snapshot/validate.ts';
import type { ApplyResult } from '#snapshot/faults.ts';
import { compileEdit } from '../dataplane/state/compile-edit.ts';
import type { ValidConfig } from '../dataplane/state/compile-edit.ts';
import { compile } from '../dataplane/state/compile.ts';
import { createCurrentState } from '../dataplane/state/current.ts';
import { createMetrics } from '../dataplane/telemetry/metrics.ts';
import type { DistributionStats, Metrics, MetricsOptions } from '../dataplane/telemetry/metrics.ts';
import type { ProcessStats } from '../dataplane/telemetry/process-metrics.ts';
import { IMPLAUSIBLE_STATUS, watchImplausibleUsage } from '../dataplane/telemetry/implausible-usage.ts';
import { createCallTelemetry } from '../dataplane/telemetry/telemetry.ts';
import { createTokenizer } from '../dataplane/tokenizer/tokenizer.ts';
import type { Tokenizer } from '../dataplane/tokenizer/tokenizer.ts';
import { createUpstreams } from '../dataplane/upstream/client.ts';
import { placesOf, readForwardProxies } from '../dataplane/upstream/forward-proxy.ts';
import { isRedirect } from '../dataplane/upstream/retry.ts';
import type { DecoderMemory } from '../dataplane/upstream/decompress.ts';

export interface DataplaneOptions {
  readonly listen: ListenAddress;
  readonly admin: ListenAddress;
  /** A second port that serves the same API over TLS. */
  readonly tls?: { readonly listen: ListenAddress; readonly material: TlsMaterial };
  readonly ledger: Ledger;
  /** Keeps the recent and refused calls that owners of keys see. It is closed when the data plane has drained. */
  readonly activity?: ActivityWriter | undefined;
  readonly log: Logger;
  readonly maxBodyBytes: number;
  /** The limit on all request bodies that are in memory at a time. Default: 256 MiB, or two of the largest. */
  readonly maxBufferedBytes?: number;
  /** The most client connections at a time. Default: 32,768. */
  readonly maxConnections?: number;
  /** What the conversations of one account may be together. Default: 100,000, and 1 GiB. */
  readonly conversationLimits?: ConversationLimits;
  /** Keeps responses of models whose provider keeps none. It is closed when the data plane has drained. */
  readonly keeping?: KeepingOptions | undefined;
  /** The most jobs (videos, background responses) of one key that may run at a time. Default: 500. */
  readonly maxRunningJobs?: number;
  /** A stream without a byte for this many milliseconds gets a ping; 0: never. Default: 10 s. */
  readonly pingAfterMs?: number;
  /** The origins whose pages may call the API from a browser; `*`: any. Default: none. */
  readonly corsOrigins?: readonly string[];
  readonly version: string;
  /** Node's `process`, for the memory and CPU metrics. */
  readonly process?: ProcessStats;
  /** The environment, through which clouds give a pod its identity. Default: empty. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Called when a provider refuses the gateway's credential or model name. */
  readonly onRouteWarning?: (warning: RouteWarning) => void;
  /** The console's URL without a path; it may become known later. */
  readonly consoleUrl?: () => string | undefined;
  /** xDS figures for the metrics; absent if the configuration does not come over the network. */
  readonly distribution?: () => DistributionStats;
  /** True if the configuration is too old to be trusted: calls are then refused. */
  readonly configExpired?: () => boolean;
  /** True if other proxies should get the calls for now: this one is then not ready. Running calls go on. */
  readonly outOfRotation?: () => boolean;
  /** Further parts of /config_dump, by name; they must hold no secret. */
  readonly dump?: Readonly<Record<string, () => unknown>>;
  readonly clock?: Clock;
  /** Default: Node's timers. */
  readonly timers?: Partial<Timers>;
}

/** How calls are limited and served, whichever program serves them. */
export type CallOptions = Pick<
  DataplaneOptions,
  'maxBodyBytes' | 'maxBufferedBytes' | 'maxRunningJobs' | 'conversationLimits' | 'pingAfterMs' | 'corsOrigins'
>;

export interface Dataplane {
  /** Applies a configuration as a whole; a faulty one changes nothing. */
  apply(snapshot: Snapshot): ApplyResult;
  /**
   * Applies a configuration that snapshot/validate has accepted, either as a whole or as an edit of the current one.
   */
  install(config: ValidConfig): void;
  readonly port: number;
  readonly adminPort: number;
  /** The TLS port, and a function that replaces its certificate. */
  readonly tls?: { readonly port: number; renew(material: TlsMaterial): void };
  /**
   * Reports not ready from now on. Calls are still served, and each response closes its connection, until load
   * balancers and clients have left.
   */
  startDraining(): void;
  /** Refuses calls on new connections. Resolves when all calls have ended and everything but the ledger is closed. */
  drain(): Promise<void>;
}

/** Resolves once both ports listen. Rejects if one of them cannot be opened. */
export async function startDataplane(options: DataplaneOptions): Promise<Dataplane> {
  const { log, ledger, clock = SYSTEM_CLOCK } = options;
  const timers = { every, withTimeout, ...options.timers };
  const current = createCurrentState();
  const edge = edgeOptions(options);
  const memory = new MemoryBudget(edge);
  const proxies = readForwardProxies(options.env ?? {});
  if (proxies) log.info(placesOf(proxies), 'connecting to providers through the forward proxies of the environment');
  const upstreams = createUpstreams({
    memory: decoderMemory(memory),
    proxies,
    identity: { env: options.env ?? {}, nowMs: () => clock.nowMs(), random: Math.random },
  });
  const metrics = openMetrics(options, { configured: () => current.get(), monotonicMs: () => clock.monotonicMs() });
  const running = new CallMap<CallRecord>();
  const recorder = recordActivity(options, { clock, every: timers.every, running });
  const telemetry = watchImplausibleUsage(
    createCallTelemetry(metrics, log, recorder && ((report) => recorder.finished(report))),
    { clock, warn: (warning) => warnOfRoute(options, warning) },
  );
  const leases = keepLeases({ ledger, log, telemetry, clock, every: timers.every });
  const inFlight = createInFlight();
  const outOfRotation = (): boolean => options.outOfRotation?.() ?? false;
  const shutdown = createGracefulShutdown(outOfRotation);
  let applied: (() => Snapshot) | undefined;

  const tokenizer = openTokenizer(log);
  const bodyWorker = createBodyWorker({ onFault: (error) => log.error({ err: error }, 'the body worker failed') });
  const deps: PipelineDeps = {
    state: current,
    ledger,
    leases,
    upstreams,
    refusing: createRefusingChannels(clock),
    telemetry,
    tokenizer,
    bodyWorker,
    memory,
    clock,
    running,
    withTimeout: timers.withTimeout,
    consoleUrl: options.consoleUrl,
    maxRunningJobs: options.maxRunningJobs ?? MAX_RUNNING_JOBS,
    conversationLimits: options.conversationLimits ?? CONVERSATION_LIMITS,
    kept: openKept(options, clock),
    pingAfterMs: options.pingAfterMs ?? PING_AFTER_MS,
    random: Math.random,
    warn: (warning) => warnOfRoute(options, warning),
    unkept: (requestId, error) => log.warn({ requestId, err: error }, 'cannot store a response'),
    lostTurn: (requestId, conversation, error) =>
      log.warn({ requestId, conversation, err: error }, 'cannot add a turn to its conversation, which now has a gap'),
    defect: (requestId, error) => log.error({ requestId, err: error }, 'a call failed: internal error'),
  };
  const ledgerCheck = checkLedger(ledger, clock);
  const configured = (): boolean => applied !== undefined && !options.configExpired?.();
  const server = buildServer({ ...deps, ...edge, memory, shutdown, inFlight, configured });
  const admin = createAdmin({
    metrics: { contentType: metrics.registry.contentType, metrics: () => metrics.scrape() },
    readiness: () => [
      { name: 'configuration', ok: configured(), detail: 'no configuration has been applied yet, or it is too old' },
      ledgerCheck(),
      ...(options.outOfRotation
        ? [{ name: 'operator', ok: !outOfRotation(), detail: 'not connected to an operator, while other proxies are' }]
        : []),
      { name: 'draining', ok: !shutdown.draining, detail: 'the process is shutting down' },
      {
        name: 'event loop',
        ok: metrics.recentLagSeconds < MAX_LAG_SECONDS,
        detail: 'requests are waiting for CPU time',
      },
    ],
    dump: () => ({ ...furtherDump(options), snapshot: applied && redactSnapshot(applied()) }),
  });
  await server.listen(options.listen);
  const { tls, adminPort } = await listenFurther(options, server.server, admin).catch(async (error: unknown) => {
    // if one port cannot be opened, the others are closed again
    await Promise.all([server.close(), admin.close()]);
    throw error;
  });

  const poller = pollJobs(deps, { log, every: timers.every, ready: configured });
  const install = ({ snapshot, edit }: ValidConfig): void => {
    const previous = current.get();
    const state = applied && edit ? compileEdit(previous, edit) : compile(snapshot(), previous);
    current.swap(state);
    countRunningCalls(deps);
    upstreams.retain(state.targets);
    applied = snapshot;
    metrics.configApplied(current.generation, clock.nowMs());
  };

  return {
    install,
    apply(snapshot) {
      const rejected = validateSnapshot(snapshot);
      if (rejected.length === 0) install({ snapshot: () => snapshot });
      else metrics.configRejected();
      return rejected.length === 0 ? { accepted: true } : { accepted: false, rejected };
    },
    port: portOf(server.addresses()),
    adminPort,
    ...(tls ? { tls } : {}),
    startDraining: () => shutdown.startDraining(),
    async drain() {
      shutdown.startDraining();
      shutdown.refuseNewConnections();
      await poller.stop();
      // not in a fastify hook, which would time out after ten seconds
      await inFlight.ended();
      await Promise.all([server.close(), tls?.close()]);
      leases.stop();
      await closeAll([tokenizer, bodyWorker, upstreams, recorder, deps.kept]);
      await admin.close();
      metrics.close();
    },
  };
}

function openKept({ keeping }: DataplaneOptions, clock: Clock): KeptResponses | undefined {
  return keeping && new KeptResponses(keeping, clock);
}

async function closeAll(parts: readonly ({ close(): Promise<void> } | undefined)[]): Promise<void> {
  await Promise.all(parts.flatMap((part) => (part ? [part.close()] : [])));
}

/** The decoders of providers' responses count for the process only: an exchange does not know whose call it is. */
function decoderMemory(budget: MemoryBudget): DecoderMemory {
  return {
    take: (bytes) => budget.take(bytes, bytes, undefined) === undefined,
    giveBack: (bytes) => budget.giveBack(bytes, undefined),
  };
}

function openMetrics(
  { version, ledger, process, distribution }: DataplaneOptions,
  further: Pick<MetricsOptions, 'configured' | 'monotonicMs'>,
): Metrics {
  const optional = { ...(process && { process }), ...(distribution && { distribution }) };
  return createMetrics({ version, ledger: () => ledger.gauges(), ...optional, ...further });
}

function recordActivity(
  { activity, log }: DataplaneOptions,
  { clock, every, running }: Pick<PipelineDeps, 'clock' | 'running'> & Pick<Timers, 'every'>,
): ActivityRecorder | undefined {
  return (
    activity &&
    createActivityRecorder({
      writer: activity,
      clock,
      every,
      inFlight: () => [...running.values()].flatMap(({ admitted }) => admitted?.candidate.target.id ?? []),
      onFault: (error) => log.warn({ err: error }, 'cannot store recent and refused calls for the console'),
    })
  );
}

function furtherDump({ dump = {} }: DataplaneOptions): Record<string, unknown> {
  return Object.fromEntries(Object.entries(dump).map(([name, part]) => [name, part()]));
}

interface FurtherPorts {
  readonly tls: TlsListener | undefined;
  readonly adminPort: number;
}

/** Opens the TLS port and the admin port. */
async function listenFurther(options: DataplaneOptions, server: Server, admin: Admin): Promise<FurtherPorts> {
  const {
    tls: wanted,
    admin: { host, port },
  } = options;
  const tls = wanted && (await listenTls(server, wanted.listen, wanted.material));
  try {
    return { tls, adminPort: await admin.listen(host, port) };
  } catch (error) {
    await tls?.close();
    throw error;
  }
}

function warnOfRoute({ log, onRouteWarning }: DataplaneOptions, warning: RouteWarning): void {
  if (warning.recovered) log.info({ ...warning }, 'a provider accepts the credential of a channel again');
  else log.warn({ ...warning }, describeWarning(warning));
  onRouteWarning?.(warning);
}

function describeWarning({ connectError, status }: RouteWarning): string {
  if (connectError !== undefined) return 'a provider cannot be reached';
  if (status === IMPLAUSIBLE_STATUS) return 'a provider reports more usage than calls allowed';
  return isRedirect(status)
    ? 'a provider responds with a redirect, which is not followed: check the baseUrl of the channel'
    : 'a provider rejects the credential or the model name of a channel';
}

function openTokenizer(log: Logger): Tokenizer {
  return createTokenizer({
    onFault: (error) => log.warn({ err: error }, 'the tokenizer failed; tokens are estimated by length'),
  });
}

interface LeaseDeps extends Pick<PipelineDeps, 'ledger' | 'telemetry' | 'clock'>, Pick<Timers, 'every'> {
  readonly log: Logger;
}

/** Renews the holds of running calls. */
function keepLeases({ ledger, telemetry, clock, every, log }: LeaseDeps): LeaseKeeper {
  return createLeaseKeeper({
    ledger,
    monotonicMs: () => clock.monotonicMs(),
    every,
    onRenewal: (outcome, durationMs, error) => {
      telemetry.ledger('progress', durationMs, outcome);
      if (outcome !== 'ok') log.warn({ err: error }, 'cannot renew the holds of running calls');
    },
  });
}

interface PollingOptions extends Pick<Timers, 'every'> {
  readonly log: Logger;
  readonly ready: () => boolean;
}

/** Polls running jobs, so that they are billed even if their clients never ask for the result. */
function pollJobs(deps: PipelineDeps, { log, every, ready }: PollingOptions): Poller {
  return startPoller({
    ledger: deps.ledger,
    poll: (job, signal, reading) => pollJob(deps, job, signal, reading),
    recordEnd: (job, end) => recordJobEnd(deps, job, end),
    nowMs: () => deps.clock.nowMs(),
    ready,
    every,
    onError: (error, job) => {
      if (!job) return log.warn({ err: error }, 'cannot read the jobs to poll from the ledger');
      const {
        jobId,
        origin: { callId, channel },
      } = job;
      const fields = { err: error, job_id: jobId, request_id: callId, channel };
      log.debug(fields, 'cannot poll a job; retrying');
    },
  });
}

const MAX_CONNECTIONS = 32_768;
const PING_AFTER_MS = 10_000;
const MAX_RUNNING_JOBS = 500;
const CONVERSATION_LIMITS: ConversationLimits = { count: 100_000, bytes: 1024 ** 3 };
/** A process whose event loop lags by this much accepts no new connections until it has caught up. */
const MAX_LAG_SECONDS = 1;
const BUFFERED_BYTES = 256 * 1024 * 1024;

type EdgeOptions = MemoryLimits & Required<Pick<DataplaneOptions, 'maxConnections' | 'corsOrigins'>>;

function edgeOptions(options: DataplaneOptions): EdgeOptions {
  const { maxBodyBytes, maxBufferedBytes, maxConnections = MAX_CONNECTIONS, corsOrigins = [] } = options;
  return {
    maxBodyBytes,
    maxBufferedBytes: maxBufferedBytes ?? Math.max(BUFFERED_BYTES, 2 * maxBodyBytes),
    maxConnections,
    corsOrigins,
  };
}

function portOf([address]: readonly (AddressInfo | string)[]): number {
  if (typeof address !== 'object') throw new Error('the server has no address');
  return address.port;
}

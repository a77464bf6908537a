/**
 * The data plane, wired: ledger, state, upstreams, pipeline, HTTP edge and admin port, with a beginning and an end. It
 * takes configuration by apply and knows nothing of where it comes from.
 */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { createAdmin } from './admin/server.ts';
import type { Admin } from './admin/server.ts';
import { SYSTEM_CLOCK } from './clock.ts';
import type { Clock } from './clock.ts';
import { finish } from './jobs/finish.ts';
import { pollJob } from './jobs/poll.ts';
import { startPoller } from './jobs/poller.ts';
import type { Poller, PollerDeps } from './jobs/poller.ts';
import { CallMap } from './ledger/call-map.ts';
import { createLeaseKeeper } from './ledger/lease.ts';
import type { LeaseKeeperDeps } from './ledger/lease.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { PipelineDeps, RouteWarning } from './pipeline/context.ts';
import { countRunningCalls } from './pipeline/new-thresholds.ts';
import { withTimeout } from './pipeline/with-timeout.ts';
import { buildServer } from './server/app.ts';
import type { BodyLimits } from './server/body.ts';
import { createGracefulShutdown } from './server/graceful-shutdown.ts';
import { createInFlight } from './server/in-flight.ts';
import { listenTls } from './server/tls-listener.ts';
import type { TlsListener, TlsMaterial } from './server/tls-listener.ts';
import { redactSnapshot } from './snapshot/redact.ts';
import type { Snapshot } from './snapshot/snapshot.gen.ts';
import { validateSnapshot } from './snapshot/validate.ts';
import type { SnapshotFault } from './snapshot/faults.ts';
import { compileEdit } from './state/compile-edit.ts';
import type { ValidConfig } from './state/compile-edit.ts';
import { compile } from './state/compile.ts';
import type { State } from './state/state.ts';
import { createCurrentState } from './state/current.ts';
import { createMetrics } from './telemetry/metrics.ts';
import type { DistributionFigures } from './telemetry/metrics.ts';
import type { ProcessFigures } from './telemetry/process-metrics.ts';
import { createCallTelemetry } from './telemetry/telemetry.ts';
import { createTokenizer } from './tokenizer/tokenizer.ts';
import type { Tokenizer } from './tokenizer/tokenizer.ts';
import { createUpstreams } from './upstream/client.ts';

export interface DataplaneOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly admin: { readonly host: string; readonly port: number };
  /** Where the same is served over TLS besides. */
  readonly tls?: { readonly listen: { readonly host: string; readonly port: number }; readonly material: TlsMaterial };
  readonly ledger: Ledger;
  readonly log: Logger;
  readonly maxBodyBytes: number;
  /** Of all request bodies together that are held at a time. Default: 256 MiB, or two of the largest. */
  readonly maxBufferedBytes?: number;
  readonly version: string;
  /** Node's `process`, for its memory and CPU in the metrics. */
  readonly process?: ProcessFigures;
  /** Told of each provider that refuses the gateway's credential or model name. */
  readonly onRouteWarning?: (warning: RouteWarning) => void;
  /** Where the configuration comes from over the network: how that goes, for the metrics. */
  readonly distribution?: () => DistributionFigures;
  /** Further parts of /config_dump, by name; they must hold no secret. */
  readonly dump?: Readonly<Record<string, () => unknown>>;
  readonly clock?: Clock;
  readonly timers?: Timers;
}

/** What waits for time to pass; by default the system's timers. */
export interface Timers {
  /** Calls `tick` regularly until the function that it returns is called. */
  readonly every?: LeaseKeeperDeps['every'];
  readonly withTimeout?: PipelineDeps['withTimeout'];
  /** Likewise, for looking at jobs. */
  readonly everyPoll?: PollerDeps['every'];
}

export type ApplyResult = { readonly accepted: true } | { readonly accepted: false; readonly rejected: readonly SnapshotFault[] };

export interface Dataplane {
  /** Puts a configuration in force, whole; a faulty one changes nothing. */
  apply(snapshot: Snapshot): ApplyResult;
  /** Puts in force what snapshot/validate has passed already: whole, or as an edit of what is in force. */
  install(config: ValidConfig): void;
  readonly port: number;
  readonly adminPort: number;
  /** Where TLS is served, with what its certificate is replaced. */
  readonly tls?: { readonly port: number; renew(material: TlsMaterial): void };
  /**
   * Not ready from now on. Calls are taken all the same, and each answer closes its connection, until load balancers
   * and callers have gone.
   */
  leave(): void;
  /**
   * No calls by new connections; resolves when the running ones have ended and everything is closed, the ledger apart.
   */
  drain(): Promise<void>;
}

/** Resolves once both ports answer. Rejects where one of them cannot be had. */
export async function startDataplane(options: DataplaneOptions): Promise<Dataplane> {
  const { log, ledger, clock = SYSTEM_CLOCK, timers = {} } = options;
  const current = createCurrentState();
  const upstreams = createUpstreams();
  const metrics = createMetrics({ version: options.version, ...(options.process && { process: options.process }), ledger: () => ledger.gauges(), ...(options.distribution && { distribution: options.distribution }) });
  const telemetry = createCallTelemetry(metrics, log);
  const leases = keepLeases(options, clock, telemetry);
  const inFlight = createInFlight();
  const shutdown = createGracefulShutdown();
  let applied: (() => Snapshot) | undefined;
  let compiled: State | undefined;

  const deps: PipelineDeps = {
    state: current, ledger, leases, upstreams, telemetry, clock, running: new CallMap(),
    withTimeout: timers.withTimeout ?? withTimeout,
    random: Math.random,
    warn: (warning) => {
      log.warn({ ...warning }, 'a provider refuses the gateway\'s credential or model name');
      options.onRouteWarning?.(warning);
    },
    defect: (requestId, error) => log.error({ requestId, err: error }, 'a call met a defect of the gateway'),
  };
  const tokenizer = openTokenizer(log);
  const server = buildServer({ ...deps, ...bodyLimits(options), tokenizer, shutdown, inFlight, configured: () => applied !== undefined });
  const admin = createAdmin({
    metrics: metrics.registry,
    readiness: () => [
      { name: 'configuration', ok: applied !== undefined, detail: 'none has been applied yet' },
      { name: 'ledger', ...ledgerReadiness(ledger) },
      { name: 'draining', ok: !shutdown.draining, detail: 'this process is shutting down' },
    ],
    dump: () => ({
      ...Object.fromEntries(Object.entries(options.dump ?? {}).map(([name, part]) => [name, part()])),
      snapshot: applied && redactSnapshot(applied()),
    }),
  });
  await server.listen(options.listen);
  const { tls, adminPort } = await openFurther(options, server.server, admin).catch(async (error: unknown) => {
    // a port that cannot be had must not leave another one open
    await Promise.all([server.close(), admin.close()]);
    throw error;
  });

  const poller = openPoller(deps, log, { every: timers.everyPoll, ready: () => applied !== undefined });
  const install = ({ snapshot, edit }: ValidConfig): void => {
    compiled = compiled && edit ? compileEdit(compiled, edit) : compile(snapshot(), compiled);
    current.swap(compiled);
    countRunningCalls(deps);
    upstreams.retain(compiled.targets);
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
    ...tls ? { tls } : {},
    leave: () => shutdown.startDraining(),
    async drain() {
      shutdown.startDraining();
      shutdown.refuseNewConnections();
      await poller.stop();
      // here and not in a hook of the server, which would be given ten seconds
      await inFlight.ended();
      await Promise.all([server.close(), tls?.close()]);
      leases.stop();
      await Promise.all([tokenizer.close(), upstreams.close()]);
      await admin.close();
      metrics.close();
    },
  };
}

/** The ports besides the first one. */
async function openFurther({ tls: wanted, admin: { host, port } }: DataplaneOptions, server: Server, admin: Admin): Promise<{ readonly tls: TlsListener | undefined; readonly adminPort: number }> {
  const tls = wanted && await listenTls(server, wanted.listen, wanted.material);
  try {
    return { tls, adminPort: await admin.listen(host, port) };
  } catch (error) {
    await tls?.close();
    throw error;
  }
}

function openTokenizer(log: Logger): Tokenizer {
  return createTokenizer({ onFault: (error) => log.warn({ err: error }, 'the tokenizer failed; tokens are estimated by length') });
}

/** Renews the holds of running calls. */
function keepLeases({ ledger, log, timers = {} }: DataplaneOptions, clock: Clock, telemetry: PipelineDeps['telemetry']): ReturnType<typeof createLeaseKeeper> {
  return createLeaseKeeper({
    ledger,
    monotonicMs: () => clock.monotonicMs(),
    ...(timers.every ? { every: timers.every } : {}),
    onRenewal: (outcome, durationMs, error) => {
      telemetry.ledger('progress', durationMs, outcome);
      if (outcome !== 'ok') log.warn({ err: error }, 'the holds of running calls could not be renewed');
    },
  });
}

/** Finds out what becomes of jobs whose clients do not ask. */
function openPoller(deps: PipelineDeps, log: Logger, { every, ready }: { readonly every: PollerDeps['every']; readonly ready: PollerDeps['ready'] }): Poller {
  return startPoller({
    ledger: deps.ledger,
    poll: (job, signal) => pollJob(deps, job, signal),
    finish: (job, end) => finish(deps, job, end),
    nowMs: () => deps.clock.nowMs(),
    ready,
    ...(every ? { every } : {}),
    onTrouble: (error, job) => {
      if (job) log.debug({ err: error, job_id: job.jobId, request_id: job.origin.callId, channel: job.origin.channel }, 'a job could not be looked at; it will be again');
      else log.warn({ err: error }, 'the ledger gives no jobs to look at');
    },
  });
}

function ledgerReadiness(ledger: Ledger): { ok: boolean; detail: string } {
  const { ok, reason } = ledger.health?.() ?? { ok: true, reason: '' };
  return { ok, detail: reason };
}

const BUFFERED_BYTES = 256 * 1024 * 1024;

function bodyLimits({ maxBodyBytes, maxBufferedBytes = Math.max(BUFFERED_BYTES, 2 * maxBodyBytes) }: DataplaneOptions): BodyLimits {
  return { maxBodyBytes, maxBufferedBytes };
}

function portOf([address]: readonly (AddressInfo | string)[]): number {
  if (typeof address !== 'object') throw new Error('the server has no address');
  return address.port;
}

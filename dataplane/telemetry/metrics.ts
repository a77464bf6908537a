/** The metrics of a proxy, which reports of finished calls and a read of other sources at each scrape update. */
import { Registry } from 'prom-client';
import { every } from '../clock.ts';
import type { LedgerGauges } from '../ledger/ledger.ts';
import { observeBilling, observeCall, observeResponse } from './call-metrics.ts';
import type { CallReport, CallTelemetry, JobEnd, LateBilling } from './call-report.ts';
import { createSeriesSweep } from './departed-series.ts';
import type { Configured } from './departed-series.ts';
import { measureEventLoopLag } from './event-loop.ts';
import { createKeyTimeouts } from './key-timeouts.ts';
import { registerMetrics } from './metric-set.ts';
import type { Collectors } from './metric-set.ts';
import { METRICS, usd } from './metric-table.ts';
import { processCollectors, setProcessInfo } from './process-metrics.ts';
import type { ProcessStats } from './process-metrics.ts';

/** The state of a configuration that comes over the network. */
export interface DistributionStats {
  readonly connected: boolean;
  /** The number since the start. */
  readonly connections: number;
  /** Unix time in milliseconds; 0: never. */
  readonly lastUpdateMs: number;
  readonly resources: number;
  readonly refused: number;
  /** The time until calls are refused because no operator responds. */
  readonly expiresInMs: number;
}

export interface MetricsOptions {
  /** The program's version. */
  readonly version: string;
  /** Node's `process`; without it, CPU time and memory stay 0. */
  readonly process?: ProcessStats;
  /** Read at each scrape; absent: this process has no ledger. */
  readonly ledger?: () => LedgerGauges;
  /** Read at each scrape; absent: the configuration does not come over the network. */
  readonly distribution?: () => DistributionStats;
  /** Read at each scrape; absent: series stay, whatever the configuration no longer has. */
  readonly configured?: () => Configured;
  /** Default: performance.now. */
  readonly monotonicMs?: () => number;
}

export interface Metrics {
  /** Holds all metrics of METRICS and nothing else. */
  readonly registry: Registry;
  /** The page for a scrape. */
  scrape(): Promise<string>;
  call(report: CallReport): void;
  responded: CallTelemetry['responded'];
  billedLate(late: LateBilling): void;
  jobEnded(end: Pick<JobEnd, 'model' | 'group' | 'end' | 'billing'>): void;
  ledger: CallTelemetry['ledger'];
  configApplied(generation: number, nowMs: number): void;
  configRejected(): void;
  /** The event loop's lag: the 99th percentile over the last ten seconds. */
  readonly recentLagSeconds: number;
  /** Stops the monitor of the event loop. */
  close(): void;
}

/** Creates the metrics in a registry of their own, since several gateways may run in one process. */
export function createMetrics(options: MetricsOptions): Metrics {
  const { version, process, ledger, distribution, configured, monotonicMs = () => performance.now() } = options;
  const registry = new Registry();
  const eventLoop = measureEventLoopLag(every);
  const metrics = registerMetrics(registry, METRICS, {
    ...(ledger && ledgerCollectors(ledger)),
    ...(distribution && distributionCollectors(distribution)),
    ...(process && processCollectors(process)),
    ...(process && { nodejs_heap_size_used_bytes: (gauge) => gauge.set(process.memoryUsage().heapUsed) }),
    modelgateway_event_loop_lag_seconds(gauge) {
      for (const [quantile, seconds] of eventLoop.read()) gauge.set({ quantile }, seconds);
    },
  });
  setProcessInfo(metrics, version, process);
  const keyTimeouts = createKeyTimeouts(metrics);
  const sweep = configured && createSeriesSweep({ metrics, configured, monotonicMs });
  return {
    registry,
    async scrape() {
      const page = await registry.metrics();
      sweep?.();
      return page;
    },
    call(report) {
      observeCall(metrics, report);
      keyTimeouts.observe(report);
    },
    responded: (response) => observeResponse(metrics, response),
    billedLate: (late) => observeBilling(metrics, late),
    jobEnded({ model, group, end, billing }) {
      metrics.modelgateway_jobs_ended_total.inc({ model, group, end });
      observeBilling(metrics, { model, group, billing });
    },
    ledger: (operation, durationMs, outcome) =>
      metrics.modelgateway_ledger_duration_seconds.observe({ operation, outcome }, durationMs / 1000),
    configApplied(generation, nowMs) {
      metrics.modelgateway_config_generation.set(generation);
      metrics.modelgateway_config_last_applied_timestamp_seconds.set(nowMs / 1000);
    },
    configRejected: () => metrics.modelgateway_config_rejected_total.inc({}),
    get recentLagSeconds() {
      return eventLoop.recentSeconds;
    },
    close: () => eventLoop.close(),
  };
}

const SCOPES = ['Key', 'Group', 'Channel'] as const;

function ledgerCollectors(ledger: () => LedgerGauges): Collectors<typeof METRICS> {
  return {
    modelgateway_holds: (gauge) => gauge.set(ledger().holds),
    modelgateway_held_usd: (gauge) => gauge.set(usd(ledger().heldNanoUsd)),
    modelgateway_slots_in_use(gauge) {
      const { slots } = ledger();
      for (const scope of SCOPES) gauge.set({ scope }, slots[scope]);
    },
  };
}

function distributionCollectors(distribution: () => DistributionStats): Collectors<typeof METRICS> {
  return {
    modelgateway_xds_connected: (gauge) => gauge.set(Number(distribution().connected)),
    modelgateway_xds_connections_total: (counter) => counter.set({}, distribution().connections),
    modelgateway_xds_last_update_timestamp_seconds: (gauge) => gauge.set(distribution().lastUpdateMs / 1000),
    modelgateway_xds_config_expires_in_seconds: (gauge) => gauge.set(distribution().expiresInMs / 1000),
    modelgateway_xds_resources: (gauge) => gauge.set(distribution().resources),
    modelgateway_xds_refused_resources: (gauge) => gauge.set(distribution().refused),
  };
}

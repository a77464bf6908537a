/**
 * Metrics in the Prometheus text format, over the table in metric-table.ts: turns a call's report into
 * observations, and reads what is a gauge when it is asked for.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { LedgerGauges } from '../ledger/ledger.ts';
import { createCallObserver, observeBilling } from './call-metrics.ts';
import type { CallReport, CallTelemetry, JobEnd, LateBilling } from './call-report.ts';
import { Pairs } from './kinds.ts';
import { CONTENT_TYPE, createRecorder, usd } from './recorder.ts';
import type { Labels, Recorder } from './recorder.ts';

/** What Node's `process` tells of itself. */
export interface ProcessFigures {
  readonly versions: { readonly node: string };
  cpuUsage(): { readonly user: number; readonly system: number };
  memoryUsage(): { readonly rss: number; readonly heapUsed: number };
}

/** How a configuration that comes over the network is doing. */
export interface DistributionFigures {
  readonly connected: boolean;
  /** Since the start. */
  readonly connections: number;
  /** 0: never. */
  readonly lastUpdateMs: number;
  readonly resources: number;
  readonly refused: number;
}

export interface MetricsOptions {
  /** Of this program. */
  readonly version: string;
  /** Node's `process`; absent: its figures are not served. */
  readonly process?: ProcessFigures;
  /** Asked at each scrape; absent: this process has no ledger. */
  readonly ledger?: () => LedgerGauges;
  /** Asked at each scrape; absent: the configuration does not come over the network. */
  readonly distribution?: () => DistributionFigures;
}

export interface Metrics {
  readonly contentType: string;
  /** The page, as it stands. */
  render(): Promise<string>;
  call(report: CallReport): void;
  billedLate(late: LateBilling): void;
  jobEnded(end: Pick<JobEnd, 'model' | 'group' | 'end'>): void;
  ledger: CallTelemetry['ledger'];
  configApplied(generation: number, nowMs: number): void;
  configRejected(): void;
  /** Stops watching the event loop. */
  close(): void;
}

const NONE: Labels = {};

/** Registers the whole table in a registry of its own. */
export function createMetrics({ version, process, ledger, distribution }: MetricsOptions): Metrics {
  const recorder = createRecorder();
  const eventLoop = watchEventLoop();
  const readProcess = process && processReader(process);
  recorder.set('modelgateway_build_info', { version, node_version: process?.versions.node ?? '' }, 1);
  recorder.set('process_start_time_seconds', NONE, Math.round(performance.timeOrigin) / 1000);
  return {
    contentType: CONTENT_TYPE,
    async render() {
      eventLoop.read(recorder);
      readProcess?.(recorder);
      if (ledger) readLedger(recorder, ledger());
      if (distribution) readDistribution(recorder, distribution());
      return recorder.render();
    },
    call: createCallObserver(recorder),
    billedLate: (late) => observeBilling(recorder, late),
    jobEnded: ({ model, group, end }) => recorder.add('modelgateway_jobs_ended_total', { model, group, end }, 1),
    ledger: createLedgerObserver(recorder),
    configApplied(generation, nowMs) {
      recorder.set('modelgateway_config_generation', NONE, generation);
      recorder.set('modelgateway_config_last_applied_timestamp_seconds', NONE, nowMs / 1000);
    },
    configRejected: () => recorder.add('modelgateway_config_rejected_total', NONE, 1),
    close: () => eventLoop.close(),
  };
}

/** Every call asks the ledger three times, with the same few outcomes. */
function createLedgerObserver(recorder: Recorder): CallTelemetry['ledger'] {
  const known = new Pairs((operation: string, outcome: string) => recorder.series('modelgateway_ledger_duration_seconds', { operation, outcome }));
  return (operation, durationMs, outcome) => known.find(operation, outcome).observe(durationMs / 1000);
}

function readDistribution(recorder: Recorder, { connected, connections, lastUpdateMs, resources, refused }: DistributionFigures): void {
  recorder.set('modelgateway_xds_connected', NONE, Number(connected));
  recorder.set('modelgateway_xds_connections_total', NONE, connections);
  recorder.set('modelgateway_xds_last_update_timestamp_seconds', NONE, lastUpdateMs / 1000);
  recorder.set('modelgateway_xds_resources', NONE, resources);
  recorder.set('modelgateway_xds_refused_resources', NONE, refused);
}

const SCOPES = ['Key', 'Group', 'Channel'] as const;

function readLedger(recorder: Recorder, { holds, heldNanoUsd, slots }: LedgerGauges): void {
  recorder.set('modelgateway_holds', NONE, holds);
  recorder.set('modelgateway_held_usd', NONE, usd(heldNanoUsd));
  for (const scope of SCOPES) recorder.set('modelgateway_slots_in_use', { scope }, slots[scope]);
}

function processReader(process: ProcessFigures): (recorder: Recorder) => void {
  let reported = 0;
  return (recorder) => {
    const { user, system } = process.cpuUsage();
    const total = (user + system) / 1e6;
    recorder.add('process_cpu_seconds_total', NONE, Math.max(0, total - reported));
    reported = total;
    const { rss, heapUsed } = process.memoryUsage();
    recorder.set('process_resident_memory_bytes', NONE, rss);
    recorder.set('nodejs_heap_size_used_bytes', NONE, heapUsed);
  };
}

const RESOLUTION_MS = 10;

function watchEventLoop(): { read(recorder: Recorder): void; close(): void } {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  // what is measured is the time between two ticks of a timer, which is RESOLUTION_MS without any delay
  const lagSeconds = (nanoseconds: number): number => (Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3) : 0);
  return {
    read(recorder) {
      const empty = delays.count === 0;
      for (const [quantile, value] of [['0.5', delays.percentile(50)], ['0.99', delays.percentile(99)], ['1', delays.max]] as const)
        recorder.set('modelgateway_event_loop_lag_seconds', { quantile }, empty ? 0 : lagSeconds(value));
      delays.reset();
    },
    close: () => void delays.disable(),
  };
}

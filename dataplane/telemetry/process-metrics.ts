/**
 * The metrics that every process of the data plane has. prom-client's own default metrics are not used: they would add
 * some thirty families, most of them about V8.
 */
import type { Collectors, MetricSet, MetricTable } from './metric-set.ts';

export const PROCESS_METRICS = {
  modelgateway_build_info: { type: 'gauge', labels: ['version', 'node_version'], help: 'Always 1.' },
  process_cpu_seconds_total: { type: 'counter', labels: [], help: 'CPU time of the process, user and system.' },
  process_resident_memory_bytes: { type: 'gauge', labels: [], help: 'Resident memory of the process.' },
  modelgateway_log_lines_dropped_total: {
    type: 'counter',
    labels: [],
    help: 'Log lines dropped because standard output was not read in time.',
  },
  process_start_time_seconds: { type: 'gauge', labels: [], help: 'When the process started, Unix time.' },
} as const satisfies MetricTable;

/** The part of Node's `process` that the metrics read. */
export interface ProcessStats {
  readonly versions: { readonly node: string };
  /** Microseconds. */
  cpuUsage(): { readonly user: number; readonly system: number };
  /** Bytes. */
  memoryUsage(): { readonly rss: number; readonly heapUsed: number };
  /** Log lines that standard output did not take; absent: the log goes elsewhere. */
  droppedLogLines?(): number;
}

/** Sets the metrics that never change during the life of the process; `version` is this program's. */
export function setProcessInfo(
  metrics: MetricSet<typeof PROCESS_METRICS>,
  version: string,
  process?: ProcessStats,
): void {
  metrics.modelgateway_build_info.set({ version, node_version: process?.versions.node ?? '' }, 1);
  metrics.process_start_time_seconds.set(Math.round(performance.timeOrigin) / 1000);
}

/** Reads CPU time and memory at each scrape. */
export function processCollectors(process: ProcessStats): Collectors<typeof PROCESS_METRICS> {
  return {
    process_cpu_seconds_total(counter) {
      const { user, system } = process.cpuUsage();
      counter.set({}, (user + system) / 1e6);
    },
    modelgateway_log_lines_dropped_total: (counter) => counter.set({}, process.droppedLogLines?.() ?? 0),
    process_resident_memory_bytes: (gauge) => gauge.set(process.memoryUsage().rss),
  };
}

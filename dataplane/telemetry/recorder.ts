/**
 * The table of metrics as registered metrics: how values reach them.
 */
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import { METRICS } from './metric-table.ts';
import type { MetricName, MetricRow } from './metric-table.ts';

/** Values of a metric's labels. */
export type Labels = Readonly<Record<string, string>>;

export interface Recorder {
  /** Adds to a counter. */
  add(name: MetricName, labels: Labels, value: number): void;
  /** Sets a gauge. */
  set(name: MetricName, labels: Labels, value: number): void;
  /** Puts a value into a histogram. */
  observe(name: MetricName, labels: Labels, value: number): void;
}

/** Registers every row of the table. */
export function createRecorder(registry: Registry): Recorder {
  const counters = new Map<string, Counter>();
  const gauges = new Map<string, Gauge>();
  const histograms = new Map<string, Histogram>();
  for (const [name, { type, labels, help, buckets }] of Object.entries<MetricRow>(METRICS)) {
    const configuration = { name, help, labelNames: [...labels], registers: [registry] };
    if (type === 'counter') counters.set(name, new Counter(configuration));
    else if (type === 'gauge') gauges.set(name, new Gauge(configuration));
    else histograms.set(name, new Histogram({ ...configuration, buckets: [...buckets ?? []] }));
  }
  return {
    add: (name, labels, value) => counters.get(name)?.inc(labels, value),
    set: (name, labels, value) => gauges.get(name)?.set(labels, value),
    observe: (name, labels, value) => histograms.get(name)?.observe(labels, value),
  };
}

/** Only for metrics, which are floating-point throughout. */
export function usd(nanoUsd: bigint): number {
  return Number(nanoUsd) / 1e9;
}

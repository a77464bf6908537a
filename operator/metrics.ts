/**
 * The control plane's metrics: their table, prom-client's metrics made from it, and the interface through which the
 * operator's parts write them. Labels are bounded: they are kinds, resources or reasons, never an object's name.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

interface OperatorMetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export const OPERATOR_METRICS = {
  modelgateway_operator_leader: {
    type: 'gauge',
    labels: [],
    help: '1 while this replica is the leader, which writes statuses, Secrets and Events.',
  },
  modelgateway_operator_objects: { type: 'gauge', labels: ['kind'], help: 'Known objects by kind.' },
  modelgateway_operator_objects_left_out: {
    type: 'gauge',
    labels: [],
    help: 'Objects that do not apply because their namespaces exceed the memory limit (TooManyObjects).',
  },
  modelgateway_operator_reconcile_duration_seconds: {
    type: 'histogram',
    labels: [],
    buckets: SECONDS,
    help: 'Time from reading the objects to publishing the configuration.',
  },
  modelgateway_operator_reconcile_errors_total: {
    type: 'counter',
    labels: [],
    help: 'Reconciliations that failed and were retried.',
  },
  modelgateway_operator_lists_total: {
    type: 'counter',
    labels: ['resource', 'outcome'],
    help: 'Complete lists read from the API server, by outcome: ok, failed.',
  },
  modelgateway_operator_watch_restarts_total: {
    type: 'counter',
    labels: ['resource', 'reason'],
    help:
      'Ended watches: closed (by the server, as it does every few minutes), gone (410: listed again), idle (silent ' +
      'for too long), failed.',
  },
  modelgateway_operator_watch_events_total: {
    type: 'counter',
    labels: ['resource'],
    help: 'Changes that watches reported.',
  },
  modelgateway_operator_api_requests_total: {
    type: 'counter',
    labels: ['verb', 'status'],
    help: 'Requests to the API server, by HTTP status ("": no response).',
  },
  modelgateway_operator_console_api_requests_total: {
    type: 'counter',
    labels: ['verb', 'status'],
    help:
      'Requests to the API server that people make through the console, with their own rights, by HTTP status ("": ' +
      'no response).',
  },
  modelgateway_operator_status_writes_total: {
    type: 'counter',
    labels: ['kind', 'manager', 'outcome'],
    help: 'Writes of statuses, by field manager (operator, spending) and outcome: ok, conflict, failed.',
  },
  modelgateway_operator_status_queue: {
    type: 'gauge',
    labels: [],
    help: 'Objects in the queue of status writes.',
  },
  modelgateway_operator_events_total: {
    type: 'counter',
    labels: ['outcome'],
    help: 'Events by outcome: ok, failed, dropped (over the budget).',
  },
  modelgateway_operator_keys_made_total: {
    type: 'counter',
    labels: ['outcome'],
    help: 'Generated keys by outcome: ok, failed.',
  },
  modelgateway_operator_injections_total: {
    type: 'counter',
    labels: ['outcome'],
    help:
      "Pods that request a sidecar, by outcome: injected, unchanged (nothing to do, or another gateway's), " +
      'skipped (the pod cannot have one), denied, failed (the ApiKey could not be read).',
  },
  modelgateway_operator_proxies: {
    type: 'gauge',
    labels: ['at'],
    help: 'Connected proxies: here, and at other replicas as far as they report to this one (the leader).',
  },
  modelgateway_operator_proxies_not_connected: {
    type: 'gauge',
    labels: [],
    help:
      'Ready proxies that are not connected to an operator, at the leader (0 at other replicas, and without ' +
      '--proxies-service).',
  },
  modelgateway_operator_xds_resources: {
    type: 'gauge',
    labels: [],
    help: 'Resources published to the proxies.',
  },
  modelgateway_operator_xds_snapshot_bytes: { type: 'gauge', labels: [], help: 'Size of all published resources.' },
  modelgateway_operator_xds_pushes: {
    type: 'gauge',
    labels: [],
    help: 'Responses sent to proxies since the start.',
  },
  modelgateway_operator_xds_rejections: {
    type: 'gauge',
    labels: [],
    help: 'Resources that proxies have rejected since the start.',
  },
  modelgateway_operator_xds_acknowledge_duration_seconds: {
    type: 'histogram',
    labels: [],
    buckets: SECONDS,
    help: 'Time from sending a response to a proxy to its acknowledgement.',
  },
} as const satisfies Record<string, OperatorMetricRow>;

type Table = typeof OPERATOR_METRICS;
type NameOf<Type> = { [Name in keyof Table]: Table[Name]['type'] extends Type ? Name : never }[keyof Table];
type Labels = Readonly<Record<string, string>>;

/** Through this the operator's parts write their figures. */
export interface MetricsRecorder {
  /** Adds to a counter. */
  add(name: NameOf<'counter'>, labels: Labels, value: number): void;
  /** Sets a gauge. */
  set(name: NameOf<'gauge'>, labels: Labels, value: number): void;
  /** Puts a value into a histogram. */
  observe(name: NameOf<'histogram'>, labels: Labels, value: number): void;
}

/** Functions that update a gauge right before it is scraped, by the gauge's name. */
export type GaugeCollectors = Readonly<Partial<Record<NameOf<'gauge'>, (gauge: Gauge) => void>>>;

export interface OperatorMetrics {
  readonly registry: Registry;
  readonly meter: MetricsRecorder;
}

/** Creates all metrics of the table in a registry of their own. */
export function createOperatorMetrics(collectors: GaugeCollectors = {}): OperatorMetrics {
  const registry = new Registry();
  const collectorOf: Readonly<Record<string, ((gauge: Gauge) => void) | undefined>> = collectors;
  const counters = new Map<string, Counter>();
  const gauges = new Map<string, Gauge>();
  const histograms = new Map<string, Histogram>();
  for (const [name, row] of Object.entries<OperatorMetricRow>(OPERATOR_METRICS)) {
    const { type, labels, help, buckets = [] } = row;
    const config = { name, help, labelNames: labels, registers: [registry] };
    if (type === 'counter') counters.set(name, new Counter(config));
    else if (type === 'histogram') histograms.set(name, new Histogram({ ...config, buckets: [...buckets] }));
    else
      gauges.set(
        name,
        new Gauge({
          ...config,
          collect() {
            collectorOf[name]?.(this);
          },
        }),
      );
  }
  return {
    registry,
    meter: {
      add: (name, labels, value) => counters.get(name)?.inc(labels, value),
      set: (name, labels, value) => gauges.get(name)?.set(labels, value),
      observe: (name, labels, value) => histograms.get(name)?.observe(labels, value),
    },
  };
}

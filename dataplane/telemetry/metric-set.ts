/** Creates prom-client's metrics from a table, which keeps names, labels, help texts and buckets together. */
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';

/** One metric, as a table defines it. */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
  /** Upper bounds of a histogram's buckets, ascending. */
  readonly buckets?: readonly number[];
}

/** Metrics by name. */
export type MetricTable = Readonly<Record<string, MetricRow>>;

type AnyMetric = Counter | Gauge | Histogram;

type MetricOf<Row extends MetricRow> = {
  readonly counter: Counter<Row['labels'][number]>;
  readonly gauge: Gauge<Row['labels'][number]>;
  readonly histogram: Histogram<Row['labels'][number]>;
}[Row['type']];

/** The metrics of a table, by name. */
export type MetricSet<Table extends MetricTable> = { readonly [Name in keyof Table]: MetricOf<Table[Name]> };

/** Functions that update a metric right before it is scraped, by the metric's name. */
export type Collectors<Table extends MetricTable> = {
  readonly [Name in keyof Table]?: (metric: MetricOf<Table[Name]>) => void;
};

/** Creates all metrics of a table in a registry. Throws if the registry already has a metric of the same name. */
export function registerMetrics<Table extends MetricTable>(
  registry: Registry,
  table: Table,
  collectors: Collectors<Table> = {},
): MetricSet<Table> {
  // Object.entries and Object.fromEntries lose each name's type, which the two assertions restore
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const collectorOf = collectors as Readonly<Record<string, (metric: AnyMetric) => void>>;
  const metrics = Object.entries(table).map(([name, row]) => {
    const { help, labels: labelNames, type, buckets = [] } = row;
    const config: MetricConfig = {
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        collectorOf[name]?.(this);
      },
    };
    return [name, createMetric(config, type, buckets)];
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(metrics) as MetricSet<Table>;
}

interface MetricConfig {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly registers: Registry[];
  collect(this: AnyMetric): void;
}

function createMetric(config: MetricConfig, type: MetricRow['type'], buckets: readonly number[]): AnyMetric {
  if (type === 'counter') return new Counter(config);
  if (type === 'gauge') return new Gauge(config);
  return new Histogram({ ...config, buckets: [...buckets] });
}

/** Sets a counter without labels to a value that is counted elsewhere. */
export function setCounter(counter: Counter<never>, value: number): void {
  counter.reset();
  counter.inc(value);
}

/** Creates metrics from a table, which keeps names, labels, help texts and buckets together, in prom-client's registry. */
import { Gauge } from 'prom-client';
import type { Metric, Registry } from 'prom-client';
import { Counter, Histogram } from './series.ts';

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
    const metric = createMetric(registry, name, row, (of) => collectorOf[name]?.(of));
    return [name, metric];
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(metrics) as MetricSet<Table>;
}

function createMetric(
  registry: Registry,
  name: string,
  { type, labels, help, buckets = [] }: MetricRow,
  collect: (metric: AnyMetric) => void,
): AnyMetric {
  if (type === 'gauge') {
    return new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      collect() {
        collect(this);
      },
    });
  }
  const metric = type === 'counter' ? new Counter(labels) : new Histogram(name, labels, buckets);
  const read: object = {
    name,
    get() {
      collect(metric);
      return { name, help, type, values: metric.samples() };
    },
  };
  // prom-client's types admit only its own classes, but a registry needs no more of a metric than its name and `get`
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  registry.registerMetric(read as Metric);
  return metric;
}

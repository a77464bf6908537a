/**
 * The table of metrics as series, and their page in Prometheus' text format. Every call makes a dozen observations, so that
 * what one costs is one look-up in a map and an addition; the page is put together when it is asked for.
 */
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
  /** The page: all metrics in the order of the table. */
  render(): string;
}

/** The version of the format that `render` writes. */
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** One combination of label values. */
interface Series {
  /** `a="x",b="y"`: as the page has them. */
  readonly labels: string;
  /** Of a histogram: the sum of what was observed. */
  value: number;
  /** Of a histogram: how many fell into each bucket, the last one without a bound; empty otherwise. */
  readonly counts: number[];
}

/** One metric with its series, by their label values. */
class Family {
  readonly name: MetricName;
  readonly row: MetricRow;
  readonly #buckets: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor(name: MetricName, row: MetricRow) {
    this.name = name;
    this.row = row;
    this.#buckets = row.buckets ?? [];
    // what has no labels is there from the start, with 0
    if (row.labels.length === 0) this.#open('', {});
  }

  add(labels: Labels, value: number): void {
    this.#find(labels).value += value;
  }

  set(labels: Labels, value: number): void {
    this.#find(labels).value = value;
  }

  observe(labels: Labels, value: number): void {
    const series = this.#find(labels);
    const buckets = this.#buckets;
    let index = 0;
    while (index < buckets.length && value > (buckets[index] ?? 0)) index++;
    series.counts[index] = (series.counts[index] ?? 0) + 1;
    series.value += value;
  }

  #find(labels: Labels): Series {
    let key = '';
    for (const name of this.row.labels) key += `${labels[name] ?? ''}\0`;
    return this.#series.get(key) ?? this.#open(key, labels);
  }

  #open(key: string, labels: Labels): Series {
    const text = this.row.labels.map((name) => `${name}="${escapeValue(labels[name] ?? '')}"`).join(',');
    const counts = this.row.type === 'histogram' ? Array.from({ length: this.#buckets.length + 1 }, () => 0) : [];
    const series: Series = { labels: text, value: 0, counts };
    this.#series.set(key, series);
    return series;
  }

  render(): string {
    const lines = [`# HELP ${this.name} ${escapeHelp(this.row.help)}`, `# TYPE ${this.name} ${this.row.type}`];
    for (const series of this.#series.values()) {
      if (this.row.type === 'histogram') this.#pushHistogram(lines, series);
      else lines.push(`${sample(this.name, series.labels)} ${series.value}`);
    }
    return lines.join('\n');
  }

  /** Buckets are cumulative on the page: each holds what the ones before it hold. */
  #pushHistogram(lines: string[], { labels, value, counts }: Series): void {
    const comma = labels === '' ? '' : ',';
    let seen = 0;
    for (const [index, count] of counts.entries()) {
      seen += count;
      lines.push(`${sample(`${this.name}_bucket`, `${labels}${comma}le="${this.#buckets[index] ?? '+Inf'}"`)} ${seen}`);
    }
    lines.push(`${sample(`${this.name}_sum`, labels)} ${value}`, `${sample(`${this.name}_count`, labels)} ${seen}`);
  }
}

/** Every row of the table. */
export function createRecorder(): Recorder {
  const families = new Map<string, Family>();
  for (const name of Object.keys(METRICS).filter(isMetric)) families.set(name, new Family(name, METRICS[name]));
  return {
    add: (name, labels, value) => families.get(name)?.add(labels, value),
    set: (name, labels, value) => families.get(name)?.set(labels, value),
    observe: (name, labels, value) => families.get(name)?.observe(labels, value),
    render: () => `${[...families.values()].map((family) => family.render()).join('\n')}\n`,
  };
}

/** Only for metrics, which are floating-point throughout. */
export function usd(nanoUsd: bigint): number {
  return Number(nanoUsd) / 1e9;
}

function isMetric(name: string): name is MetricName {
  return name in METRICS;
}

function sample(name: string, labels: string): string {
  return labels === '' ? name : `${name}{${labels}}`;
}

function escapeValue(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

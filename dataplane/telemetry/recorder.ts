/**
 * The table of metrics as series, and their page in Prometheus' text format. Every call makes a dozen observations: whoever
 * makes the same ones again and again keeps their series, so that one costs an addition; the page is put together when it is
 * asked for.
 */
import { METRICS } from './metric-table.ts';
import type { MetricName, MetricRow } from './metric-table.ts';

/** Values of a metric's labels. */
export type Labels = Readonly<Record<string, string>>;

/** One combination of a metric's label values. */
export interface Series {
  /** Adds to a counter. */
  add(value: number): void;
  /** Puts a value into a histogram. */
  observe(value: number): void;
}

export interface Recorder<Name extends string = MetricName> {
  /** The series of these label values, which the page shows from now on; always the same one. */
  series(name: Name, labels: Labels): Series;
  /** Adds to a counter. */
  add(name: Name, labels: Labels, value: number): void;
  /** Sets a gauge. */
  set(name: Name, labels: Labels, value: number): void;
  /** Puts a value into a histogram. */
  observe(name: Name, labels: Labels, value: number): void;
  /** The page: all metrics in the order of the table. */
  render(): string;
}

/** The version of the format that `render` writes. */
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

class CountedSeries implements Series {
  /** `a="x",b="y"`: as the page has them. */
  readonly labels: string;
  /** Of a histogram: the sum of what was observed. */
  value = 0;
  /** Of a histogram: how many fell into each bucket, the last one without a bound; empty otherwise. */
  readonly counts: number[];
  readonly #buckets: readonly number[];

  constructor(labels: string, buckets: readonly number[] | undefined) {
    this.labels = labels;
    this.#buckets = buckets ?? [];
    this.counts = buckets ? Array.from({ length: buckets.length + 1 }, () => 0) : [];
  }

  add(value: number): void {
    this.value += value;
  }

  observe(value: number): void {
    const buckets = this.#buckets;
    let index = 0;
    while (index < buckets.length && value > (buckets[index] ?? 0)) index++;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.value += value;
  }
}

/** One metric with its series, by their label values. */
class Family {
  readonly name: string;
  readonly row: MetricRow;
  readonly #buckets: readonly number[];
  readonly #series = new Map<string, CountedSeries>();

  constructor(name: string, row: MetricRow) {
    this.name = name;
    this.row = row;
    this.#buckets = row.buckets ?? [];
    // what has no labels is there from the start, with 0
    if (row.labels.length === 0) this.#open('', {});
  }

  find(labels: Labels): CountedSeries {
    let key = '';
    for (const name of this.row.labels) key += `${labels[name] ?? ''}\0`;
    return this.#series.get(key) ?? this.#open(key, labels);
  }

  #open(key: string, labels: Labels): CountedSeries {
    const text = this.row.labels.map((name) => `${name}="${escapeValue(labels[name] ?? '')}"`).join(',');
    const series = new CountedSeries(text, this.row.type === 'histogram' ? this.#buckets : undefined);
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
  #pushHistogram(lines: string[], { labels, value, counts }: CountedSeries): void {
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
  return recorderOf(METRICS);
}

/** Every row of a table: the data plane's own, or another part's. */
export function recorderOf<Name extends string>(table: Readonly<Record<Name, MetricRow>>): Recorder<Name> {
  const families = new Map(Object.entries<MetricRow>(table).map(([name, row]) => [name, new Family(name, row)]));
  const find = (name: Name, labels: Labels): CountedSeries => {
    const family = families.get(name);
    if (!family) throw new Error(`no metric ${name}`);
    return family.find(labels);
  };
  return {
    series: find,
    add: (name, labels, value) => find(name, labels).add(value),
    set: (name, labels, value) => { find(name, labels).value = value; },
    observe: (name, labels, value) => find(name, labels).observe(value),
    render: () => `${[...families.values()].map((family) => family.render()).join('\n')}\n`,
  };
}

/** Only for metrics, which are floating-point throughout. */
export function usd(nanoUsd: bigint): number {
  return Number(nanoUsd) / 1e9;
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

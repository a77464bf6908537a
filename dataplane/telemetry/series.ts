/**
 * Counters and histograms that only add, since calls add to a dozen series each. prom-client's own check and copy the
 * labels at every addition; of these, its registry reads the samples at a scrape.
 */

/** The value of each label. */
export type Labels<Name extends string = string> = Readonly<Record<Name, string | number>>;

/** One line of the page for scrapes. */
export interface Sample {
  /** Absent: the metric's own name. */
  readonly metricName?: string;
  readonly labels: Labels;
  /** Labels of all lines of a series, which the registry turns into text once. */
  readonly sharedLabels?: Labels;
  readonly value: number;
}

/** A sum for each combination of label values, in the order in which the combinations first came. */
export class SeriesMap<Name extends string, Sum> {
  readonly names: readonly Name[];
  readonly #zero: () => Sum;
  readonly #series = new Map<string, { readonly labels: Labels; readonly sum: Sum }>();

  /** A metric without labels has its only sum from the start. */
  constructor(names: readonly Name[], zero: () => Sum) {
    this.names = names;
    this.#zero = zero;
    if (names.length === 0) this.#series.set('', { labels: {}, sum: zero() });
  }

  /** Returns the sum to add to; begins a series with it if there is none. */
  sumOf(labels: Labels<Name>): Sum {
    let key = '';
    for (const name of this.names) key += `${labels[name]}\0`;
    const known = this.#series.get(key);
    if (known) return known.sum;
    const sum = this.#zero();
    this.#series.set(key, { labels, sum });
    return sum;
  }

  /** Collects what a function makes of each series. */
  samples(samplesOf: (labels: Labels, sum: Sum) => readonly Sample[]): Sample[] {
    return [...this.#series.values()].flatMap(({ labels, sum }) => samplesOf(labels, sum));
  }

  /** Ends the series whose labels match. */
  removeWhere(matches: (labels: Labels) => boolean): void {
    for (const [key, { labels }] of this.#series) if (matches(labels)) this.#series.delete(key);
  }
}

/** Sums that grow, or follow a sum that is kept elsewhere. */
export class Counter<Name extends string = string> {
  readonly series: SeriesMap<Name, { value: number }>;

  constructor(names: readonly Name[]) {
    this.series = new SeriesMap(names, () => ({ value: 0 }));
  }

  /** Adds to a series. */
  inc(labels: Labels<Name>, value = 1): void {
    this.series.sumOf(labels).value += value;
  }

  /** Takes over a sum that is kept elsewhere. */
  set(labels: Labels<Name>, value: number): void {
    this.series.sumOf(labels).value = value;
  }

  /** One line for each series. */
  samples(): Sample[] {
    return this.series.samples((labels, { value }) => [{ labels, value }]);
  }
}

interface Distribution {
  /** The number of values in each bucket alone; the last bucket has no bound. */
  readonly counts: number[];
  total: number;
}

/** Numbers of values by size, and their totals. */
export class Histogram<Name extends string = string> {
  readonly series: SeriesMap<Name, Distribution>;
  readonly #name: string;
  readonly #bounds: readonly number[];

  /** @param bounds the upper bounds of the buckets, ascending */
  constructor(name: string, labels: readonly Name[], bounds: readonly number[]) {
    this.#name = name;
    this.#bounds = [...bounds, Infinity];
    this.series = new SeriesMap(labels, () => ({ counts: this.#bounds.map(() => 0), total: 0 }));
  }

  /** Counts a value in the bucket with the lowest bound that is not below it. */
  observe(labels: Labels<Name>, value: number): void {
    const sum = this.series.sumOf(labels);
    let bucket = 0;
    for (const bound of this.#bounds) {
      if (value <= bound) break;
      bucket += 1;
    }
    sum.counts[bucket] = (sum.counts[bucket] ?? 0) + 1;
    sum.total += value;
  }

  /** As Prometheus reads them: each bucket counts the values up to its bound, those of smaller buckets too. */
  samples(): Sample[] {
    return this.series.samples((labels, { counts, total }) => {
      let count = 0;
      const buckets = this.#bounds.map((bound, index) => {
        count += counts[index] ?? 0;
        const le = bound === Infinity ? '+Inf' : bound;
        return { metricName: `${this.#name}_bucket`, labels: { le }, sharedLabels: labels, value: count };
      });
      return [
        ...buckets,
        { metricName: `${this.#name}_sum`, labels: {}, sharedLabels: labels, value: total },
        { metricName: `${this.#name}_count`, labels: {}, sharedLabels: labels, value: count },
      ];
    });
  }
}

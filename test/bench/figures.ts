/**
 * [P] Arithmetic of measurements: machines drift, so that ratios are taken within a round, and their median over the
 * rounds.
 */

/** The value below which `percent` of the values lie; 0 if there are none. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0;
}

/** Quantiles of durations in milliseconds, as text. */
export function quantilesOf(ms: readonly number[]): string {
  const at = (percent: number): string => `${percentile(ms, percent).toFixed(1)} ms`;
  return `p50 ${at(50)}, p90 ${at(90)}, p99 ${at(99)}, longest ${at(100)} (${ms.length})`;
}

/** The middle one, or the mean of the two; undefined of nothing. */
export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}

/** The median over the rounds of value / base, both of the same round; rounds that lack one are left out. */
export function medianRatio<R>(
  values: readonly R[],
  bases: readonly R[],
  read: (round: R) => number | undefined,
): number | undefined {
  const ratios = values.flatMap((value, round) => {
    const base = bases[round];
    const [above, below] = [read(value), base === undefined ? undefined : read(base)];
    return above === undefined || below === undefined || below === 0 ? [] : [above / below];
  });
  return median(ratios);
}

/** The slope of the line of best fit (least squares); undefined for fewer than two points. */
export function slopeOf(points: readonly (readonly [number, number])[]): number | undefined {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return spread > 0 ? points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread : undefined;
}

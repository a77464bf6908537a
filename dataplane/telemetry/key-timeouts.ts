/**
 * Counts the timeouts that each key's calls cause. Tenants can create keys, so only the keys with the most timeouts
 * have a series: a key beyond MAX_KEYS replaces the one with the fewest.
 */
import type { ProxyMetrics } from './call-metrics.ts';
import type { CallReport } from './call-report.ts';

const MAX_KEYS = 50;

export interface KeyTimeouts {
  /** Counts a call whose provider timed out; ignores other calls. */
  observe(report: Pick<CallReport, 'key' | 'timedOut'>): void;
}

export function createKeyTimeouts({ modelgateway_key_timeouts_total: counter }: ProxyMetrics): KeyTimeouts {
  const counts = new Map<string, number>();
  return {
    observe({ key: caller, timedOut }) {
      if (!caller || timedOut !== true) return;
      const key = `${caller.namespace}/${caller.name}`;
      if (!counts.has(key) && counts.size >= MAX_KEYS) {
        const fewest = keyWithFewest(counts);
        counts.delete(fewest);
        counter.series.removeWhere((labels) => labels.key === fewest);
      }
      counts.set(key, (counts.get(key) ?? 0) + 1);
      counter.inc({ key });
    },
  };
}

/** The key with the fewest timeouts; of several, the one counted first. */
function keyWithFewest(counts: ReadonlyMap<string, number>): string {
  let [fewest, least] = ['', Infinity];
  for (const [key, count] of counts) if (count < least) [fewest, least] = [key, count];
  return fewest;
}

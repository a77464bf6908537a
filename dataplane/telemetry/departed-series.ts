/**
 * Removes the series of models, groups and channels that the configuration no longer has. This happens after scrapes, so
 * that each series is told once more with its last sums, and calls cost nothing for it: at the first after a change, and
 * for an hour after one that removed something. A name that comes back later starts again at 0.
 */
import type { ProxyMetrics } from './call-metrics.ts';
import type { Labels } from './series.ts';

/** What the configuration in force has: the models of groups, and channels as "route/channel". */
export interface Configured {
  readonly groups: ReadonlyMap<string, { readonly offers: ReadonlyMap<string, object> }>;
  readonly targets: ReadonlyMap<string, object>;
}

interface Names {
  readonly models: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly channels: ReadonlySet<string>;
}

const NAMES_OF: Readonly<Record<string, keyof Names>> = {
  model: 'models',
  gen_ai_request_model: 'models',
  group: 'groups',
  channel: 'channels',
};

/** Most calls that ran at the change have ended by then; what later ones add stays until the next change. */
const SWEPT_FOR_MS = 3_600_000;

export interface SeriesSweepOptions {
  readonly metrics: ProxyMetrics;
  /** Its maps are other objects once one of their names may have changed. */
  readonly configured: () => Configured;
  readonly monotonicMs: () => number;
}

/** Returns the function to call after each scrape. */
export function createSeriesSweep({ metrics, configured, monotonicMs }: SeriesSweepOptions): () => void {
  const swept = Object.values(metrics)
    .flatMap((metric) => ('series' in metric ? [metric.series] : []))
    .filter(({ names: labels }) => labels.some((label) => NAMES_OF[label] !== undefined));
  let known = configured();
  let names = namesIn(known);
  let untilMs = -Infinity;
  return () => {
    const now = configured();
    const hasChanged = now.groups !== known.groups || now.targets !== known.targets;
    if (hasChanged) {
      const next = namesIn(now);
      if (hasLost(names, next)) untilMs = monotonicMs() + SWEPT_FOR_MS;
      [known, names] = [now, next];
    }
    if (!hasChanged && monotonicMs() >= untilMs) return;
    for (const series of swept) series.removeWhere((labels) => hasDeparted(labels, names));
  };
}

function namesIn({ groups, targets }: Configured): Names {
  const models = new Set([...groups.values()].flatMap(({ offers }) => [...offers.keys()]));
  return { models, groups: new Set(groups.keys()), channels: new Set(targets.keys()) };
}

/** Whether there was a name that is no longer there. */
function hasLost(before: Names, { models, groups, channels }: Names): boolean {
  return (
    !before.models.isSubsetOf(models) || !before.groups.isSubsetOf(groups) || !before.channels.isSubsetOf(channels)
  );
}

/** Series of requests without a configured model have the label "". */
function hasDeparted(labels: Labels, names: Names): boolean {
  return Object.entries(labels).some(([label, value]) => {
    const kind = NAMES_OF[label];
    return kind !== undefined && value !== '' && !names[kind].has(String(value));
  });
}

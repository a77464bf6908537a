/**
 * The fleet as the proxies' Service shows it: which of its ready pods are connected to no operator. Such a proxy goes on
 * with its last good configuration, so what has changed since is not in force everywhere. Statuses name it, and the
 * leader warns of it at its pod.
 */
import { watchEndpoints } from './endpoint-watch.ts';
import type { ListWatchOptions } from '#kube/list-watch.ts';
import { readyPodsOf } from './parse-endpoints.ts';
import type { ServicePod } from './parse-endpoints.ts';
import type { ProxyProgress } from '../../status/programming.ts';
import type { ProxyDistribution } from '../../xds/distribution.ts';

export interface FleetOptions extends Pick<ListWatchOptions, 'client' | 'clock' | 'meter' | 'log'> {
  readonly proxies: Pick<ProxyDistribution, 'progress' | 'connectedNames' | 'onNames'>;
  readonly namespace: string;
  /** The Service that selects all proxy pods. */
  readonly service: string;
  /** Only the leader hears of the proxies of all replicas. */
  readonly leading: () => boolean;
  /** Called when other pods are missing than before. */
  readonly onMissing: () => void;
  /** Called once for each absence that lasts. */
  readonly onLongMissing: (pod: ServicePod) => void;
}

export interface Fleet {
  /** The acknowledgements of an object, with the pods that are missing now. */
  progress(id: string): ProxyProgress | undefined;
  /** Call it when this replica becomes the leader or ceases to be. */
  leadChanged(): void;
  /** The number of ready pods that are connected to no operator. */
  readonly missing: number;
  /** Sentences about what cannot be read at the moment. */
  problems(): readonly string[];
  stop(): Promise<void>;
}

interface Absence {
  readonly pod: ServicePod;
  readonly sinceMs: number;
  told: boolean;
}

/** Longer than a proxy may wait between two attempts to connect, as after a restart of the operators. */
const LONG_MS = 20_000;

/** Starts watching at once. Until the pods are known, none is missing. */
export function watchFleet({ proxies, namespace, service, leading, ...options }: FleetOptions): Fleet {
  const { client, clock, meter, log, onMissing, onLongMissing } = options;
  const findMissing = createMissingPods();
  let pods: ReadonlyMap<string, ServicePod> = new Map();
  /** By uid. */
  let absences = new Map<string, Absence>();
  let cancelCheck: (() => void) | undefined;

  const missing = (): readonly ServicePod[] => (leading() ? findMissing(pods, proxies.connectedNames()) : []);

  function look(): void {
    const before = absences;
    absences = new Map(
      missing().map((pod) => [pod.uid, before.get(pod.uid) ?? { pod, sinceMs: clock.nowMs(), told: false }]),
    );
    checkLater();
    if (absences.size !== before.size || [...absences.keys()].some((uid) => !before.has(uid))) onMissing();
  }

  function checkLater(): void {
    const next = [...absences.values()].filter(({ told }) => !told).map(({ sinceMs }) => sinceMs + LONG_MS);
    if (next.length === 0 || cancelCheck) return;
    cancelCheck = clock.after(Math.max(0, Math.min(...next) - clock.nowMs()), () => {
      cancelCheck = undefined;
      for (const absence of absences.values()) {
        if (absence.told || clock.nowMs() - absence.sinceMs < LONG_MS) continue;
        absence.told = true;
        log.warn({ pod: absence.pod.name }, 'a proxy is ready but not connected to an operator, so it misses changes');
        onLongMissing(absence.pod);
      }
      checkLater();
    });
  }

  const watch = watchEndpoints({
    client,
    clock,
    meter,
    log,
    namespace,
    service,
    onChange(slices) {
      pods = readyPodsOf(slices);
      look();
    },
  });
  const unlisten = proxies.onNames(look);
  return {
    progress(id) {
      const progress = proxies.progress(id);
      return progress && { ...progress, missing: missing().map(({ name }) => name) };
    },
    leadChanged: look,
    get missing() {
      return missing().length;
    },
    problems: () => (watch.problem === undefined ? [] : [`endpointslices: ${watch.problem}`]),
    async stop() {
      unlisten();
      cancelCheck?.();
      await watch.stop();
    },
  };
}

/** Remembers the last result, because it is asked for with every object. */
function createMissingPods(): (
  pods: ReadonlyMap<string, ServicePod>,
  names: ReadonlySet<string> | undefined,
) => readonly ServicePod[] {
  let known: { pods: unknown; names: unknown; missing: readonly ServicePod[] } | undefined;
  return (pods, names) => {
    if (known?.pods !== pods || known.names !== names) {
      const missing = names ? [...pods.values()].filter(({ name }) => !names.has(name)) : [];
      known = { pods, names, missing };
    }
    return known.missing;
  };
}

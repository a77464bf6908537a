/**
 * The shared state of a cluster's consoles: entries of a Secret in the gateway's namespace. The first change makes the
 * Secret. Each replica watches it, and writes only the version that it has read.
 */
import { explainKubeError } from '#kube/errors.ts';
import { ownedObject } from '#kube/owned-object.ts';
import type { OwnedState, OwnedWatch } from '#kube/owned-object.ts';
import { isNewer } from '#objects/relevance.ts';
import { AccessError } from './access.ts';
import type { SharedState } from './shared-state.ts';
import { createMutex } from '#runtime/mutex.ts';

interface ClusterStateOptions extends OwnedWatch {
  readonly namespace: string;
}

export interface ClusterState extends SharedState {
  /** Resolves when the initial state has been read, or when it is stopped before. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

const STATE_SECRET = 'model-gateway-console-memory';
const NOT_KEPT = 'The gateway could not note this in the cluster, so it was not done. Try again in a moment.';

/** Begins to watch at once. */
export function openClusterState({ namespace, ...parts }: ClusterStateOptions): ClusterState {
  const secret = ownedObject(parts.client, { kind: 'Secret', namespace, name: STATE_SECRET });
  const ready = Promise.withResolvers<void>();
  const exclusively = createMutex();
  let known: OwnedState | undefined;

  /** The content of a deleted Secret stays known; the next change creates the Secret again. */
  function keepNewer(state: OwnedState | undefined): void {
    if (state && isNewer(state.resourceVersion, known?.resourceVersion)) known = state;
  }

  const watch = secret.watch(parts, (state) => {
    keepNewer(state);
    ready.resolve();
  });

  return {
    ready: ready.promise,
    read: (entry) => known?.entries[entry] ?? '',
    change: async (entry, edit) => {
      try {
        keepNewer(await exclusively(() => secret.edit(entry, edit)));
      } catch (error) {
        const problem = explainKubeError(error);
        parts.log.warn({ secret: STATE_SECRET, problem }, 'the console could not store its state for all replicas');
        throw new AccessError('Unavailable', NOT_KEPT, { cause: error });
      }
    },
    async stop() {
      ready.resolve();
      await watch.stop();
    },
  };
}

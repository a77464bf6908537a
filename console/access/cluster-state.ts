/**
 * The shared state of a cluster's consoles: entries of a Secret in the gateway's namespace. The first change makes the
 * Secret. Each replica watches it, and writes only the version that it has read.
 */
import { MERGE_PATCH } from '#kube/client.ts';
import type { KubeClient, KubeJson } from '#kube/client.ts';
import { explainKubeError, hasStatus } from '#kube/errors.ts';
import { startListWatch } from '#kube/list-watch.ts';
import type { ListWatchOptions } from '#kube/list-watch.ts';
import { parseSecretObject, pathOfSecrets } from '#kube/parse-object.ts';
import { isNewer } from '#objects/relevance.ts';
import type { SecretObject } from '#objects/resources.ts';
import { AccessError } from './access.ts';
import type { SharedState, StateEntry } from './shared-state.ts';
import { createMutex } from '#runtime/mutex.ts';

interface ClusterStateOptions extends Pick<ListWatchOptions, 'clock' | 'meter' | 'log'> {
  readonly client: Pick<KubeClient, 'request' | 'watch'>;
  readonly namespace: string;
}

export interface ClusterState extends SharedState {
  /** Resolves when the initial state has been read, or when it is stopped before. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

const STATE_SECRET = 'model-gateway-console-memory';
/** A replica reads again after a conflict. In each round one replica succeeds. */
const MAX_ATTEMPTS = 20;
const NOT_KEPT = 'The gateway could not note this in the cluster, so it was not done. Try again in a moment.';

/** Begins to watch at once. */
export function openClusterState({ client, namespace, clock, meter, log }: ClusterStateOptions): ClusterState {
  const folder = pathOfSecrets(namespace);
  const ready = Promise.withResolvers<void>();
  const exclusively = createMutex();
  let known: SecretObject | undefined;

  /** The content of a deleted Secret is kept here; the next change creates the Secret again. */
  function keepNewer(object: KubeJson): void {
    const secret = parseSecretObject(object);
    if (isNewer(secret.live?.resourceVersion, known?.live?.resourceVersion)) known = secret;
  }

  const watch = startListWatch({
    collection: {
      resource: 'secrets/console',
      path: folder,
      fieldSelector: `metadata.name=${STATE_SECRET}`,
    },
    client,
    clock,
    meter,
    log,
    onReplace(objects) {
      for (const object of objects) keepNewer(object);
      ready.resolve();
    },
    onApplied: keepNewer,
    onDeleted: () => undefined,
  });

  async function load(): Promise<SecretObject | undefined> {
    try {
      return parseSecretObject(await client.request({ method: 'GET', path: `${folder}/${STATE_SECRET}` }));
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  }

  /** Rejects with 409 or 404 where somebody else has changed it since it was read. */
  function store(live: SecretObject | undefined, entry: StateEntry, text: string): Promise<KubeJson> {
    const data = { [entry]: Buffer.from(text).toString('base64') };
    if (live?.live) {
      const { uid, resourceVersion } = live.live;
      return client.request({
        method: 'PATCH',
        path: `${folder}/${STATE_SECRET}`,
        contentType: MERGE_PATCH,
        body: { metadata: { uid, resourceVersion }, data },
      });
    }
    const metadata = { name: STATE_SECRET, namespace, labels: { 'app.kubernetes.io/managed-by': 'model-gateway' } };
    return client.request({
      method: 'POST',
      path: folder,
      body: { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, data },
    });
  }

  async function change(entry: StateEntry, edit: (text: string) => string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const live = await load();
      const before = live?.data.get(entry) ?? '';
      const text = edit(before);
      if (text === before) return;
      try {
        keepNewer(await store(live, entry, text));
        return;
      } catch (error) {
        if (!hasStatus(error, 404, 409) || attempt >= MAX_ATTEMPTS) throw error; // else another replica was quicker
      }
    }
  }

  return {
    ready: ready.promise,
    read: (entry) => known?.data.get(entry) ?? '',
    change: (entry, edit) =>
      exclusively(() => change(entry, edit)).catch((error: unknown) => {
        const problem = explainKubeError(error);
        log.warn({ secret: STATE_SECRET, problem }, 'the console could not store its state for all replicas');
        throw new AccessError('Unavailable', NOT_KEPT, { cause: error });
      }),
    async stop() {
      ready.resolve();
      await watch.stop();
    },
  };
}

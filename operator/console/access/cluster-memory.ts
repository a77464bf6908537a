/**
 * What a cluster's consoles remember together: entries of a Secret in the gateway's namespace, made by the first who has something to
 * remember. Each replica watches it, and writes only the version that it has read.
 */
import { MERGE_PATCH } from '../../kube/client.ts';
import type { KubeClient, KubeJson } from '../../kube/client.ts';
import { explainKube, hasStatus } from '../../kube/errors.ts';
import { startListWatch } from '../../kube/list-watch.ts';
import type { ListWatchOptions } from '../../kube/list-watch.ts';
import { parseSecretObject, pathOfSecrets } from '../../kube/parse-object.ts';
import { isNewer } from '../../store/relevance.ts';
import type { SecretObject } from '../../store/resources.ts';
import { AccessError } from './access.ts';
import type { ConsoleMemory, MemoryEntry } from './memory.ts';
import { createMutex } from '../../store/mutex.ts';

interface ClusterMemoryOptions extends Pick<ListWatchOptions, 'clock' | 'meter' | 'log'> {
  readonly client: Pick<KubeClient, 'request' | 'watch'>;
  readonly namespace: string;
}

export interface ClusterMemory extends ConsoleMemory {
  /** Resolves when all is known that was there at the start, or it was stopped before. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

const MEMORY_SECRET = 'model-gateway-console-memory';
/** Each loser of a race reads again; somebody always wins. */
const TRIES = 20;
const NOT_KEPT = 'The gateway could not note this in the cluster, so it was not done. Try again in a moment.';

/** Begins to watch at once. */
export function openClusterMemory({ client, namespace, clock, meter, log }: ClusterMemoryOptions): ClusterMemory {
  const folder = pathOfSecrets(namespace);
  const ready = Promise.withResolvers<void>();
  const inTurn = createMutex();
  let known: SecretObject | undefined;

  /** What has gone is not forgotten here: the next change finds it gone, and makes it anew. */
  function keep(object: KubeJson): void {
    const secret = parseSecretObject(object);
    if (isNewer(secret.live?.resourceVersion, known?.live?.resourceVersion)) known = secret;
  }

  const watch = startListWatch({
    collection: { resource: 'secrets/console', path: folder, fieldSelector: `metadata.name=${MEMORY_SECRET}` }, client, clock, meter, log,
    onReplace(objects) {
      for (const object of objects) keep(object);
      ready.resolve();
    },
    onApplied: keep,
    onDeleted: () => undefined,
  });

  async function load(): Promise<SecretObject | undefined> {
    try {
      return parseSecretObject(await client.request({ method: 'GET', path: `${folder}/${MEMORY_SECRET}` }));
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  }

  /** Rejects with 409 or 404 where it is not what was read any more. */
  function store(live: SecretObject | undefined, entry: MemoryEntry, text: string): Promise<KubeJson> {
    const data = { [entry]: Buffer.from(text).toString('base64') };
    if (live?.live) {
      const { uid, resourceVersion } = live.live;
      return client.request({ method: 'PATCH', path: `${folder}/${MEMORY_SECRET}`, contentType: MERGE_PATCH, body: { metadata: { uid, resourceVersion }, data } });
    }
    const metadata = { name: MEMORY_SECRET, namespace, labels: { 'app.kubernetes.io/managed-by': 'model-gateway' } };
    return client.request({ method: 'POST', path: folder, body: { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, data } });
  }

  async function change(entry: MemoryEntry, edit: (text: string) => string): Promise<void> {
    for (let tries = 1; ; tries++) {
      const live = await load();
      const before = live?.data.get(entry) ?? '';
      const text = edit(before);
      if (text === before) return;
      try {
        keep(await store(live, entry, text));
        return;
      } catch (error) {
        if (!hasStatus(error, 404, 409) || tries >= TRIES) throw error; // else another replica was quicker
      }
    }
  }

  return {
    ready: ready.promise,
    read: (entry) => known?.data.get(entry) ?? '',
    change: (entry, edit) => inTurn(() => change(entry, edit)).catch((error: unknown) => {
      log.warn({ secret: MEMORY_SECRET, problem: explainKube(error) }, 'the console could not note something for all replicas');
      throw new AccessError('Unavailable', NOT_KEPT, { cause: error });
    }),
    async stop() {
      ready.resolve();
      await watch.stop();
    },
  };
}

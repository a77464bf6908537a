/**
 * Generated keys as Secrets of the cluster. Each step is one request that is right by itself: a Secret is created
 * whole, a rotation is one patch of exactly the version that was read, and whoever comes after an interrupted step
 * finds either nothing or all of it. A Secret that somebody else made is never written.
 */
import type { ApiKey } from '#crds/types.gen.ts';
import { MERGE_PATCH } from '../kube/client.ts';
import type { KubeClient, KubeJson } from '../kube/client.ts';
import { explainKube, hasStatus } from '../kube/errors.ts';
import { parseSecretObject, pathOfSecrets } from '../kube/parse-object.ts';
import type { ClusterProvider } from '../kube/provider.ts';
import { KEY_LABEL, PREVIOUS_ANNOTATION, isLeftOver, isMadeFor } from '../store/key-secret.ts';
import { namespacedName } from '../store/resources.ts';
import type { LiveSecret, SecretObject } from '../store/resources.ts';
import type { KeySecrets, SecretMaking } from './mint-keys.ts';

interface ClusterKeyOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly provider: Pick<ClusterProvider, 'keySecretWritten' | 'keySecretTaken'>;
  readonly nowMs: () => number;
  /** Asked before each write: only the leader may. */
  readonly leading: () => boolean;
}

/** A Secret in the way is looked at again so often; its watch would need the right to read all Secrets. */
const LOOK_AGAIN_MS = 30_000;
const MADE_BY = { 'app.kubernetes.io/managed-by': 'model-gateway' };

export function clusterKeys(options: ClusterKeyOptions): KeySecrets {
  const { client, provider, nowMs, leading } = options;
  /** When a Secret was last seen in the way, by "namespace/name". */
  const taken = new Map<string, number>();

  function written(answer: KubeJson): void {
    const secret = parseSecretObject(answer);
    if (taken.delete(namespacedName(secret))) provider.keySecretTaken(namespacedName(secret), undefined);
    provider.keySecretWritten(secret);
  }

  async function create(secret: SecretObject, apiKey: ApiKey): Promise<boolean> {
    try {
      written(await client.request({
        method: 'POST', path: pathOfSecrets(secret.namespace), body: manifestOf(secret, apiKey),
      }));
      return true;
    } catch (error) {
      if (!hasStatus(error, 409)) throw error;
      return meet(secret, apiKey);
    }
  }

  /**
   * There is one already that no watch told of: not yet, or because its label is gone, or because it is somebody
   * else's.
   */
  async function meet(secret: SecretObject, apiKey: ApiKey): Promise<boolean> {
    const found = parseSecretObject(await client.request({ method: 'GET', path: pathOf(secret) }));
    if (isMadeFor(found, apiKey)) {
      provider.keySecretWritten(found); // made before an interruption, or by the leader before
      return false;
    }
    if (found.live?.ownerUid !== undefined && found.live.ownerUid === apiKey.metadata.uid) {
      written(await client.request({
        method: 'PATCH', path: pathOf(secret), contentType: MERGE_PATCH,
        body: { metadata: { ...precondition(found.live), labels: { [KEY_LABEL]: apiKey.metadata.name } } },
      }));
      return false;
    }
    if (isLeftOver(found, apiKey)) return replace(secret, { apiKey, before: found });
    taken.set(namespacedName(secret), nowMs());
    provider.keySecretTaken(namespacedName(secret), found);
    throw new Error(`the Secret "${secret.name}" is there already and was not made for this ApiKey`);
  }

  /**
   * Of an ApiKey of the same name that is gone: not patched, since the cluster is about to remove it with its owner.
   */
  async function replace(secret: SecretObject, { apiKey, before }: SecretMaking): Promise<boolean> {
    try {
      if (before?.live) await client.request({
        method: 'DELETE', path: pathOf(secret), body: { preconditions: precondition(before.live) },
      });
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
    }
    return create(secret, apiKey);
  }

  async function rotate(secret: SecretObject, live: LiveSecret | undefined): Promise<boolean> {
    const path = pathOf(secret);
    const body = {
      metadata: { ...live && precondition(live), annotations: annotationsOf(secret) }, data: encoded(secret),
    };
    written(await client.request({ method: 'PATCH', path, contentType: MERGE_PATCH, body }));
    return true;
  }

  return {
    joined: (resources) => resources, // what was written is among them at once
    find(id, { secrets }) {
      const seenMs = taken.get(id);
      const due = seenMs !== undefined && nowMs() - seenMs >= LOOK_AGAIN_MS;
      return due ? undefined : secrets.get(id);
    },
    obstacle: () => undefined,
    async write(secret, making) {
      if (!leading()) throw new Error('this replica leads no more');
      const { apiKey, before } = making;
      try {
        if (!before) return await create(secret, apiKey);
        return await (isLeftOver(before, apiKey) ? replace(secret, making) : rotate(secret, before.live));
      } catch (error) {
        throw new Error(explainKube(error), { cause: error });
      }
    },
  };
}

function pathOf({ namespace, name }: SecretObject): string {
  return `${pathOfSecrets(namespace)}/${name}`;
}

/** Only exactly this version of exactly this object is written. */
function precondition({
  uid, resourceVersion,
}: LiveSecret): { readonly uid: string; readonly resourceVersion: string } {
  return { uid, resourceVersion };
}

function encoded({ data }: SecretObject): Readonly<Record<string, string>> {
  return Object.fromEntries([...data].map(([entry, value]) => [entry, Buffer.from(value).toString('base64')]));
}

/** null takes an annotation away: the one that is not among those that a key may have. */
function annotationsOf({ annotations }: SecretObject): Readonly<Record<string, string | null>> {
  return { [PREVIOUS_ANNOTATION]: null, ...annotations };
}

/** The cluster removes it together with its ApiKey. */
function manifestOf(secret: SecretObject, { apiVersion, kind, metadata: { name, uid } }: ApiKey): object {
  return {
    apiVersion: 'v1', kind: 'Secret', type: 'Opaque',
    metadata: {
      namespace:
        secret.namespace, name: secret.name, labels: { ...MADE_BY, ...secret.labels }, annotations: secret.annotations,
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    },
    data: encoded(secret),
  };
}

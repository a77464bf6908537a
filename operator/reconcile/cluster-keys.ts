/**
 * Stores generated keys as Secrets of the cluster. Each step is one atomic request: a Secret is created complete, and a
 * rotation patches exactly the version that was read, so that an interrupted step has either no effect or its whole
 * effect. A Secret that somebody else created is never written.
 */
import type { ApiKey } from '#crds/types.gen.ts';
import { MERGE_PATCH } from '#kube/client.ts';
import type { KubeClient, KubeJson } from '#kube/client.ts';
import { KubeError, KubeUnreachable, explainKubeError, hasStatus } from '#kube/errors.ts';
import { parseKeySecret, pathOfSecrets } from '#kube/parse-object.ts';
import type { ClusterProvider } from '../sources/cluster/provider.ts';
import { macOfPreviousKeys } from '../security/previous-keys.ts';
import {
  KEY_LABEL,
  PREVIOUS_ANNOTATION,
  PREVIOUS_MAC_ANNOTATION,
  isOrphaned,
  isCreatedFor,
} from '#objects/key-secret.ts';
import { findSecret, namespacedName } from '#objects/resources.ts';
import type { LiveSecret, SecretObject } from '#objects/resources.ts';
import { SecretWriteError } from './mint-keys.ts';
import type { KeySecrets, SecretWrite } from './mint-keys.ts';

interface ClusterKeyOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly provider: Pick<ClusterProvider, 'keySecretWritten' | 'keySecretTaken'>;
  /** The key, derived for the purpose `previous-keys`, that authenticates the lists of replaced keys. */
  readonly macKey: Uint8Array;
  readonly nowMs: () => number;
  /** Called before each write, because only the leader may write. */
  readonly leading: () => boolean;
}

/**
 * How often a foreign Secret with the name of a key's Secret is read again, because a watch would need the right to
 * read all Secrets.
 */
const LOOK_AGAIN_MS = 30_000;
const MADE_BY = { 'app.kubernetes.io/managed-by': 'model-gateway' };

/** Keys as Secrets of the cluster. A write rejects with a message for the ApiKey's status. */
export function clusterKeys(options: ClusterKeyOptions): KeySecrets {
  const { nowMs, leading } = options;
  const writer: SecretWriter = { ...options, taken: new Map() };
  return {
    joined: (resources) => resources, // the provider adds each write at once
    find(ref, { secrets }) {
      const seenMs = writer.taken.get(namespacedName(ref));
      const due = seenMs !== undefined && nowMs() - seenMs >= LOOK_AGAIN_MS;
      return due ? undefined : findSecret(secrets, ref);
    },
    obstacle: () => undefined,
    async write(unsigned, request) {
      if (!leading()) throw new Error('this replica is no longer the leader');
      const { apiKey, before } = request;
      const secret = signed(unsigned, apiKey, options.macKey);
      try {
        if (!before) return await create(writer, secret, apiKey);
        if (isOrphaned(before, apiKey)) return await replace(writer, secret, request);
        return await rotate(writer, secret, before.live);
      } catch (error) {
        throw new SecretWriteError(explainKubeError(error), isNamespaceWide(error), { cause: error });
      }
    },
  };
}

/**
 * True if other keys of the namespace would fail too. A conflict, or a Secret that the API server finds invalid,
 * concerns one key.
 */
function isNamespaceWide(error: unknown): boolean {
  return error instanceof KubeUnreachable || (error instanceof KubeError && !hasStatus(error, 404, 409, 422));
}

interface SecretWriter extends ClusterKeyOptions {
  /** When a foreign Secret was last seen under a name, by "namespace/name". */
  readonly taken: Map<string, number>;
}

/** Adds the response to a write to the provider's view. */
function written({ provider, taken }: SecretWriter, answer: KubeJson): void {
  const secret = parseKeySecret(answer);
  if (taken.delete(namespacedName(secret))) provider.keySecretTaken(namespacedName(secret), undefined);
  provider.keySecretWritten(secret);
}

async function create(writer: SecretWriter, secret: SecretObject, apiKey: ApiKey): Promise<boolean> {
  try {
    written(
      writer,
      await writer.client.request({
        method: 'POST',
        path: pathOfSecrets(secret.namespace),
        body: manifestOf(secret, apiKey),
      }),
    );
    return true;
  } catch (error) {
    if (!hasStatus(error, 409)) throw error;
    return adopt(writer, secret, apiKey);
  }
}

/**
 * Handles a Secret that exists although no watch has reported it: the event is late, its label was removed, or it
 * belongs to somebody else.
 */
async function adopt(writer: SecretWriter, secret: SecretObject, apiKey: ApiKey): Promise<boolean> {
  const { client, provider, taken, nowMs } = writer;
  const found = parseKeySecret(await client.request({ method: 'GET', path: pathOf(secret) }));
  if (isCreatedFor(found, apiKey)) {
    provider.keySecretWritten(found); // created before an interruption, or by the previous leader
    return false;
  }
  if (found.live?.ownerUid !== undefined && found.live.ownerUid === apiKey.metadata.uid) {
    written(
      writer,
      await client.request({
        method: 'PATCH',
        path: pathOf(secret),
        contentType: MERGE_PATCH,
        body: { metadata: { ...precondition(found.live), labels: { [KEY_LABEL]: apiKey.metadata.name } } },
      }),
    );
    return false;
  }
  if (isOrphaned(found, apiKey)) return replace(writer, secret, { apiKey, before: found });
  taken.set(namespacedName(secret), nowMs());
  provider.keySecretTaken(namespacedName(secret), found);
  throw new Error(`the Secret "${secret.name}" already exists and was not created for this ApiKey`);
}

/**
 * Replaces the Secret of a deleted ApiKey of this name. A patch would be lost, because the garbage collector is about
 * to delete that Secret.
 */
async function replace(writer: SecretWriter, secret: SecretObject, { apiKey, before }: SecretWrite): Promise<boolean> {
  try {
    if (before?.live)
      await writer.client.request({
        method: 'DELETE',
        path: pathOf(secret),
        body: { preconditions: precondition(before.live) },
      });
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
  }
  return create(writer, secret, apiKey);
}

async function rotate(writer: SecretWriter, secret: SecretObject, live: LiveSecret | undefined): Promise<boolean> {
  const body = {
    metadata: { ...(live && precondition(live)), annotations: annotationsOf(secret) },
    data: encoded(secret),
  };
  const path = pathOf(secret);
  written(writer, await writer.client.request({ method: 'PATCH', path, contentType: MERGE_PATCH, body }));
  return true;
}

function pathOf({ namespace, name }: SecretObject): string {
  return `${pathOfSecrets(namespace)}/${name}`;
}

/** Restricts a write to exactly this version of exactly this object. */
function precondition({ uid, resourceVersion }: LiveSecret): Omit<LiveSecret, 'ownerUid'> {
  return { uid, resourceVersion };
}

function encoded({ data }: SecretObject): Readonly<Record<string, string>> {
  return Object.fromEntries([...data].map(([entry, value]) => [entry, Buffer.from(value).toString('base64')]));
}

/** In a merge patch null removes an annotation. */
function annotationsOf({ annotations }: SecretObject): Readonly<Record<string, string | null>> {
  return { [PREVIOUS_ANNOTATION]: null, [PREVIOUS_MAC_ANNOTATION]: null, ...annotations };
}

/** Adds the MAC of the list of replaced keys, if the Secret has a list. */
function signed(secret: SecretObject, { metadata: { uid } }: ApiKey, macKey: Uint8Array): SecretObject {
  const list = secret.annotations[PREVIOUS_ANNOTATION];
  if (list === undefined) return secret;
  const mac = macOfPreviousKeys(macKey, { ...secret, ownerUid: uid }, list);
  return { ...secret, annotations: { ...secret.annotations, [PREVIOUS_MAC_ANNOTATION]: mac } };
}

/** The manifest with an ownerReference, so that the garbage collector deletes the Secret with its ApiKey. */
function manifestOf(secret: SecretObject, { apiVersion, kind, metadata: { name, uid } }: ApiKey): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      namespace: secret.namespace,
      name: secret.name,
      labels: { ...MADE_BY, ...secret.labels },
      annotations: secret.annotations,
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    },
    data: encoded(secret),
  };
}

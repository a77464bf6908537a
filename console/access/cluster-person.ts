/**
 * What one person may do in a cluster. Every request is made with the person's own token, so that the API server
 * decides, and its audit log names the person. Lists come from the operator's cache, filtered to what the person may
 * read: docs/design/console.md says why.
 */
import { isTenants } from '#crds/kinds.ts';
import type { ApiKey, Kind, Resource } from '#crds/types.gen.ts';
import { API_VERSION } from '#crds/types.gen.ts';
import { MERGE_PATCH } from '#kube/client.ts';
import type { KubeClient, KubeJson } from '#kube/client.ts';
import { hasStatus } from '#kube/errors.ts';
import { parseResource, parseSecretObject, pathOfKind, pathOfSecrets } from '#kube/parse-object.ts';
import { KEY_ENTRY, isCreatedFor, rotationOf, secretNameOf } from '#objects/key-secret.ts';
import { namespacedName, objectId } from '#objects/resources.ts';
import type { ClusterCache } from '#objects/cluster-cache.ts';
import { AccessError } from './access.ts';
import type { ObjectChange, ObjectOf, ObjectRef, PersonAccess } from './access.ts';
import { accessErrorOf } from './kube-errors.ts';
import type { Rights, ReadableObjects } from './rights.ts';

interface ClusterPersonOptions {
  readonly name: string;
  /** Authenticates with the person's token. */
  readonly client: Pick<KubeClient, 'request'>;
  readonly rights: Rights;
  readonly cache: ClusterCache;
  readonly gatewayNamespace: string;
  /** Called when the token is no longer accepted. */
  readonly onSignedOut: () => void;
}

/** The field manager of all changes made in the console; the audit log names the person. */
const FIELD_MANAGER = 'model-gateway-console';
const WRITE = `fieldManager=${FIELD_MANAGER}&fieldValidation=Strict`;
/** A busy key's status changes all the time, its spec does not, so conflicts are retried. */
const MAX_ATTEMPTS = 8;
/** RFC 1123 subdomains. */
const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Access with one person's rights. All its methods reject with AccessError. */
export function clusterPerson(options: ClusterPersonOptions): PersonAccess {
  const { name, client, rights, cache, gatewayNamespace } = options;
  const asAccessErrors = <R>(work: () => Promise<R>): Promise<R> => withAccessErrors(options, work);
  return {
    person: { name },
    list: (kind) =>
      asAccessErrors(async () => {
        if (!cache.isComplete)
          throw new AccessError('Unavailable', 'The gateway is still reading the cluster. Try again in a moment.');
        const readable = await rights.readable(kind, () => cache.namespaces());
        const objects = cache
          .list(kind)
          .filter((object) => isOfGateway(object, gatewayNamespace) && isWithin(object, readable));
        return { objects, allowed: readable === 'All' || readable.namespaces.size + readable.named.size > 0 };
      }),
    get: (kind, ref) => asAccessErrors(() => read(client, kind, ref)),
    create: (kind, { namespace, name: objectName }, spec) =>
      asAccessErrors(async () => {
        const body = { apiVersion: API_VERSION, kind, metadata: { namespace, name: objectName }, spec };
        const path = `${pathOfKind(kind, segment(namespace))}?${WRITE}`;
        return written(cache, kind, await client.request({ method: 'POST', path, body }));
      }),
    change: (kind, ref, wish) => asAccessErrors(() => change(options, kind, { ref, wish })),
    remove: (kind, ref, uid) =>
      asAccessErrors(async () => {
        const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } };
        await client.request({ method: 'DELETE', path: pathOf(kind, ref), body });
        await cache.waitFor(objectId(kind, ref), { uid, resourceVersion: undefined });
      }),
    readKeyText: (ref) =>
      asAccessErrors(async () => {
        const apiKey = await read(client, 'ApiKey', ref);
        if (!apiKey) throw new AccessError('NotFound', `There is no ApiKey ${namespacedName(ref)}.`);
        return readText(client, apiKey);
      }),
    may: (verb, kind, { namespace, name: objectName }) =>
      asAccessErrors(async () => {
        if (namespace === undefined) return (await rights.among(cache.namespaces(), verb, kind)).length > 0;
        return (
          (await rights.may({ verb, kind, namespace })) ||
          (objectName !== undefined && rights.may({ verb, kind, namespace, name: objectName }))
        );
      }),
    namespaces: (verb, kind) => asAccessErrors(() => rights.among(cache.namespaces(), verb, kind)),
  };
}

type Client = ClusterPersonOptions['client'];

/** Turns every failure into an AccessError, and signs the person out where the token is refused. */
async function withAccessErrors<R>({ rights, onSignedOut }: ClusterPersonOptions, work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    const refusal = accessErrorOf(error);
    if (refusal.reason === 'SignedOut') {
      rights.forget();
      onSignedOut();
    }
    throw refusal;
  }
}

async function read<K extends Kind>(client: Client, kind: K, ref: ObjectRef): Promise<ObjectOf<K> | undefined> {
  try {
    return ofKind(kind, await client.request({ method: 'GET', path: pathOf(kind, ref) }));
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

/** Waits until the cache has the written object, so that the next list shows it. */
async function written<K extends Kind>(cache: ClusterCache, kind: K, answer: KubeJson): Promise<ObjectOf<K>> {
  const object = ofKind(kind, answer);
  const { uid = '', resourceVersion } = object.metadata;
  await cache.waitFor(objectId(kind, object.metadata), { uid, resourceVersion });
  return object;
}

interface ChangeRequest {
  readonly ref: ObjectRef;
  readonly wish: ObjectChange;
}

async function change<K extends Kind>(
  { client, cache }: ClusterPersonOptions,
  kind: K,
  { ref, wish }: ChangeRequest,
): Promise<ObjectOf<K>> {
  for (let tries = 1; ; tries++) {
    const live = await read(client, kind, ref);
    refuseOther(live, { kind, ref, seen: wish });
    const { uid, resourceVersion } = live.metadata;
    const body = { ...wish.patch, metadata: { ...wish.patch.metadata, uid, resourceVersion } };
    try {
      return await written(
        cache,
        kind,
        await client.request({
          method: 'PATCH',
          path: `${pathOf(kind, ref)}?${WRITE}`,
          contentType: MERGE_PATCH,
          body,
        }),
      );
    } catch (error) {
      // a conflict may come from a new status alone, so the change is tried on the new version
      if (!hasStatus(error, 409) || tries >= MAX_ATTEMPTS) throw error;
    }
  }
}

/** Reads a key. A generated key is shown only from the Secret made for it, and only after its latest rotation. */
async function readText(client: Pick<KubeClient, 'request'>, apiKey: ApiKey): Promise<string | undefined> {
  let answer: KubeJson;
  try {
    answer = await client.request({
      method: 'GET',
      path: `${pathOfSecrets(apiKey.metadata.namespace)}/${segment(secretNameOf(apiKey))}`,
    });
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
  const secret = parseSecretObject(answer);
  const { type, rotation } = apiKey.spec.key;
  if (type === 'Generated' && !(isCreatedFor(secret, apiKey) && rotationOf(secret) >= rotation)) return undefined;
  return secret.data.get(KEY_ENTRY);
}

/** Checks a name from a browser before it becomes part of a path. */
function segment(name: string): string {
  if (!NAME.test(name)) throw new AccessError('NotFound', 'No object can have such a name.');
  return name;
}

function pathOf(kind: Kind, { namespace, name }: ObjectRef): string {
  return `${pathOfKind(kind, segment(namespace))}/${segment(name)}`;
}

function ofKind<K extends Kind>(kind: K, object: KubeJson): ObjectOf<K> {
  const resource = parseResource(kind, object);
  if (isKind(resource, kind)) return resource;
  throw new Error(`the API server answered with another kind than ${kind}`);
}

function isKind<K extends Kind>(resource: Resource, kind: K): resource is ObjectOf<K> {
  return resource.kind === kind;
}

function isWithin({ metadata }: Resource, readable: ReadableObjects): boolean {
  return (
    readable === 'All' || readable.namespaces.has(metadata.namespace) || readable.named.has(namespacedName(metadata))
  );
}

/** A cluster may hold several gateways, each with a console of its own. */
function isOfGateway(object: Resource, gatewayNamespace: string): boolean {
  const named = isTenants(object) ? object.spec.gatewayNamespace : object.metadata.namespace;
  return named === gatewayNamespace;
}

function refuseOther<K extends Kind>(
  live: ObjectOf<K> | undefined,
  { kind, ref, seen }: { readonly kind: Kind; readonly ref: ObjectRef; readonly seen: ObjectChange },
): asserts live is ObjectOf<K> {
  const what = objectId(kind, ref);
  if (!live) throw new AccessError('NotFound', `There is no ${what} any more.`);
  if (live.metadata.uid !== seen.uid)
    throw new AccessError('Conflict', `${what} was deleted and created again since you opened it.`);
  if (live.metadata.generation !== seen.generation)
    throw new AccessError('Conflict', `${what} was changed by somebody else since you opened it.`);
}

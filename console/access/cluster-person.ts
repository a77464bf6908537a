/**
 * What one person may do in a cluster. Every request is made with the person's own token, so that the API server
 * decides, and its audit log names the person. Lists are the operator's watched copy of just what the person may read:
 * docs/design/console.md says why.
 */
import type { ApiKey, Kind, Resource } from '#crds/types.gen.ts';
import { API_VERSION } from '#crds/types.gen.ts';
import { MERGE_PATCH } from '../../operator/kube/client.ts';
import type { KubeClient, KubeJson } from '../../operator/kube/client.ts';
import { hasStatus } from '../../operator/kube/errors.ts';
import { parseResource, parseSecretObject, pathOfKind, pathOfSecrets } from '../../operator/kube/parse-object.ts';
import { KEY_ENTRY, isMadeFor, rotationOf, secretNameOf } from '../../operator/store/key-secret.ts';
import { namespacedName } from '../../operator/store/resources.ts';
import type { WatchedCopy } from '../../operator/store/watched-copy.ts';
import { AccessError } from './access.ts';
import type { ObjectChange, ObjectOf, ObjectRef, PersonAccess } from './access.ts';
import { accessErrorOf } from './kube-faults.ts';
import type { Rights, Scope } from './rights.ts';

interface ClusterPersonOptions {
  readonly name: string;
  /** With the person's token. */
  readonly client: Pick<KubeClient, 'request'>;
  readonly rights: Rights;
  readonly copy: WatchedCopy;
  readonly gatewayNamespace: string;
  /** The token is not known any more. */
  readonly onSignedOut: () => void;
}

/** By which the API server tells who has set a field, besides the person's name in its audit log. */
const FIELD_MANAGER = 'model-gateway-console';
const WRITE = `fieldManager=${FIELD_MANAGER}&fieldValidation=Strict`;
/** Statuses and labels of a busy key change all the time; its spec does not. */
const MAX_ATTEMPTS = 8;
/** RFC 1123 subdomains. */
const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

export function clusterPerson(options: ClusterPersonOptions): PersonAccess {
  const { name, client, rights, copy, gatewayNamespace, onSignedOut } = options;

  /** Whatever fails, fails as AccessError. */
  async function withAccessErrors<R>(work: () => Promise<R>): Promise<R> {
    try {
      return await work();
    } catch (error) {
      const refusal = accessErrorOf(error);
      if (refusal.fault === 'SignedOut') {
        rights.forget();
        onSignedOut();
      }
      throw refusal;
    }
  }

  async function read<K extends Kind>(kind: K, ref: ObjectRef): Promise<ObjectOf<K> | undefined> {
    try {
      return ofKind(kind, await client.request({ method: 'GET', path: pathOf(kind, ref) }));
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  }

  /** The next list shows it. */
  async function written<K extends Kind>(kind: K, answer: KubeJson): Promise<ObjectOf<K>> {
    const object = ofKind(kind, answer);
    const { uid = '', resourceVersion } = object.metadata;
    await copy.has(`${kind} ${namespacedName(object.metadata)}`, { uid, resourceVersion });
    return object;
  }

  async function change<K extends Kind>(kind: K, ref: ObjectRef, wish: ObjectChange): Promise<ObjectOf<K>> {
    for (let tries = 1; ; tries++) {
      const live = await read(kind, ref);
      refuseOther(live, { kind, ref, seen: wish });
      const { uid, resourceVersion } = live.metadata;
      const body = { ...wish.patch, metadata: { ...wish.patch.metadata, uid, resourceVersion } };
      try {
        return await written(kind, await client.request({
          method: 'PATCH', path: `${pathOf(kind, ref)}?${WRITE}`, contentType: MERGE_PATCH, body,
        }));
      } catch (error) {
        // else it has moved on: perhaps only its status
        if (!hasStatus(error, 409) || tries >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  return {
    person: { name },
    list: (kind) => withAccessErrors(async () => {
      if (!copy.isComplete)
        throw new AccessError('Unavailable', 'The gateway is still reading the cluster. Try again in a moment.');
      const scope = await rights.scope(kind, () => copy.namespaces());
      const objects =
        copy.list(kind).filter((object) => isOfGateway(object, gatewayNamespace) && isWithin(object, scope));
      return { objects, allowed: scope === 'All' || scope.namespaces.size + scope.named.size > 0 };
    }),
    get: (kind, ref) => withAccessErrors(() => read(kind, ref)),
    create: (kind, {
      namespace, name: objectName,
    }, spec) => withAccessErrors(async () => written(kind, await client.request({
      method: 'POST', path: `${pathOfKind(kind, segment(namespace))}?${WRITE}`, body: {
        apiVersion: API_VERSION, kind, metadata: { namespace, name: objectName }, spec,
      },
    }))),
    change: (kind, ref, wish) => withAccessErrors(() => change(kind, ref, wish)),
    remove: (kind, ref, uid) => withAccessErrors(async () => {
      await client.request({ method:
        'DELETE', path: pathOf(kind, ref), body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } } });
      await copy.has(`${kind} ${namespacedName(ref)}`, { uid, resourceVersion: undefined });
    }),
    readKeyText: (ref) => withAccessErrors(async () => {
      const apiKey = await read('ApiKey', ref);
      if (!apiKey) throw new AccessError('NotFound', `There is no ApiKey ${namespacedName(ref)}.`);
      return readText(client, apiKey);
    }),
    may: (verb, kind, { namespace, name: objectName }) => withAccessErrors(async () => {
      if (namespace === undefined) return (await rights.among(copy.namespaces(), verb, kind)).length > 0;
      return await rights.may({ verb, kind, namespace }) ||
        (objectName !== undefined && rights.may({ verb, kind, namespace, name: objectName }));
    }),
    namespaces: (verb, kind) => withAccessErrors(() => rights.among(copy.namespaces(), verb, kind)),
  };
}

/**
 * Of a key that the operator makes: only the Secret that was made for it, and only once it is of the latest rotation.
 */
async function readText(client: Pick<KubeClient, 'request'>, apiKey: ApiKey): Promise<string | undefined> {
  let answer: KubeJson;
  try {
    answer = await client.request({
      method: 'GET', path: `${pathOfSecrets(apiKey.metadata.namespace)}/${segment(secretNameOf(apiKey))}`,
    });
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
  const secret = parseSecretObject(answer);
  const { type, rotation } = apiKey.spec.key;
  if (type === 'Generated' && !(isMadeFor(secret, apiKey) && rotationOf(secret) >= rotation)) return undefined;
  return secret.data.get(KEY_ENTRY);
}

/** Names come from a browser: what no object can be called is not asked for, and none leads to another path. */
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

function isWithin({ metadata }: Resource, scope: Scope): boolean {
  return scope === 'All' || scope.namespaces.has(metadata.namespace) || scope.named.has(namespacedName(metadata));
}

/** A cluster may hold several gateways, each with a console of its own. */
function isOfGateway({ kind, metadata, spec }: Resource, gatewayNamespace: string): boolean {
  return kind === 'ApiKey' ||
    kind === 'Account' ? spec.gatewayNamespace === gatewayNamespace : metadata.namespace === gatewayNamespace;
}

function refuseOther<K extends Kind>(live: ObjectOf<K> | undefined, {
  kind, ref, seen,
}: { readonly kind: Kind; readonly ref: ObjectRef; readonly seen: ObjectChange }): asserts live is ObjectOf<K> {
  const what = `${kind} ${namespacedName(ref)}`;
  if (!live) throw new AccessError('NotFound', `There is no ${what} any more.`);
  if (live.metadata.uid !== seen.uid)
    throw new AccessError('Conflict', `${what} was deleted and created anew since you opened it.`);
  if (live.metadata.generation !== seen.generation)
    throw new AccessError('Conflict', `${what} was changed by somebody else since you opened it.`);
}

/**
 * Everything the operator has read, as one frozen view: the five kinds with their defaults filled in, the Secrets they
 * may name, and the namespaces' labels. A folder of manifests and a cluster's list-watch both produce it; translate
 * reads it.
 */
import type { Account, ApiKey, Group, Kind, ModelRoute, ObjectMeta, PriceCatalog, Resource } from '#crds/types.gen.ts';

export type Labels = Readonly<Record<string, string>>;

/** A v1 Secret, its values decoded to text. Values are never logged, dumped or put into a status. */
export interface SecretObject {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly data: ReadonlyMap<string, string>;
  /** Of a Secret in a cluster. */
  readonly live?: LiveSecret;
}

/** By what a Secret in a cluster is told from others of its name, earlier and later. */
export interface LiveSecret {
  readonly uid: string;
  readonly resourceVersion: string;
  /** The uid of the ApiKey that owns it. */
  readonly ownerUid?: string;
}

/** One moment's state of the world. Lists are in no particular order. */
export interface Resources {
  readonly apiKeys: readonly ApiKey[];
  readonly accounts: readonly Account[];
  readonly groups: readonly Group[];
  readonly modelRoutes: readonly ModelRoute[];
  readonly priceCatalogs: readonly PriceCatalog[];
  /** By "namespace/name". */
  readonly secrets: ReadonlyMap<string, SecretObject>;
  /** Labels by namespace; a namespace that is not there has only its name's label. */
  readonly namespaces: ReadonlyMap<string, Labels>;
  /** The Secrets of ApiKeys are not read yet: until they are, the hashes that statuses remember serve. */
  readonly keySecretsPending?: true;
  /** Objects that today's schema refuses, although the cluster keeps them; they are not among the others. */
  readonly malformed?: readonly MalformedObject[];
  /** Why a Secret that something names cannot be read, by "namespace/name". */
  readonly unreadable?: ReadonlyMap<string, string>;
}

/** An object that an older CustomResourceDefinition let in. */
export interface MalformedObject {
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
  /** Of an ApiKey or Account, as far as it says. */
  readonly gatewayNamespace?: string;
  readonly faults: readonly string[];
}

/** What Resources are made of. */
interface ResourceParts {
  readonly objects: Iterable<Resource>;
  readonly secrets: Iterable<SecretObject>;
  readonly namespaces: ReadonlyMap<string, Labels>;
}

/** The label that Kubernetes gives every namespace. */
const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name';

/** "namespace/name", by which Accounts, Secrets and, in files mode, keys are known. */
export function namespacedName({ namespace, name }: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** By what the ledger knows a key. */
export function keyUidOf({ metadata }: ApiKey): string {
  return metadata.uid ?? namespacedName(metadata);
}

/** "namespace/name" of the Account that pays for a key's calls. */
export function accountIdOf({ metadata: { namespace }, spec: { accountRef: { name } } }: ApiKey): string {
  return namespacedName({ namespace, name });
}

/** "Kind namespace/name", unique over all objects. */
export function objectId({
  kind, metadata,
}: { readonly kind: Kind; readonly metadata: Pick<ObjectMeta, 'namespace' | 'name'> }): string {
  return `${kind} ${namespacedName(metadata)}`;
}

/** A namespace's labels as the API server would have them. */
export function labelsOfNamespace(namespaces: ReadonlyMap<string, Labels>, name: string): Labels {
  return { ...namespaces.get(name), [NAMESPACE_NAME_LABEL]: name };
}

/** Sorts objects into their kinds and freezes the view, objects as deep as they go. */
export function buildResources({ objects, secrets, namespaces }: ResourceParts): Resources {
  const all = [...objects];
  for (const object of all) freezeDeep(object);
  const ofKind = <K extends Kind>(kind: K) =>
    Object.freeze(all.filter((object): object is Extract<Resource, { kind: K }> => object.kind === kind));
  return Object.freeze({
    apiKeys: ofKind('ApiKey'),
    accounts: ofKind('Account'),
    groups: ofKind('Group'),
    modelRoutes: ofKind('ModelRoute'),
    priceCatalogs: ofKind('PriceCatalog'),
    secrets: new Map([...secrets].map((secret) => [namespacedName(secret), secret])),
    namespaces,
  });
}

/** The same view with further Secrets; those that are already there win, so that a manifest beats a generated key. */
export function withSecrets(resources: Resources, further: ReadonlyMap<string, SecretObject>): Resources {
  if (further.size === 0) return resources;
  return Object.freeze({ ...resources, secrets: new Map([...further, ...resources.secrets]) });
}

/** Freezes a value and all that is in it; what is frozen already is taken to be so throughout. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const field in value) freezeDeep(value[field]); // all of its own: plain objects and lists inherit none
  return value;
}

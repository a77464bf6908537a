/**
 * Everything that the operator has read, as one frozen view: the objects of the five kinds with their defaults, the
 * Secrets that they reference, and the namespaces' labels. Files mode and cluster mode both produce it; translate reads
 * it.
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
  /** Present for a Secret in a cluster. */
  readonly live?: LiveSecret;
}

/** Identifies a Secret. */
export type SecretRef = Pick<SecretObject, 'namespace' | 'name'>;

/** Identifies one version of one Secret in a cluster. */
export interface LiveSecret {
  readonly uid: string;
  readonly resourceVersion: string;
  /** The uid of the ApiKey that owns it. */
  readonly ownerUid?: string;
}

/** Objects by namespace. In a cluster a namespace has the same list until one of its objects changes. */
export type ByNamespace<T> = ReadonlyMap<string, readonly T[]>;

/** Secrets by namespace and name. In a cluster a namespace has the same map until one of its Secrets changes. */
export type Secrets = ReadonlyMap<string, ReadonlyMap<string, SecretObject>>;

/** A consistent view of all objects. Lists are in no particular order. */
export interface Resources {
  readonly apiKeys: ByNamespace<ApiKey>;
  readonly accounts: ByNamespace<Account>;
  readonly groups: readonly Group[];
  readonly modelRoutes: readonly ModelRoute[];
  readonly priceCatalogs: readonly PriceCatalog[];
  readonly secrets: Secrets;
  /** Labels by namespace; an absent namespace has only the label with its name. */
  readonly namespaces: ReadonlyMap<string, Labels>;
  /** Namespaces that are being deleted, in which nothing can be created; absent: unknown. */
  readonly terminatingNamespaces?: ReadonlySet<string>;
  /** Objects that the lists above leave out: invalid by the schema, in deletion, or beyond their namespace's bound. */
  readonly malformed?: ByNamespace<MalformedObject>;
  /** Why a referenced Secret cannot be read, by "namespace/name". */
  readonly unreadable?: ReadonlyMap<string, string>;
}

/** An object that an older CustomResourceDefinition admitted, or that is in deletion or beyond its namespace's bound. */
export interface MalformedObject {
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
  /** The field of an ApiKey or Account, if set. */
  readonly gatewayNamespace?: string;
  readonly faults: readonly string[];
  /** Default: Invalid. */
  readonly reason?: 'TooManyObjects' | 'Deleting';
}

/** The parts of which Resources are built. */
interface ResourceParts {
  readonly objects: Iterable<Resource>;
  readonly secrets: Iterable<SecretObject>;
  readonly namespaces: ReadonlyMap<string, Labels>;
}

/** The label that Kubernetes gives every namespace. */
const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name';

/** Formats "namespace/name", which identifies Accounts, Secrets and, in files mode, keys. */
export function namespacedName({ namespace, name }: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** The identity of a key in the ledger. */
export function keyUidOf({ metadata }: ApiKey): string {
  return metadata.uid ?? namespacedName(metadata);
}

/** The names of the keys' groups by the keys' identities in the ledger. */
export function groupsOfKeys(keys: readonly ApiKey[]): ReadonlyMap<string, string> {
  return new Map(keys.map((key) => [keyUidOf(key), key.spec.groupRef.name]));
}

/** The same view without keys and accounts, on which models and prices do not depend. */
export function withoutTenants(resources: Resources): Resources {
  return { ...resources, apiKeys: new Map(), accounts: new Map() };
}

/** The objects of all namespaces. */
export function allOf<T>(objects: ByNamespace<T>): T[] {
  return [...objects.values()].flat();
}

const LISTS: { readonly [K in Kind]: (resources: Resources) => readonly Resource[] } = {
  Account: ({ accounts }) => allOf(accounts),
  ApiKey: ({ apiKeys }) => allOf(apiKeys),
  Group: ({ groups }) => groups,
  ModelRoute: ({ modelRoutes }) => modelRoutes,
  PriceCatalog: ({ priceCatalogs }) => priceCatalogs,
};

/** All objects of a kind. */
export function objectsOf<K extends Kind>(resources: Resources, kind: K): readonly Extract<Resource, { kind: K }>[] {
  return LISTS[kind](resources).filter((object): object is Extract<Resource, { kind: K }> => object.kind === kind);
}

/** The Secret of this namespace and name. */
export function findSecret(secrets: Secrets, { namespace, name }: SecretRef): SecretObject | undefined {
  return secrets.get(namespace)?.get(name);
}

/** "namespace/name" of the Account that pays for a key's calls. */
export function accountIdOf({
  metadata: { namespace },
  spec: {
    accountRef: { name },
  },
}: ApiKey): string {
  return namespacedName({ namespace, name });
}

/** "Kind namespace/name", unique over all objects. */
export function objectId(kind: string, object: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  return `${kind} ${namespacedName(object)}`;
}

/** The namespace in "Kind namespace/name". */
export function namespaceOfId(id: string): string {
  return id.slice(id.indexOf(' ') + 1, id.indexOf('/'));
}

/** A namespace's labels, as on an API server. */
export function labelsOfNamespace(namespaces: ReadonlyMap<string, Labels>, name: string): Labels {
  return { ...namespaces.get(name), [NAMESPACE_NAME_LABEL]: name };
}

/** Sorts objects by kind and namespace, and freezes them deeply. */
export function buildResources({ objects, secrets, namespaces }: ResourceParts): Resources {
  const all = [...objects];
  for (const object of all) freezeDeep(object);
  const ofKind = <K extends Kind>(kind: K) =>
    Object.freeze(all.filter((object): object is Extract<Resource, { kind: K }> => object.kind === kind));
  return Object.freeze({
    apiKeys: Map.groupBy(ofKind('ApiKey'), namespaceOf),
    accounts: Map.groupBy(ofKind('Account'), namespaceOf),
    groups: ofKind('Group'),
    modelRoutes: ofKind('ModelRoute'),
    priceCatalogs: ofKind('PriceCatalog'),
    secrets: groupSecrets(secrets),
    namespaces,
  });
}

function namespaceOf({ metadata }: Resource): string {
  return metadata.namespace;
}

/** Indexes Secrets by namespace and name; the last of two with the same name wins. */
function groupSecrets(secrets: Iterable<SecretObject>): Secrets {
  const groups = Map.groupBy(secrets, ({ namespace }) => namespace);
  return new Map([...groups].map(([namespace, group]) => [namespace, new Map(group.map((one) => [one.name, one]))]));
}

/** Adds Secrets to a view. Existing ones take precedence, so that a manifest overrides a generated key. */
export function withSecrets(resources: Resources, further: Iterable<SecretObject>): Resources {
  const provided = [...resources.secrets.values()].flatMap((secrets) => [...secrets.values()]);
  return Object.freeze({ ...resources, secrets: groupSecrets([...further, ...provided]) });
}

/** Freezes a value deeply. A frozen object is assumed to be deeply frozen. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const field in value) freezeDeep(value[field]); // plain objects and arrays inherit no enumerable fields
  return value;
}

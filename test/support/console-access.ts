/**
 * In-memory access to objects for the console's tests, with a cluster's behaviour: rights by namespace and verb,
 * defaults and validation by the API server's schemas, generations that change with specs only, and statuses that tests
 * write. The real implementations have their own tests.
 */
import { hash, randomUUID } from 'node:crypto';
import { loadApiKindsSync } from '#crds/load.ts';
import { admit } from '#crds/schema.ts';
import type { JsonObject } from '#crds/json.ts';
import type { ApiKey, Kind, Resource } from '#crds/types.gen.ts';
import { AccessError } from '../../console/access/access.ts';
import type {
  AccessVerb,
  ConsoleAccess,
  Listing,
  ObjectChange,
  ObjectOf,
  ObjectRef,
  PersonAccess,
} from '../../console/access/access.ts';

export const TEST_NOW_MS = Date.parse('2026-11-21T12:00:00Z');

/** The rights of one person. `*` as a namespace: everywhere. */
export interface Rights {
  readonly name: string;
  readonly namespaces: readonly string[];
  /** Default: all. */
  readonly verbs?: readonly AccessVerb[];
  /** Default: all but those of the platform team. */
  readonly kinds?: readonly Kind[];
  /** Default: true. */
  readonly readsSecrets?: boolean;
}

/** Shared by all people of a test. */
export interface ConsoleFixture {
  /** By "Kind namespace/name". Tests can read and change it as another person. */
  readonly objects: Map<string, Resource>;
  /** Key texts by "namespace/name" of the ApiKey. */
  readonly keyTexts: Map<string, string>;
  /** Called before a change, for a concurrent change or a failure. */
  interfere: ((verb: AccessVerb, ref: ObjectRef) => void) | undefined;
  put(object: Resource): Resource;
  /** Changes a spec, as with kubectl. */
  edit<K extends Kind>(kind: K, ref: ObjectRef, edit: (spec: ObjectOf<K>['spec']) => ObjectOf<K>['spec']): ObjectOf<K>;
  apiKey(namespace: string, name: string): ApiKey;
  /** Creates a key and marks it ready, as the operator does. Returns its text. */
  mint(namespace: string, name: string): string;
  person(rights: Rights): PersonAccess;
  /** Each token is the name of one of these. */
  access(people: readonly Rights[], backend?: ConsoleAccess['backend']): ConsoleAccess;
}

const CREATED = '2026-11-01T09:00:00Z';
const schemas = loadApiKindsSync();

/** Creates a fixture with these manifests; fields with defaults can be left out. */
export function createConsoleFixture(manifests: readonly unknown[] = []): ConsoleFixture {
  const objects = new Map<string, Resource>();
  const keyTexts = new Map<string, string>();
  const world: ConsoleFixture = {
    objects,
    keyTexts,
    interfere: undefined,
    put(object) {
      objects.set(idOf(object.kind, object.metadata), object);
      return object;
    },
    edit(kind, ref, edit) {
      const before = find(objects, kind, ref);
      if (!before) throw new Error(`no ${kind} ${ref.namespace}/${ref.name}`);
      const after = {
        ...before,
        spec: edit(before.spec as ObjectOf<typeof kind>['spec']),
        metadata: {
          ...before.metadata,
          generation: (before.metadata.generation ?? 0) + 1,
        },
      } as typeof before;
      objects.set(idOf(kind, ref), after);
      return after;
    },
    apiKey(namespace, name) {
      const apiKey = find(objects, 'ApiKey', { namespace, name });
      if (!apiKey) throw new Error(`no ApiKey ${namespace}/${name}`);
      return apiKey;
    },
    mint(namespace, name) {
      const apiKey = this.apiKey(namespace, name);
      const { rotation } = apiKey.spec.key;
      const text = `sk-${hash('sha256', `${apiKey.metadata.uid} ${rotation}`, 'hex').slice(0, 48)}`;
      keyTexts.set(`${namespace}/${name}`, text);
      const status = {
        ...apiKey.status,
        keyHash: hash('sha256', text, 'hex'),
        keyPrefix: text.slice(0, 8),
        keyRotation: rotation,
        conditions: [condition('Ready', 'True', 'Ready', '')],
      };
      this.put({ ...apiKey, status });
      return text;
    },
    person: (rights) => createPerson(world, rights),
    access: (people, backend = 'Kubernetes') => ({
      backend,
      signIn: ({ token }) => {
        const rights = people.find(({ name }) => name === token);
        return Promise.resolve(rights && createPerson(world, rights));
      },
    }),
  };
  for (const manifest of manifests) world.put(admitted(manifest as Resource));
  return world;
}

/** An ApiKey's manifest. */
export function keyManifest(namespace: string, name: string, spec: object = {}, status?: object): unknown {
  return {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: { namespace, name },
    spec: { groupRef: { name: 'auto-a' }, accountRef: { name: namespace }, ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

/** A condition in the gateway's format. */
export function condition(
  type: string,
  status: 'True' | 'False' | 'Unknown',
  reason: string,
  message: string,
): NonNullable<NonNullable<ApiKey['status']>['conditions']>[number] {
  return { type, status, reason, message, lastTransitionTime: CREATED };
}

function createPerson(world: ConsoleFixture, rights: Rights): PersonAccess {
  const { objects, keyTexts } = world;
  const kinds = rights.kinds ?? ['ApiKey', 'Account', 'Group'];
  const allowed = (verb: AccessVerb, kind: Kind, namespace?: string): boolean =>
    (rights.verbs?.includes(verb) ?? true) &&
    kinds.includes(kind) &&
    (namespace === undefined
      ? rights.namespaces.length > 0
      : reads(verb, kind) || rights.namespaces.includes('*') || rights.namespaces.includes(namespace));
  const demand = (verb: AccessVerb, kind: Kind, { namespace }: ObjectRef): void => {
    if (!allowed(verb, kind, namespace))
      throw new AccessError('Forbidden', `${rights.name} may not ${verb} ${kind} in ${namespace}.`);
  };
  const live = <K extends Kind>(kind: K, ref: ObjectRef, uid: string): ObjectOf<K> => {
    const object = find(objects, kind, ref);
    if (!object) throw new AccessError('NotFound', `There is no ${kind} ${ref.namespace}/${ref.name}.`);
    if (object.metadata.uid !== uid) throw new AccessError('Conflict', 'It is another object by now.');
    return object;
  };
  // errors inside reject, as the interface requires
  return {
    person: { name: rights.name },
    async list<K extends Kind>(kind: K): Promise<Listing<K>> {
      const found = [...objects.values()].filter(
        (object): object is ObjectOf<K> => object.kind === kind && allowed('list', kind, object.metadata.namespace),
      );
      return { objects: found, allowed: allowed('list', kind) };
    },
    async get(kind, ref) {
      demand('get', kind, ref);
      return find(objects, kind, ref);
    },
    async create(kind, ref, spec) {
      demand('create', kind, ref);
      world.interfere?.('create', ref);
      if (find(objects, kind, ref))
        throw new AccessError('AlreadyExists', `There is an ${kind} ${ref.name} in ${ref.namespace} already.`);
      const object = admitted({
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind,
        metadata: { ...ref },
        spec,
      } as unknown as ObjectOf<typeof kind>);
      world.put({
        ...object,
        metadata: { ...object.metadata, creationTimestamp: new Date(TEST_NOW_MS).toISOString() },
      });
      return object;
    },
    async change(kind, ref, { uid, generation, patch }: ObjectChange) {
      demand('patch', kind, ref);
      world.interfere?.('patch', ref);
      const before = live(kind, ref, uid);
      if (before.metadata.generation !== generation) throw new AccessError('Conflict', 'Somebody else has changed it.');
      const merged = merge(before, patch) as typeof before;
      const { metadata, spec } = admitted(merged);
      const after = {
        ...merged,
        spec,
        metadata: {
          ...metadata,
          generation: generation + (JSON.stringify(spec) === JSON.stringify(before.spec) ? 0 : 1),
        },
      };
      world.put(after);
      return after;
    },
    async remove(kind, ref, uid) {
      demand('delete', kind, ref);
      world.interfere?.('delete', ref);
      live(kind, ref, uid);
      objects.delete(idOf(kind, ref));
    },
    async readKeyText(ref) {
      demand('get', 'ApiKey', ref);
      if (rights.readsSecrets === false)
        throw new AccessError('Forbidden', `${rights.name} may not get Secrets in ${ref.namespace}.`);
      return keyTexts.get(`${ref.namespace}/${ref.name}`);
    },
    async may(verb, kind, { namespace }) {
      return allowed(verb, kind, namespace);
    },
    async namespaces(verb, kind) {
      if (!allowed(verb, kind)) return [];
      if (!rights.namespaces.includes('*')) return rights.namespaces.toSorted();
      return [...new Set([...objects.values()].map(({ metadata }) => metadata.namespace))].sort();
    },
  };
}

/** Groups are visible to everybody who can see any group. */
function reads(verb: AccessVerb, kind: Kind): boolean {
  return kind === 'Group' && (verb === 'get' || verb === 'list');
}

function find<K extends Kind>(
  objects: ReadonlyMap<string, Resource>,
  kind: K,
  ref: ObjectRef,
): ObjectOf<K> | undefined {
  return objects.get(idOf(kind, ref)) as ObjectOf<K> | undefined;
}

function idOf(kind: Kind, { namespace, name }: ObjectRef): string {
  return `${kind} ${namespace}/${name}`;
}

/** Adds defaults, a uid and a generation. @throws AccessError (Invalid) where an API server would refuse it. */
function admitted<T extends Resource>(object: T): T {
  const schema = schemas.get(object.kind);
  if (!schema) throw new Error(`no schema of ${object.kind}`);
  const { status, metadata, ...content } = object;
  const { object: accepted, errors } = admit(schema, {
    ...content,
    metadata: { namespace: metadata.namespace, name: metadata.name },
  } as unknown as JsonObject);
  if (errors.length > 0)
    throw new AccessError('Invalid', 'It is invalid.', {
      fields: errors.map(({ path, message }) => ({ path, message })),
    });
  return {
    ...(accepted as unknown as T),
    metadata: {
      creationTimestamp: CREATED,
      uid: randomUUID(),
      generation: 1,
      ...metadata,
    },
    ...(status === undefined ? {} : { status }),
  };
}

/** A JSON merge patch, RFC 7386. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete merged[field];
    else merged[field] = merge(merged[field], value);
  }
  return merged;
}

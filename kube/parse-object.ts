/**
 * [P] Converts objects of the API server to objects of the store. Only what the gateway reads is kept, and none of it
 * may be arbitrarily long: whoever may write an object would otherwise decide about the operator's memory.
 */
import { KINDS } from '#crds/types.gen.ts';
import type { Kind, ObjectMeta, Resource } from '#crds/types.gen.ts';
import {
  KEY_ENTRY,
  KEY_LABEL,
  LONGEST_KEY,
  PREVIOUS_ANNOTATION,
  PREVIOUS_MAC_ANNOTATION,
  ROTATION_ANNOTATION,
} from '#objects/key-secret.ts';
import type { Labels, SecretObject } from '#objects/resources.ts';
import type { KubeObject, Secret } from './models.ts';

const OWNER_KIND = 'ApiKey';
const OWNER_GROUP = 'modelgateway.dev/';
interface Body {
  readonly apiVersion?: unknown;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** The gateway's own labels and annotations. */
const OWN_PREFIX = 'modelgateway.dev/';
/** More than the list of 16 replaced keys has. */
const MAX_ANNOTATION_CHARACTERS = 4096;
const MAX_ANNOTATIONS = 16;
/** The API server limits a label's length, but not their number. */
const MAX_LABELS = 64;

/** The API path of a kind's objects, in one namespace or in all. */
export function pathOfKind(kind: Kind, namespace?: string): string {
  return `/apis/modelgateway.dev/v1alpha1/${namespace === undefined ? '' : `namespaces/${namespace}/`}${KINDS[kind].plural}`;
}

/** The API path of Secrets. */
export function pathOfSecrets(namespace?: string): string {
  return `/api/v1/${namespace === undefined ? '' : `namespaces/${namespace}/`}secrets`;
}

/**
 * The API server has validated the object by the schema from which the types are generated, and filled in its defaults.
 * Of its metadata stay the identity, the labels and the gateway's own annotations.
 */
export function parseResource(kind: Kind, object: KubeObject & Body): Resource {
  const { apiVersion, spec, status } = object;
  const resource: unknown = {
    ...(apiVersion !== undefined && { apiVersion }),
    kind,
    metadata: metadataOf(object),
    ...(spec !== undefined && { spec }),
    ...(status !== undefined && { status }),
  };
  return asResource(resource);
}

function metadataOf({ metadata }: KubeObject): ObjectMeta {
  const { name, namespace = '', uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = metadata;
  return {
    name,
    namespace,
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(generation !== undefined && { generation }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(metadata.labels && { labels: firstLabels(metadata.labels) }),
    annotations: ownAnnotations(metadata.annotations),
  };
}

function firstLabels(labels: Labels): Labels {
  const all = Object.entries(labels);
  return all.length <= MAX_LABELS ? labels : Object.fromEntries(all.slice(0, MAX_LABELS));
}

function ownAnnotations(annotations: Labels = {}): Labels {
  return Object.fromEntries(
    Object.entries(annotations)
      .filter(([name, value]) => name.startsWith(OWN_PREFIX) && value.length <= MAX_ANNOTATION_CHARACTERS)
      .slice(0, MAX_ANNOTATIONS),
  );
}

function asResource(resource: unknown): Resource {
  if (isResource(resource)) return resource;
  throw new Error('an object of the API server has no kind');
}

function isResource(value: unknown): value is Resource {
  return typeof value === 'object' && value !== null && 'kind' in value && 'spec' in value;
}

/** A Secret with its values as text. */
export function parseSecretObject(object: KubeObject & Pick<Secret, 'data'>): SecretObject {
  const { labels = {}, annotations = {} } = object.metadata;
  const entries = Object.entries(object.data ?? {}).map(
    ([entry, value]) => [entry, Buffer.from(value, 'base64').toString('utf8')] as const,
  );
  return { ...secretIdentity(object), labels, annotations, data: new Map(entries) };
}

/** The Secret of an ApiKey with nothing but its key and what the gateway notes beside it. */
export function parseKeySecret(object: KubeObject & Pick<Secret, 'data'>): SecretObject {
  const { labels = {}, annotations = {} } = object.metadata;
  const key = object.data?.[KEY_ENTRY];
  return {
    ...secretIdentity(object),
    labels: pick(labels, [KEY_LABEL]),
    annotations: ownAnnotations(pick(annotations, [ROTATION_ANNOTATION, PREVIOUS_ANNOTATION, PREVIOUS_MAC_ANNOTATION])),
    data: new Map(key === undefined ? [] : [[KEY_ENTRY, decodeKey(key)]]),
  };
}

function pick(all: Labels, names: readonly string[]): Labels {
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
}

/** A value that is too long to be a key is cut, so that it is still found too long. */
function decodeKey(base64: string): string {
  const characters = Math.ceil((LONGEST_KEY + 1) / 3) * 4;
  return Buffer.from(base64.slice(0, characters), 'base64').toString('utf8');
}

function secretIdentity({ metadata }: KubeObject): Pick<SecretObject, 'namespace' | 'name' | 'live'> {
  const { namespace = '', name, uid = '', resourceVersion = '', ownerReferences = [] } = metadata;
  const owner = ownerReferences.find(
    ({ kind, apiVersion }) => kind === OWNER_KIND && apiVersion.startsWith(OWNER_GROUP),
  );
  return { namespace, name, live: { uid, resourceVersion, ...(owner && { ownerUid: owner.uid }) } };
}

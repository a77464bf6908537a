/**
 * [P] Converts objects of the API server to objects of the store: Resources without fields that only take memory, and
 * Secrets with their values as text.
 */
import { PLURALS } from '#crds/types.gen.ts';
import type { Kind, Resource } from '#crds/types.gen.ts';
import type { SecretObject } from '../store/resources.ts';
import type { KubeObject, Secret } from './models.ts';

const OWNER_KIND = 'ApiKey';
const OWNER_GROUP = 'modelgateway.dev/';
/** kubectl's copy of the whole object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** The API path of a kind's objects, in one namespace or in all. */
export function pathOfKind(kind: Kind, namespace?: string): string {
  return `/apis/modelgateway.dev/v1alpha1/${namespace === undefined ? '' : `namespaces/${namespace}/`}${PLURALS[kind]}`;
}

/** The API path of Secrets. */
export function pathOfSecrets(namespace?: string): string {
  return `/api/v1/${namespace === undefined ? '' : `namespaces/${namespace}/`}secrets`;
}

/**
 * The API server has validated the object by the schema from which the types are generated, and filled in its defaults.
 */
export function parseResource(kind: Kind, object: KubeObject): Resource {
  const { managedFields: _, annotations: { [LAST_APPLIED]: __, ...annotations } = {}, ...metadata } = object.metadata;
  const resource: unknown = { ...object, kind, metadata: { ...metadata, annotations } };
  return asResource(resource);
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
  const {
    namespace = '',
    name,
    labels = {},
    annotations = {},
    uid = '',
    resourceVersion = '',
    ownerReferences = [],
  } = object.metadata;
  const owner = ownerReferences.find(
    ({ kind, apiVersion }) => kind === OWNER_KIND && apiVersion.startsWith(OWNER_GROUP),
  );
  const entries = Object.entries(object.data ?? {}).map(
    ([entry, value]) => [entry, Buffer.from(value, 'base64').toString('utf8')] as const,
  );
  return {
    namespace,
    name,
    labels,
    annotations,
    data: new Map(entries),
    live: { uid, resourceVersion, ...(owner === undefined ? {} : { ownerUid: owner.uid }) },
  };
}

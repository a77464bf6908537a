/** [P] What every object must say of itself: apiVersion, kind, and metadata as Kubernetes takes it. */
import { fieldError, type FieldError, type FieldPath } from './field-path.ts';
import { isJsonObject, jsonTypeName, shownJson, type Json, type JsonObject } from './json.ts';
import type { KindSchema } from './kind-schema.ts';

const MAX_NAME_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;
const MAX_ANNOTATIONS_BYTES = 256 * 1024;
/** In UTF-8, of those that JavaScript counts. */
const MOST_BYTES_PER_CHARACTER = 3;

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

/** The fields of metav1.ObjectMeta and their JSON types. */
const METADATA_FIELDS: Readonly<Record<string, 'string' | 'integer' | 'object' | 'array'>> = {
  name: 'string', generateName: 'string', namespace: 'string', selfLink: 'string', uid: 'string', resourceVersion: 'string',
  generation: 'integer', creationTimestamp: 'string', deletionTimestamp: 'string', deletionGracePeriodSeconds: 'integer',
  labels: 'object', annotations: 'object', ownerReferences: 'array', finalizers: 'array', managedFields: 'array',
};

const NAMELESS = fieldError(['metadata', 'name'], 'Required value: name is required', true);

/** Mistakes in apiVersion, kind and metadata. */
export function identityErrors(object: JsonObject, schema: KindSchema): FieldError[] {
  const { metadata } = object;
  const saidBySchema = metadata !== undefined && metadata !== null && !isJsonObject(metadata); // its type
  return [...typeErrors(object, schema), ...(saidBySchema ? [] : metadataErrors(metadata))];
}

function typeErrors(object: JsonObject, schema: KindSchema): FieldError[] {
  return [...wrongText(object, 'apiVersion', `${schema.group}/${schema.version}`), ...wrongText(object, 'kind', schema.kind)];
}

function wrongText(object: JsonObject, field: string, wanted: string): FieldError[] {
  const found = object[field];
  return found === wanted ? [] : [fieldError([field], `Invalid value: ${JSON.stringify(found ?? '')}: must be ${wanted}`)];
}

/** Mistakes in an object's metadata, whatever its kind. */
export function metadataErrors(metadata: Json | undefined): FieldError[] {
  if (metadata === undefined || metadata === null) return [NAMELESS];
  if (!isJsonObject(metadata)) return [wrongType(['metadata'], metadata, 'object')];
  return [
    ...metadataFieldErrors(metadata),
    ...nameErrors(metadata['name']),
    ...namespaceErrors(metadata['namespace']),
    ...labelsErrors(metadata['labels']),
    ...annotationsErrors(metadata['annotations']),
  ];
}

function metadataFieldErrors(metadata: JsonObject): FieldError[] {
  return Object.entries(metadata).flatMap(([field, value]) => {
    const type = Object.hasOwn(METADATA_FIELDS, field) ? METADATA_FIELDS[field] : undefined;
    if (!type) return [fieldError(['metadata', field], 'unknown field')];
    return value === null || jsonTypeName(value) === type ? [] : [wrongType(['metadata', field], value, type)];
  });
}

function nameErrors(name: Json | undefined): FieldError[] {
  const path = ['metadata', 'name'];
  if (name === undefined || name === null || name === '') return [NAMELESS];
  if (typeof name !== 'string') return [];
  if (name.length > MAX_NAME_LENGTH) return [fieldError(path, `Invalid value: ${shownJson(name)}: must be no more than ${MAX_NAME_LENGTH} bytes`)];
  if (DNS_SUBDOMAIN.test(name)) return [];
  const rule = 'a name consists of lower-case letters, digits, \'-\' and \'.\', with a letter or digit at both ends of each part';
  return [fieldError(path, `Invalid value: ${shownJson(name)}: ${rule}`)];
}

function namespaceErrors(namespace: Json | undefined): FieldError[] {
  if (typeof namespace !== 'string' || namespace === '') return [];
  if (namespace.length <= MAX_LABEL_LENGTH && DNS_LABEL.test(namespace)) return [];
  const rule = `a namespace consists of lower-case letters, digits and '-', with a letter or digit at both ends, ${MAX_LABEL_LENGTH} characters at most`;
  return [fieldError(['metadata', 'namespace'], `Invalid value: ${shownJson(namespace)}: ${rule}`)];
}

function labelsErrors(labels: Json | undefined): FieldError[] {
  return entriesOf(labels).flatMap(([key, value]) => {
    if (isQualifiedName(key) && typeof value === 'string' && isLabelValue(value)) return [];
    const path = ['metadata', 'labels'];
    if (typeof value !== 'string' && value !== null) return [wrongType(path, value, 'string')];
    const wrongKey = isQualifiedName(key) ? [] : [fieldError(path, `Invalid value: ${shownJson(key)}: is not a label's key`)];
    const wrongValue = isLabelValue(value ?? '') ? [] : [fieldError(path, `Invalid value: ${shownJson(value)}: is not a label's value`)];
    return [...wrongKey, ...wrongValue];
  });
}

function annotationsErrors(annotations: Json | undefined): FieldError[] {
  if (annotations === undefined) return [];
  const errors = entriesOf(annotations).flatMap(([key, value]) => {
    const path = ['metadata', 'annotations'];
    if (typeof value !== 'string' && value !== null) return [wrongType(path, value, 'string')];
    return isQualifiedName(key) || isQualifiedName(key.toLowerCase()) ? [] : [fieldError(path, `Invalid value: ${shownJson(key)}: is not an annotation's key`)];
  });
  const tooLong = isTooLong(entriesOf(annotations)) ? [fieldError(['metadata', 'annotations'], `Too long: may not be more than ${MAX_ANNOTATIONS_BYTES} bytes`)] : [];
  return [...errors, ...tooLong];
}

function entriesOf(value: Json | undefined): [string, Json][] {
  return isJsonObject(value) ? Object.entries(value) : [];
}

/** `name` or `prefix/name`, as keys of labels and annotations are. */
function isQualifiedName(key: string): boolean {
  const [first = '', second, ...more] = key.split('/');
  if (more.length > 0) return false;
  if (second !== undefined && (first.length > MAX_NAME_LENGTH || !DNS_SUBDOMAIN.test(first))) return false;
  const name = second ?? first;
  return name.length <= MAX_LABEL_LENGTH && LABEL_NAME.test(name);
}

function isLabelValue(value: string): boolean {
  return value === '' || (value.length <= MAX_LABEL_LENGTH && LABEL_NAME.test(value));
}

/** Few have so many characters that their bytes need counting. */
function isTooLong(annotations: readonly [string, Json][]): boolean {
  const texts = annotations.flatMap(([key, value]) => (typeof value === 'string' ? [key, value] : [key]));
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  return characters * MOST_BYTES_PER_CHARACTER > MAX_ANNOTATIONS_BYTES && texts.reduce((sum, text) => sum + byteLength(text), 0) > MAX_ANNOTATIONS_BYTES;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function wrongType(path: FieldPath, value: Json, type: string): FieldError {
  const found = JSON.stringify(jsonTypeName(value));
  return fieldError(path, `Invalid value: ${found}: must be of type ${type}`, true);
}

/** [P] Validates what every object has: apiVersion, kind, and Kubernetes' metadata. */
import { fieldError, type FieldError, type FieldPath } from './field-path.ts';
import { isJsonObject, jsonTypeName, redactedJson, type Json, type JsonObject } from './json.ts';
import type { KindSchema } from './kind-schema.ts';

const MAX_NAME_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

/** The fields of metav1.ObjectMeta and their JSON types. */
const METADATA_FIELDS: Readonly<Record<string, 'string' | 'integer' | 'object' | 'array'>> = {
  name: 'string',
  generateName: 'string',
  namespace: 'string',
  selfLink: 'string',
  uid: 'string',
  resourceVersion: 'string',
  generation: 'integer',
  creationTimestamp: 'string',
  deletionTimestamp: 'string',
  deletionGracePeriodSeconds: 'integer',
  labels: 'object',
  annotations: 'object',
  ownerReferences: 'array',
  finalizers: 'array',
  managedFields: 'array',
};

const NAME_RULE =
  "a name consists of lower-case letters, digits, '-' and '.', with a letter or digit at both ends of each part";
const NAMESPACE_RULE =
  "a namespace consists of lower-case letters, digits and '-', " +
  `with a letter or digit at both ends, ${MAX_LABEL_LENGTH} characters at most`;
const NAMELESS = fieldError(['metadata', 'name'], 'Required value: name is required', true);

/** Errors in apiVersion, kind and metadata. */
export function identityErrors(object: JsonObject, schema: KindSchema): FieldError[] {
  const { metadata } = object;
  const reportedBySchema = metadata !== undefined && metadata !== null && !isJsonObject(metadata); // as a wrong type
  const errors = [...typeErrors(object, schema), ...(reportedBySchema ? [] : metadataErrors(metadata))];
  if (schema.kind !== 'Group' || !isJsonObject(metadata)) return errors;
  return errors.map((error) => withDisplayName(error, metadata));
}

/** Adds to the error about a group's name that spec.displayName may contain capitals and spaces. */
function withDisplayName(error: FieldError, { name }: JsonObject): FieldError {
  if (typeof name !== 'string' || !error.message.endsWith(NAME_RULE)) return error;
  const suggested = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  if (!DNS_SUBDOMAIN.test(suggested) || suggested.length > MAX_LABEL_LENGTH) return error;
  return {
    ...error,
    message:
      `${error.message}; call it ${suggested}, and write the name that people see into ` +
      `spec.displayName: ${JSON.stringify(name)}`,
  };
}

function typeErrors(object: JsonObject, schema: KindSchema): FieldError[] {
  const apiVersion = `${schema.group}/${schema.version}`;
  return [...wrongText(object, 'apiVersion', apiVersion), ...wrongText(object, 'kind', schema.kind)];
}

function wrongText(object: JsonObject, field: string, wanted: string): FieldError[] {
  const found = object[field];
  if (found === wanted) return [];
  return [fieldError([field], `Invalid value: ${JSON.stringify(found ?? '')}: must be ${wanted}`)];
}

/** Errors in an object's metadata, for any kind. */
export function metadataErrors(metadata: Json | undefined): FieldError[] {
  if (metadata === undefined || metadata === null) return [NAMELESS];
  if (!isJsonObject(metadata)) return [wrongType(['metadata'], metadata, 'object')];
  const errors: FieldError[] = [];
  addFieldErrors(errors, metadata);
  addNameErrors(errors, metadata['name']);
  addNamespaceErrors(errors, metadata['namespace']);
  addLabelsErrors(errors, metadata['labels']);
  addAnnotationsErrors(errors, metadata['annotations']);
  return errors;
}

function addFieldErrors(errors: FieldError[], metadata: JsonObject): void {
  for (const field of Object.keys(metadata)) {
    const value = metadata[field] ?? null;
    const type = Object.hasOwn(METADATA_FIELDS, field) ? METADATA_FIELDS[field] : undefined;
    if (!type) errors.push(fieldError(['metadata', field], 'unknown field'));
    else if (value !== null && jsonTypeName(value) !== type) errors.push(wrongType(['metadata', field], value, type));
  }
}

function addNameErrors(errors: FieldError[], name: Json | undefined): void {
  if (name === undefined || name === null || name === '') errors.push(NAMELESS);
  else if (typeof name === 'string' && (name.length > MAX_NAME_LENGTH || !DNS_SUBDOMAIN.test(name))) {
    const rule = name.length > MAX_NAME_LENGTH ? `must be no more than ${MAX_NAME_LENGTH} bytes` : NAME_RULE;
    errors.push(fieldError(['metadata', 'name'], `Invalid value: ${redactedJson(name)}: ${rule}`));
  }
}

function addNamespaceErrors(errors: FieldError[], namespace: Json | undefined): void {
  if (typeof namespace !== 'string' || namespace === '') return;
  if (namespace.length <= MAX_LABEL_LENGTH && DNS_LABEL.test(namespace)) return;
  errors.push(fieldError(['metadata', 'namespace'], `Invalid value: ${redactedJson(namespace)}: ${NAMESPACE_RULE}`));
}

function addLabelsErrors(errors: FieldError[], labels: Json | undefined): void {
  if (!isJsonObject(labels)) return;
  for (const key of Object.keys(labels)) {
    const value = labels[key] ?? null;
    const path = ['metadata', 'labels'];
    if (typeof value !== 'string' && value !== null) {
      errors.push(wrongType(path, value, 'string'));
      continue;
    }
    if (!isQualifiedName(key))
      errors.push(fieldError(path, `Invalid value: ${redactedJson(key)}: is not a label's key`));
    if (!isLabelValue(value ?? ''))
      errors.push(fieldError(path, `Invalid value: ${redactedJson(value)}: is not a label's value`));
  }
}

function addAnnotationsErrors(errors: FieldError[], annotations: Json | undefined): void {
  if (!isJsonObject(annotations)) return;
  const path = ['metadata', 'annotations'];
  for (const key of Object.keys(annotations)) {
    const value = annotations[key] ?? null;
    if (typeof value !== 'string' && value !== null) errors.push(wrongType(path, value, 'string'));
    else if (!isQualifiedName(key) && !isQualifiedName(key.toLowerCase()))
      errors.push(fieldError(path, `Invalid value: ${redactedJson(key)}: is not an annotation's key`));
  }
  if (isTooLong(annotations))
    errors.push(fieldError(path, `Too long: may not be more than ${MAX_ANNOTATIONS_BYTES} bytes`));
}

/** True for `name` or `prefix/name`, the form of keys of labels and annotations. */
function isQualifiedName(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash >= 0 && (slash > MAX_NAME_LENGTH || !DNS_SUBDOMAIN.test(key.slice(0, slash)))) return false;
  return key.length - slash - 1 <= MAX_LABEL_LENGTH && LABEL_NAME.test(slash < 0 ? key : key.slice(slash + 1));
}

function isLabelValue(value: string): boolean {
  return value === '' || (value.length <= MAX_LABEL_LENGTH && LABEL_NAME.test(value));
}

function isTooLong(annotations: JsonObject): boolean {
  const texts = Object.entries(annotations)
    .flat()
    .filter((text) => typeof text === 'string');
  return texts.reduce((sum, text) => sum + byteLength(text), 0) > MAX_ANNOTATIONS_BYTES;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function wrongType(path: FieldPath, value: Json, type: string): FieldError {
  const found = JSON.stringify(jsonTypeName(value));
  return fieldError(path, `Invalid value: ${found}: must be of type ${type}`, true);
}

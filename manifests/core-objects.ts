/**
 * [P] Validates Kubernetes' own objects that a folder may contain, Secret and Namespace, as strictly as the five kinds.
 * Messages never repeat a value.
 */
import { fieldError } from '#crds/field-path.ts';
import type { FieldError } from '#crds/field-path.ts';
import { isJsonObject } from '#crds/json.ts';
import type { Json, JsonObject } from '#crds/json.ts';
import { metadataErrors } from '#crds/object-meta.ts';
import type { Labels } from '#objects/resources.ts';

export const CORE_KINDS = ['Secret', 'Namespace'] as const;
export type CoreKind = (typeof CORE_KINDS)[number];

const FIELDS: Readonly<Record<CoreKind, ReadonlySet<string>>> = {
  Secret: new Set(['apiVersion', 'kind', 'metadata', 'type', 'immutable', 'data', 'stringData']),
  Namespace: new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']),
};
const NONE: Labels = Object.freeze({});
const ENTRY_NAME = /^[-._a-zA-Z0-9]{1,253}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** All errors in a Secret or Namespace. */
export function coreErrors(kind: CoreKind, object: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  if (object['apiVersion'] !== 'v1') errors.push(fieldError(['apiVersion'], `must be v1 for the kind ${kind}`));
  for (const field of Object.keys(object))
    if (!FIELDS[kind].has(field)) errors.push(fieldError([field], 'unknown field'));
  errors.push(...metadataErrors(object['metadata']));
  if (kind === 'Secret') addSecretErrors(errors, object);
  return errors;
}

/** A Secret's entries as text. As on an API server, stringData overrides data. The Secret must be valid. */
export function secretData(object: JsonObject): ReadonlyMap<string, string> {
  const data = new Map<string, string>();
  eachText(object['data'], (name, value) => data.set(name, Buffer.from(value.replace(/\s/g, ''), 'base64').toString()));
  eachText(object['stringData'], (name, value) => data.set(name, value));
  return data;
}

/** True for the kinds of Kubernetes' own. */
export function isCoreKind(kind: unknown): kind is CoreKind {
  return (CORE_KINDS as readonly unknown[]).includes(kind);
}

/** Labels or annotations as strings; null becomes the empty string, as on an API server. */
export function stringMap(value: Json | undefined): Labels {
  if (!isJsonObject(value)) return NONE;
  if (isLabels(value)) return value;
  const map: Record<string, string> = {};
  for (const key of Object.keys(value)) {
    const text = value[key];
    map[key] = typeof text === 'string' ? text : '';
  }
  return map;
}

function isLabels(value: JsonObject): value is JsonObject & Labels {
  for (const key of Object.keys(value)) if (typeof value[key] !== 'string') return false;
  return true;
}

function addSecretErrors(errors: FieldError[], object: JsonObject): void {
  addMapErrors(errors, { field: 'data', value: object['data'], faultOf: faultOfBase64 });
  addMapErrors(errors, { field: 'stringData', value: object['stringData'], faultOf: () => undefined });
  const { type } = object;
  if (type !== undefined && typeof type !== 'string') errors.push(fieldError(['type'], 'must be a string'));
}

function faultOfBase64(text: string): string | undefined {
  return BASE64.test(text.replace(/\s/g, '')) ? undefined : 'must be base64; plain text belongs into stringData';
}

interface MapField {
  readonly field: string;
  readonly value: Json | undefined;
  readonly faultOf: (text: string) => string | undefined;
}

function addMapErrors(errors: FieldError[], { field, value, faultOf }: MapField): void {
  if (value === undefined || value === null) return;
  if (!isJsonObject(value)) return void errors.push(fieldError([field], 'must be a map of strings'));
  for (const name of Object.keys(value)) {
    const fault = faultOfEntry(name, value[name], faultOf);
    if (fault !== undefined) errors.push(fieldError([field, name], fault));
  }
}

function faultOfEntry(name: string, text: Json | undefined, faultOf: MapField['faultOf']): string | undefined {
  if (!ENTRY_NAME.test(name)) return "an entry's name consists of letters, digits, '-', '_' and '.'";
  return typeof text === 'string' ? faultOf(text) : 'must be a string; put it in quotes';
}

function eachText(value: Json | undefined, take: (name: string, text: string) => void): void {
  if (!isJsonObject(value)) return;
  for (const name of Object.keys(value)) {
    const text = value[name];
    if (typeof text === 'string') take(name, text);
  }
}

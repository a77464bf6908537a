/**
 * [P] Kubernetes' own objects that a folder may hold: Secret and Namespace, checked as strictly as the five kinds. Messages
 * never repeat a value.
 */
import { fieldError } from '#crds/field-path.ts';
import type { FieldError } from '#crds/field-path.ts';
import { isJsonObject } from '#crds/json.ts';
import type { Json, JsonObject } from '#crds/json.ts';
import { metadataErrors } from '#crds/object-meta.ts';
import type { Labels } from '../store/resources.ts';

export const CORE_KINDS = ['Secret', 'Namespace'] as const;
export type CoreKind = (typeof CORE_KINDS)[number];

const FIELDS: Readonly<Record<CoreKind, ReadonlySet<string>>> = {
  Secret: new Set(['apiVersion', 'kind', 'metadata', 'type', 'immutable', 'data', 'stringData']),
  Namespace: new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']),
};
const NONE: Labels = Object.freeze({});
const ENTRY_NAME = /^[-._a-zA-Z0-9]{1,253}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Every mistake in a Secret or Namespace. */
export function coreErrors(kind: CoreKind, object: JsonObject): FieldError[] {
  const wrongVersion = object['apiVersion'] === 'v1' ? [] : [fieldError(['apiVersion'], `must be v1 for the kind ${kind}`)];
  const unknown = Object.keys(object).filter((field) => !FIELDS[kind].has(field)).map((field) => fieldError([field], 'unknown field'));
  return [...wrongVersion, ...unknown, ...metadataErrors(object['metadata']), ...(kind === 'Secret' ? secretErrors(object) : [])];
}

/** A Secret's entries as text. stringData wins over data, as on an API server. Call it only where coreErrors found nothing. */
export function secretData(object: JsonObject): ReadonlyMap<string, string> {
  const data = new Map<string, string>();
  for (const [name, value] of textEntries(object['data'])) data.set(name, Buffer.from(value.replace(/\s/g, ''), 'base64').toString('utf8'));
  for (const [name, value] of textEntries(object['stringData'])) data.set(name, value);
  return data;
}

/** Labels or annotations as strings; null is the empty string, as on an API server. */
export function stringMap(value: Json | undefined): Labels {
  if (!isJsonObject(value)) return NONE;
  const map: Record<string, string> = {};
  for (const key of Object.keys(value)) {
    const text = value[key];
    map[key] = typeof text === 'string' ? text : '';
  }
  return map;
}

function secretErrors(object: JsonObject): FieldError[] {
  return [
    ...mapErrors('data', object['data'], (text) => BASE64.test(text.replace(/\s/g, '')) ? undefined : 'must be base64; plain text belongs into stringData'),
    ...mapErrors('stringData', object['stringData'], () => undefined),
    ...(object['type'] === undefined || typeof object['type'] === 'string' ? [] : [fieldError(['type'], 'must be a string')]),
  ];
}

function mapErrors(field: string, value: Json | undefined, faultOf: (text: string) => string | undefined): FieldError[] {
  if (value === undefined || value === null) return [];
  if (!isJsonObject(value)) return [fieldError([field], 'must be a map of strings')];
  return Object.entries(value).flatMap(([name, text]) => {
    if (!ENTRY_NAME.test(name)) return [fieldError([field, name], 'an entry\'s name consists of letters, digits, \'-\', \'_\' and \'.\'')];
    if (typeof text !== 'string') return [fieldError([field, name], 'must be a string; put it in quotes')];
    const fault = faultOf(text);
    return fault === undefined ? [] : [fieldError([field, name], fault)];
  });
}

function textEntries(value: Json | undefined): [string, string][] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, text]): [string, string][] => typeof text === 'string' ? [[name, text]] : []);
}

/** JSON values, as read from YAML files and responses of the API server. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [field: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isJsonArray(value: unknown): value is readonly Json[] {
  return Array.isArray(value);
}

/** The items of an array; none of any other value. */
export function itemsOf(value: Json | undefined): readonly Json[] {
  return isJsonArray(value) ? value : [];
}

/** The value as JSON, without fields that are undefined. */
export function toJson(value: unknown): Json {
  const json: Json = JSON.parse(JSON.stringify(value));
  return json;
}

/** Parses JSON; returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The name that Kubernetes' messages use for a value's type. */
export function jsonTypeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** Formats a value for messages, without anything that looks like a key or a credential in a URL. */
export function redactedJson(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text
    .replaceAll(/\bsk-[^"\s]+/g, 'sk-[redacted]')
    .replaceAll(/:\/\/[^"\s/?#]*@/g, '://[redacted]@')
    .replaceAll(/(:\/\/[^"\s?#]*)[?#][^"\s]*/g, '$1?[redacted]');
}

/** JSON values, as they come out of YAML files and API answers. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [field: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses JSON; undefined: the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What Kubernetes calls the type of a value in its messages. */
export function jsonTypeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** A value as messages show it: what looks like a key, or like a credential in a URL, is left out. */
export function redactedJson(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text
    .replaceAll(/\bsk-[^"\s]+/g, 'sk-[redacted]')
    .replaceAll(/:\/\/[^"\s/?#]*@/g, '://[redacted]@')
    .replaceAll(/(:\/\/[^"\s?#]*)[?#][^"\s]*/g, '$1?[redacted]');
}

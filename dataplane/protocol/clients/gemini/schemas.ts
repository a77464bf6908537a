/**
 * Google's schemas, a subset of OpenAPI's with types in capitals, as JSON schemas.
 */
import { isRecord, itemsOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';

/** Counts, which Google's JSON writes as strings. */
const COUNTS: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);
/** Keywords that only order the properties, or that a JSON schema expresses differently. */
const LEFT_OUT: ReadonlySet<string> = new Set(['propertyOrdering', 'property_ordering', 'nullable']);

/** Values without a meaning. */
const MEANINGLESS: ReadonlyMap<string, unknown> = new Map([
  ['type', 'TYPE_UNSPECIFIED'],
  ['format', 'enum'],
]);

/** Deeper schemas stay as they are. */
const MAX_DEPTH = 100;

export function toJsonSchema(schema: JsonRecord, depth = 0): JsonRecord {
  if (depth > MAX_DEPTH) return schema;
  const entries = Object.entries(schema)
    .filter(([name]) => !LEFT_OUT.has(name))
    .map(([name, value]) => convertKeyword(name, value, depth + 1))
    .filter((entry) => entry !== undefined);
  const converted = Object.fromEntries(entries);
  return schema['nullable'] === true ? orNull(converted) : converted;
}

function convertKeyword(name: string, value: unknown, depth: number): readonly [string, unknown] | undefined {
  const inner = (item: unknown): unknown => (isRecord(item) ? toJsonSchema(item, depth) : item);
  if (MEANINGLESS.get(name) === value) return undefined;
  switch (name) {
    case 'type':
      return [name, lowerCase(value)];
    case 'example':
      return ['examples', [value]];
    case 'items':
      return [name, inner(value)];
    case 'anyOf':
      return [name, itemsOf(value).map(inner)];
    case 'properties':
      return [name, isRecord(value) ? mapValues(value, inner) : value];
    default:
      return [name, COUNTS.has(name) && typeof value === 'string' ? Number(value) : value];
  }
}

function mapValues(object: JsonRecord, map: (value: unknown) => unknown): JsonRecord {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]));
}

function lowerCase(type: unknown): unknown {
  if (Array.isArray(type)) return type.map(lowerCase);
  return typeof type === 'string' ? type.toLowerCase() : type;
}

function orNull(schema: JsonRecord): JsonRecord {
  const { type, anyOf } = schema;
  if (typeof type === 'string') return { ...schema, type: [type, 'null'] };
  return Array.isArray(anyOf) ? { ...schema, anyOf: [...(anyOf as unknown[]), { type: 'null' }] } : schema;
}

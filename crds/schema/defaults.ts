/**
 * [P] Prepares an object as an API server does before validation, in the same order: it reports and drops unknown
 * fields, drops nulls where null has no meaning, and fills in defaults.
 */
import { fieldError, type FieldError, type PathSegment } from './field-path.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';
import type { SchemaNode } from './kind-schema.ts';

interface Normalised {
  readonly object: JsonObject;
  readonly errors: readonly FieldError[];
}

/** The object with its defaults, and an error for each unknown field, in the object's order. */
export function normalise(object: JsonObject, root: SchemaNode): Normalised {
  const found: Found = { path: [], errors: [] };
  return { object: normaliseFields(object, root, found), errors: found.errors };
}

interface Found {
  /** The path of the value being visited. */
  readonly path: PathSegment[];
  readonly errors: FieldError[];
}

/** A copy with defaults, without unknown fields, and without the nulls that stand for an absent field. */
function normaliseValue(value: Json, node: SchemaNode, found: Found): Json {
  const { items } = node;
  if (Array.isArray(value) && items)
    return value.map((item: Json, index) => normaliseBelow(item, items, { found, segment: index }));
  return isJsonObject(value) && hasFields(node) ? normaliseFields(value, node, found) : value;
}

function normaliseFields(value: JsonObject, node: SchemaNode, found: Found): JsonObject {
  const kept: Record<string, Json> = {};
  for (const field of Object.keys(value)) {
    const child = childNode(node, field);
    const given = value[field] ?? child?.default;
    if (!child) found.errors.push(fieldError([...found.path, field], 'unknown field'));
    else if (given !== undefined) setField(kept, field, normaliseBelow(given, child, { found, segment: field }));
  }
  for (const field in node.properties) {
    const child = node.properties[field];
    if (child?.default !== undefined && kept[field] === undefined)
      kept[field] = normaliseValue(child.default, child, found);
  }
  return kept;
}

interface Step {
  readonly found: Found;
  readonly segment: PathSegment;
}

function normaliseBelow(value: Json, node: SchemaNode, { found, segment }: Step): Json {
  if (typeof value !== 'object') return value;
  found.path.push(segment);
  const result = normaliseValue(value, node, found);
  found.path.pop();
  return result;
}

/** Sets a field of any name: a plain assignment to "__proto__" would do something else. */
function setField(object: Record<string, Json>, field: string, value: Json): void {
  if (field !== '__proto__') object[field] = value;
  else Object.defineProperty(object, field, { value, enumerable: true, configurable: true, writable: true });
}

function childNode(node: SchemaNode, field: string): SchemaNode | undefined {
  if (node.properties && Object.hasOwn(node.properties, field)) return node.properties[field];
  return node.additionalProperties;
}

/** Whether the schema describes the object's fields; for metadata it does not. */
function hasFields(node: SchemaNode): boolean {
  return node.properties !== undefined || node.additionalProperties !== undefined;
}

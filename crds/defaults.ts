/**
 * [P] What an API server does to an object before it judges it, in its order: fields that the schema does not know are noted and
 * dropped, nulls are dropped where null means nothing, defaults are filled in.
 */
import { fieldError, type FieldError, type FieldPath } from './field-path.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';
import type { SchemaNode } from './kind-schema.ts';

export interface Normalised {
  readonly object: JsonObject;
  readonly errors: readonly FieldError[];
}

/** The object with its defaults, and an error for each unknown field, in the object's order. */
export function normalise(object: JsonObject, root: SchemaNode): Normalised {
  const errors: FieldError[] = [];
  return { object: fieldsWithDefaults(knownFields(object, { node: root, path: [], errors }), root), errors };
}

interface Place {
  readonly node: SchemaNode;
  readonly path: FieldPath;
  readonly errors: FieldError[];
}

/** A copy without unknown fields, and without the nulls that stand for an absent field. */
function withoutUnknown(value: Json, place: Place): Json {
  const { items } = place.node;
  if (Array.isArray(value) && items) {
    return value.map((item: Json, index) => withoutUnknown(item, { ...place, node: items, path: [...place.path, index] }));
  }
  return isJsonObject(value) && hasFields(place.node) ? knownFields(value, place) : value;
}

function knownFields(value: JsonObject, place: Place): JsonObject {
  const kept: [string, Json][] = [];
  for (const [field, child] of Object.entries(value)) {
    const node = childNode(place.node, field);
    const path = [...place.path, field];
    if (!node) place.errors.push(fieldError(path, 'unknown field'));
    else if (child !== null || node.default !== undefined) kept.push([field, withoutUnknown(child, { ...place, node, path })]);
  }
  return Object.fromEntries(kept);
}

function childNode(node: SchemaNode, field: string): SchemaNode | undefined {
  if (node.properties && Object.hasOwn(node.properties, field)) return node.properties[field];
  return node.additionalProperties;
}

/** Of metadata the schema says only that it is an object. */
function hasFields(node: SchemaNode): boolean {
  return node.properties !== undefined || node.additionalProperties !== undefined;
}

function withDefaults(value: Json, node: SchemaNode): Json {
  if (Array.isArray(value)) return value.map((item: Json) => (node.items ? withDefaults(item, node.items) : item));
  return isJsonObject(value) ? fieldsWithDefaults(value, node) : value;
}

function fieldsWithDefaults(value: JsonObject, node: SchemaNode): JsonObject {
  const filled: Record<string, Json> = { ...value };
  for (const [field, child] of Object.entries(node.properties ?? {})) {
    if (child.default !== undefined && (filled[field] ?? null) === null) filled[field] = child.default;
  }
  for (const [field, item] of Object.entries(filled)) {
    const child = childNode(node, field);
    if (child) filled[field] = withDefaults(item, child);
  }
  return filled;
}

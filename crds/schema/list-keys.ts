/** [P] Checks lists that are sets or maps: no item, or no key of an item, may occur twice. */
import { fieldError, type FieldError, type FieldPath, type PathSegment } from './field-path.ts';
import { isJsonObject, redactedJson, type Json, type JsonObject } from './json.ts';
import type { SchemaNode } from './kind-schema.ts';

/** An error for each item that repeats an earlier one, at any depth of the value. */
export function duplicateErrors(value: Json, root: SchemaNode): FieldError[] {
  const errors: FieldError[] = [];
  walk(value, root, { path: [], errors });
  return errors;
}

interface Found {
  /** The path of the value being visited. */
  readonly path: PathSegment[];
  readonly errors: FieldError[];
}

function walk(value: Json, node: SchemaNode, found: Found): void {
  if (Array.isArray(value)) {
    found.errors.push(...repeated(value, node, found.path));
    const { items } = node;
    if (items) for (const [index, item] of value.entries()) step(item, items, { found, segment: index });
  } else if (isJsonObject(value)) {
    walkMembers(value, node, found);
  }
}

function walkMembers(
  value: JsonObject,
  { properties = {}, additionalProperties: values }: SchemaNode,
  found: Found,
): void {
  for (const [field, child] of Object.entries(properties)) step(value[field] ?? null, child, { found, segment: field });
  if (values) for (const [name, member] of Object.entries(value)) step(member, values, { found, segment: name });
}

interface Step {
  readonly found: Found;
  readonly segment: PathSegment;
}

function step(value: Json, node: SchemaNode, { found, segment }: Step): void {
  if (typeof value !== 'object') return;
  found.path.push(segment);
  walk(value, node, found);
  found.path.pop();
}

/** Reports each repeated key once, at its second position, as an API server does. */
function repeated(items: readonly Json[], node: SchemaNode, path: FieldPath): FieldError[] {
  const listType = node['x-kubernetes-list-type'];
  if (listType !== 'set' && listType !== 'map') return [];
  const times = new Map<string, number>();
  return items.flatMap((item, index) => {
    const key = listType === 'map' ? mapKey(item, node) : item;
    const text = JSON.stringify(key);
    const seen = (times.get(text) ?? 0) + 1;
    times.set(text, seen);
    return seen === 2 ? [fieldError([...path, index], `Duplicate value: ${redactedJson(key)}`)] : [];
  });
}

function mapKey(item: Json, node: SchemaNode): Json {
  if (!isJsonObject(item)) return {};
  const keys = node['x-kubernetes-list-map-keys'] ?? [];
  return Object.fromEntries(keys.flatMap((key) => (item[key] === undefined ? [] : [[key, item[key]]])));
}

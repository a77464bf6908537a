/** [P] Lists that are sets or maps: no item, and no key of an item, may occur twice. */
import { fieldError, type FieldError, type FieldPath } from './field-path.ts';
import { isJsonObject, shownJson, type Json } from './json.ts';
import type { SchemaNode } from './kind-schema.ts';

/** An error for each item that repeats an earlier one, the whole value through. */
export function duplicateErrors(value: Json, node: SchemaNode, path: FieldPath): FieldError[] {
  if (Array.isArray(value)) {
    const below = value.flatMap((item: Json, index) => (node.items ? duplicateErrors(item, node.items, [...path, index]) : []));
    return [...repeated(value, node, path), ...below];
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([field, child]) => {
    const childNode = node.properties?.[field];
    return childNode ? duplicateErrors(child, childNode, [...path, field]) : [];
  });
}

/** Each key counts once, at its second place, as an API server reports it. */
function repeated(items: readonly Json[], node: SchemaNode, path: FieldPath): FieldError[] {
  const listType = node['x-kubernetes-list-type'];
  if (listType !== 'set' && listType !== 'map') return [];
  const times = new Map<string, number>();
  return items.flatMap((item, index) => {
    const key = JSON.stringify(listType === 'map' ? mapKey(item, node) : item);
    const seen = (times.get(key) ?? 0) + 1;
    times.set(key, seen);
    return seen === 2 ? [fieldError([...path, index], `Duplicate value: ${shownJson(listType === 'map' ? mapKey(item, node) : item)}`)] : [];
  });
}

function mapKey(item: Json, node: SchemaNode): Json {
  if (!isJsonObject(item)) return {};
  const keys = node['x-kubernetes-list-map-keys'] ?? [];
  return Object.fromEntries(keys.flatMap((key) => (item[key] === undefined ? [] : [[key, item[key]]])));
}

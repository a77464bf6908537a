/** [P] JSON merge patches (RFC 7386), as far as they change anything. */
import { isJsonObject } from '#crds/json.ts';
import type { Json, JsonObject } from '#crds/json.ts';

/** What the patch makes of a value. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const merged: Record<string, Json> = isJsonObject(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete merged[field];
    else merged[field] = mergePatch(merged[field], value);
  }
  return merged;
}

/** The patch without what says only what is so already; undefined: nothing is left of it. */
export function effectivePatch(target: Json | undefined, patch: Json): Json | undefined {
  if (!isJsonObject(patch)) return sameValue(target, patch) ? undefined : patch;
  if (!isJsonObject(target)) return patch;
  const entries = Object.entries(patch).flatMap(([field, value]): [string, Json][] => {
    if (value === null) return target[field] === undefined ? [] : [[field, null]];
    const left = effectivePatch(target[field], value);
    return left === undefined ? [] : [[field, left]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** Whether two values are the same, whatever the order of fields. */
export function sameValue(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (isList(a) && isList(b)) return a.length === b.length && a.every((item, index) => sameValue(item, b[index]));
  return isJsonObject(a) && isJsonObject(b) && sameFields(a, b);
}

function sameFields(a: JsonObject, b: JsonObject): boolean {
  const fields = Object.keys(a);
  return fields.length === Object.keys(b).length && fields.every((field) => Object.hasOwn(b, field) && sameValue(a[field], b[field]));
}

/** A list of values; Array.isArray does not know read-only ones. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

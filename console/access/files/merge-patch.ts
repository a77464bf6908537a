/** [P] JSON merge patches (RFC 7386), and what of them changes anything. */
import { isDeepStrictEqual } from 'node:util';
import { isJsonArray, isJsonObject } from '#crds/json.ts';
import type { Json } from '#crds/json.ts';

/** Applies the patch to a value. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const merged: Record<string, Json> = isJsonObject(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete merged[field];
    else merged[field] = mergePatch(merged[field], value);
  }
  return merged;
}

/** The patch without members that change nothing; undefined: none is left. */
export function effectivePatch(target: Json | undefined, patch: Json): Json | undefined {
  if (!isJsonObject(patch)) return isDeepStrictEqual(target, patch) ? undefined : patch;
  if (!isJsonObject(target)) return patch;
  const entries = Object.entries(patch).flatMap(([field, value]): [string, Json][] => {
    if (value === null) return target[field] === undefined ? [] : [[field, null]];
    const left = effectivePatch(target[field], value);
    return left === undefined ? [] : [[field, left]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/**
 * Leaves out of a value the defaults that its file leaves out. `present` is the object before the change, with defaults;
 * `written` is the same as the file has it. Entries of lists are matched by name.
 */
export function asWritten(value: Json, present: Json | undefined, written: Json | undefined): Json | undefined {
  if (isDeepStrictEqual(value, present)) return written;
  if (isJsonArray(value) && isJsonArray(present) && isJsonArray(written))
    return value.map((item) => {
      const index = present.findIndex((each) => isSameEntry(each, item));
      return (index === -1 ? item : asWritten(item, present[index], written[index])) ?? item;
    });
  if (!isJsonObject(value) || !isJsonObject(present)) return value;
  const fields = isJsonObject(written) ? written : {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]): [string, Json][] => {
      const own = Object.hasOwn(present, name) ? asWritten(each, present[name], fields[name]) : each;
      return own === undefined ? [] : [[name, own]];
    }),
  );
}

function isSameEntry(a: Json, b: Json): boolean {
  return isJsonObject(a) && isJsonObject(b)
    ? a['name'] !== undefined && a['name'] === b['name']
    : isDeepStrictEqual(a, b);
}

/** [P] JSON merge patches (RFC 7386), and what of them changes anything. */
import { isDeepStrictEqual } from 'node:util';
import { isJsonObject } from '#crds/json.ts';
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

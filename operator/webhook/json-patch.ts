/**
 * [P] The difference of two JSON values as a JSON Patch (RFC 6902). Lists of the same length are compared entry by
 * entry, others replaced.
 */
import { isJsonObject } from '#crds/json.ts';

export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

/** The operations that change `before` to `after`; none if they are equal. */
export function jsonPatch(before: unknown, after: unknown, path = ''): PatchOperation[] {
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((entry: unknown, index) => jsonPatch(entry, after[index], `${path}/${index}`));
  if (isJsonObject(before) && isJsonObject(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) =>
      member(before[name], after[name], `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
    );
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ op: 'replace', path, value: after }];
}

function member(before: unknown, after: unknown, path: string): PatchOperation[] {
  if (after === undefined) return before === undefined ? [] : [{ op: 'remove', path }];
  return before === undefined ? [{ op: 'add', path, value: after }] : jsonPatch(before, after, path);
}

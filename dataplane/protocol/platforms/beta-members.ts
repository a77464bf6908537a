/** Removes the members of a request that belong to flags of anthropic-beta which the provider does not get. */
import { isRecord } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { decodeUtf8 } from '../bytes.ts';
import type { JsonEdit } from '../json-edit.ts';
import { parseLossless, writeJson } from '../json-value.ts';

/** Returns the edits of the request's bytes that remove the members at these paths. */
export function editsWithout(body: Uint8Array, paths: readonly string[]): ReadonlyMap<string, JsonEdit> {
  const nested = paths.filter((path) => path.includes('.'));
  const edits = new Map<string, JsonEdit>(paths.filter((path) => !path.includes('.')).map((path) => [path, undefined]));
  const request = nested.length > 0 ? parseLossless(decodeUtf8(body)) : undefined;
  if (!isRecord(request)) return edits;
  for (const [member, value] of Object.entries(request)) {
    const own = nested.map((path) => path.split('.')).filter(([first]) => first === member);
    const kept = own.reduce<unknown>((rest, [, ...path]) => without(rest, path), value);
    if (kept !== value) edits.set(member, isEmptied(kept, value) ? undefined : writeJson(kept));
  }
  return edits;
}

/** Returns the value itself if nothing is at this path. */
function without(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value;
  if (step === '*') return withoutInItems(value, rest);
  if (!isRecord(value) || !(step in value)) return value;
  if (rest.length > 0) {
    const kept = without(value[step], rest);
    return kept === value[step] ? value : { ...value, [step]: kept };
  }
  const { [step]: _left, ...kept } = value;
  return kept satisfies JsonRecord;
}

function withoutInItems(value: unknown, rest: readonly string[]): unknown {
  if (!Array.isArray(value)) return value;
  const items: readonly unknown[] = value;
  const kept = items.map((item) => without(item, rest));
  return kept.every((item, index) => item === items[index]) ? value : kept;
}

function isEmptied(kept: unknown, before: unknown): boolean {
  return isRecord(kept) && isRecord(before) && Object.keys(kept).length === 0;
}

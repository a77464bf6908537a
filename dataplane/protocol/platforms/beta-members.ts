/** Removes the members of a request that belong to flags of anthropic-beta which the provider does not get. */
import { isRecord } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import type { ChangedMembers } from '../json-edit.ts';

/** The members of the request that change where the values at these paths are removed. */
export function membersWithout(given: () => JsonRecord, paths: readonly string[]): ChangedMembers {
  const changed = new Map<string, unknown>(
    paths.filter((path) => !path.includes('.')).map((path) => [path, undefined]),
  );
  const nested = paths.filter((path) => path.includes('.'));
  if (nested.length === 0) return changed;
  for (const [member, value] of Object.entries(given())) {
    const own = nested.map((path) => path.split('.')).filter(([first]) => first === member);
    const kept = own.reduce<unknown>((rest, [, ...path]) => without(rest, path), value);
    if (kept !== value) changed.set(member, isEmptied(kept) ? undefined : kept);
  }
  return changed;
}

/** Returns the value itself if nothing is at this path. */
function without(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value;
  if (step === '*') return withoutInItems(value, rest);
  if (!isRecord(value) || value[step] === undefined) return value;
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

/** Writers have members without a value, which are not written. */
function isEmptied(kept: unknown): boolean {
  return isRecord(kept) && Object.values(kept).every((value) => value === undefined);
}

/** Members that an object of a protocol may have. Providers go by members as well as by types. */
import { isGiven } from './fields.ts';
import type { JsonRecord } from './fields.ts';

/** Whether all members that are given have one of these names. */
export function hasOnly(object: JsonRecord, names: ReadonlySet<string>): boolean {
  return Object.keys(object).every((name) => names.has(name) || !isGiven(object[name]));
}

/** Whether no more than one of these members is given. */
export function hasAtMostOne(object: JsonRecord, names: readonly string[]): boolean {
  return names.filter((name) => isGiven(object[name])).length <= 1;
}

/**
 * Names that differ only by case or by Unicode's folding from one that the readers of bodies know. Some providers' JSON
 * libraries ignore case, and would find an image, a size or a length where the gateway saw none. Names in a client's
 * own data are not checked.
 */
import { RequestFault } from './call-facts.ts';
import { isRecord } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { READ_NAMES } from './read-names.gen.ts';

const EXACT: ReadonlySet<string> = new Set(READ_NAMES);
const BY_FOLDED: ReadonlyMap<string, string> = new Map(READ_NAMES.map((name) => [foldName(name), name]));
/** The longest name that is known, with room for folding, which can lengthen a name. */
const MAX_LENGTH = 2 * Math.max(...READ_NAMES.map(({ length }) => length));
/** Such a name is its own folding. */
const PLAIN_NAME = /^[a-z0-9_]*$/;
/** Objects whose names the client chooses. */
const CLIENT_DATA: ReadonlySet<string> = new Set(['metadata', 'logit_bias', 'variables', 'labels']);

/**
 * The same for names that a reader which ignores case takes for one: the long s and the Kelvin sign fold as Unicode
 * says, and wide letters as their plain ones.
 */
export function foldName(name: string): string {
  return name.normalize('NFKC').toUpperCase().toLowerCase();
}

/** Whether the readers of bodies know a field of this very name. */
export function isReadName(name: string): boolean {
  return EXACT.has(name);
}

/** The field that a name is, or differs from by case or folding only; undefined: the readers know none. */
export function readNameLike(name: string): string | undefined {
  return BY_FOLDED.get(foldName(name));
}

/** Checks an object of the protocol. Throws RequestFault for the first such name. */
export function refuseFoldedNames(object: JsonRecord, param = ''): void {
  for (const name of Object.keys(object)) {
    if (PLAIN_NAME.test(name) || name.length > MAX_LENGTH || EXACT.has(name)) continue;
    const known = BY_FOLDED.get(foldName(name));
    if (known === undefined) continue;
    const message = `The field is called "${known}"; names are case-sensitive.`;
    throw new RequestFault('invalid_request', message, param === '' ? name : `${param}.${name}`);
  }
}

/** Checks a body and the objects directly in it. */
export function refuseFoldedFields(body: JsonRecord): void {
  refuseFoldedNames(body);
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (isRecord(value) && !CLIENT_DATA.has(name)) refuseFoldedNames(value, name);
  }
}

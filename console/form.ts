/** [P] Parses a posted form (application/x-www-form-urlencoded), and refuses everything that is not clearly one. */
import { RequestRefused } from './describe-error.ts';
import { CSRF_FIELD } from './components/form.ts';

/** More than any form of the console needs, a key's list of models included. */
export const MAX_FORM_BYTES = 256 * 1024;
const MAX_FIELDS = 4_000;

export interface PostedForm {
  /** All but the CSRF token. */
  readonly fields: URLSearchParams;
  /** Empty: there is none. */
  readonly csrf: string;
}

/** @throws RequestRefused */
export function parseForm(body: Uint8Array, repeated: readonly string[]): PostedForm {
  const fields = new URLSearchParams(decode(body));
  if (fields.size > MAX_FIELDS) throw refused('It has too many fields.');
  const seen = new Set<string>(repeated);
  for (const [name, value] of fields) {
    // what is not UTF-8 under its percent signs has become this character
    if (name.includes('\uFFFD') || value.includes('\uFFFD')) throw refused('It is not UTF-8.');
    if (seen.has(name) && !repeated.includes(name)) throw refused(`The field "${name.slice(0, 80)}" is in it twice.`);
    seen.add(name);
  }
  const csrf = fields.get(CSRF_FIELD) ?? '';
  fields.delete(CSRF_FIELD);
  return { fields, csrf };
}

function decode(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw refused('It is not UTF-8.');
  }
}

function refused(why: string): RequestRefused {
  return new RequestRefused(400, 'This form cannot be read', { message: `${why} Nothing was changed.` });
}

/**
 * What the other side's protocol cannot express is refused by name; nothing is lost silently. Fields that only say the default,
 * or whose loss changes neither the answer nor its price, are left out.
 */
import { RequestFault } from './call-facts.ts';
import type { Dialect } from './call-facts.ts';
import { isGiven } from './fields.ts';
import type { JsonRecord } from './fields.ts';

/** The fields of one dialect's request, as a conversion treats them. */
export interface FieldTable {
  readonly converted: ReadonlySet<string>;
  /** Left out whatever they say. */
  readonly harmless: ReadonlySet<string>;
  /** Left out where they say one of these values, compared as JSON. */
  readonly neutral: ReadonlyMap<string, readonly unknown[]>;
}

/** Throws RequestFault for the first field that the table has no place for. */
export function refuseUnsupported(parsed: JsonRecord, table: FieldTable, upstream: Dialect): void {
  for (const [field, value] of Object.entries(parsed)) {
    if (!isGiven(value) || table.converted.has(field) || table.harmless.has(field)) continue;
    const said = JSON.stringify(value);
    if (!table.neutral.get(field)?.some((neutral) => JSON.stringify(neutral) === said)) throw unsupported(field, upstream);
  }
}

export function unsupported(param: string, upstream: Dialect): RequestFault {
  const shown = param.length > 100 ? `${param.slice(0, 100)}…` : param;
  return new RequestFault('unsupported_parameter',
    `The provider of this model speaks ${upstream}'s protocol, which "${shown}" cannot be converted to. Leave it out, or use a model whose provider has it.`, shown);
}

export function malformed(param: string, what: string): RequestFault {
  return new RequestFault('invalid_request', `The field "${param}" must be ${what}.`, param);
}

/**
 * [P] CEL rules of the shapes that most of these schemas' rules have, judged without an interpreter: it takes ten times as long, and a
 * start asks them of ten thousand objects. Only what certainly holds is said here; whatever else a value may be, CEL itself judges.
 */
import { isJsonObject, type Json } from './json.ts';

/** Whether a rule certainly holds for a value; false: CEL has to be asked. */
export type CertainlyHolds = (self: Json) => boolean;

const MATCHES = /^(?:self == '(?<equal>\w+)' \|\| )?self\.matches\('(?<pattern>[^'\\]+)'\)$/;
const NAME_LENGTH = /^size\(self\.metadata\.name\) <= (?<most>\d+)$/;

/** Undefined: the rule is of no such shape. */
export function plainRule(rule: string): CertainlyHolds | undefined {
  const { equal, pattern } = MATCHES.exec(rule)?.groups ?? {};
  if (pattern !== undefined) return matches(new RegExp(pattern), equal);
  const most = NAME_LENGTH.exec(rule)?.groups?.['most'];
  return most === undefined ? undefined : hasShortName(Number(most));
}

/** As CEL's `matches`: anywhere in the text. */
function matches(pattern: RegExp, equal: string | undefined): CertainlyHolds {
  return (self) => typeof self === 'string' && (self === equal || pattern.test(self));
}

/** CEL counts code points, of which a text has no more than UTF-16 units. */
function hasShortName(most: number): CertainlyHolds {
  return (self) => {
    const metadata = isJsonObject(self) ? self['metadata'] : undefined;
    const name = isJsonObject(metadata) ? metadata['name'] : undefined;
    return typeof name === 'string' && name.length <= most;
  };
}

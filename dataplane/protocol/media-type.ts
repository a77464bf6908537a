/**
 * Parses values with parameters: media types (RFC 9110, section 8.3.1) and content dispositions (RFC 6266), which share
 * a grammar. A value that two parsers could read differently is refused.
 */

/** A media type, or a disposition, with its parameters. */
export interface ParameterizedValue {
  /** Lower case: `multipart/form-data`. */
  readonly value: string;
  /** By name in lower case. Quoted strings are unquoted. */
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
// a tab, or anything but controls; a backslash escapes
const QUOTED = String.raw`"((?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*)"`;
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}`);
const DISPOSITION = new RegExp(`^${TOKEN}`);
const PARAMETER = new RegExp(`[ \\t]*;[ \\t]*(?:(${TOKEN})=(?:(${TOKEN})|${QUOTED}))?`, 'y');

/** Undefined where the text does not follow the grammar, or names a parameter twice, in whatever case. */
export function parseMediaType(text: string): ParameterizedValue | undefined {
  return parse(text, MEDIA_TYPE);
}

/** The value of Content-Disposition. Undefined as for media types. */
export function parseDisposition(text: string): ParameterizedValue | undefined {
  return parse(text, DISPOSITION);
}

function parse(text: string, first: RegExp): ParameterizedValue | undefined {
  const trimmed = text.replace(/^[ \t]+/, '');
  const value = first.exec(trimmed)?.[0];
  if (value === undefined) return undefined;
  const parameters = new Map<string, string>();
  const end = readParameters(trimmed, value.length, parameters);
  return end !== undefined && /^[ \t]*$/.test(trimmed.slice(end))
    ? { value: value.toLowerCase(), parameters }
    : undefined;
}

/** Adds the parameters from a position on. Returns where they end; undefined: one is named twice. */
function readParameters(text: string, start: number, parameters: Map<string, string>): number | undefined {
  let at = start;
  for (PARAMETER.lastIndex = at; ; PARAMETER.lastIndex = at) {
    const match = PARAMETER.exec(text);
    if (!match) return at;
    at += match[0].length;
    const [, name, token, quoted = ''] = match;
    // an empty parameter: two semicolons in a row, or one at the end
    if (name === undefined) continue;
    const key = name.toLowerCase();
    if (parameters.has(key)) return undefined;
    parameters.set(key, token ?? quoted.replace(/\\(.)/g, '$1'));
  }
}

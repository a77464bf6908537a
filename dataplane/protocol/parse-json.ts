/**
 * JSON.parse for texts that strangers wrote. V8 14.6 reads a name with an escape as another one, once it has parsed a
 * text with a name that looks like the beginning of that escape (nodejs/node#63785): after {"a":1,"mode\\":2} it reads
 * {"a":1,"mode\u006c":2} without "model". One caller could so hide a field from the gateway that the provider finds.
 */
import { endOfString } from './json-strings.ts';

/** The last escape of a string that is followed by a colon, as only names are. */
const ESCAPED_NAME = /\\[^][^"\\]*"[ \t\r\n]*:/;
const COLON = /[ \t\r\n]*:/y;
/** Half a character, which is in no text that was UTF-8. */
const MARK = '\ud800';

type Reviver = (key: string, value: unknown, ...context: unknown[]) => unknown;

/** Throws SyntaxError. `reviver`: for values; it may see names in another form. */
export function parseJson(text: string, reviver?: Reviver): unknown {
  if (!ESCAPED_NAME.test(text)) return JSON.parse(text, reviver);
  const names = new Map<string, string>();
  const value: unknown = JSON.parse(markNames(text, names), reviver);
  return restoreNames(value, names);
}

/** The text with each escaped name replaced by a mark without escapes; `names` gets the name of each mark. */
function markNames(text: string, names: Map<string, string>): string {
  const pieces: string[] = [];
  let copiedTo = 0;
  for (let start = text.indexOf('"') + 1; start > 0;) {
    const end = endOfString(text, start);
    const inside = text.slice(start, end);
    if ((inside.includes('\\') || inside.includes(MARK)) && isName(text, end)) {
      const mark = `${MARK}${names.size}`;
      names.set(mark, String(JSON.parse(`"${inside}"`)));
      pieces.push(text.slice(copiedTo, start), mark);
      copiedTo = end;
    }
    start = text.indexOf('"', end + 1) + 1;
  }
  return pieces.join('') + text.slice(copiedTo);
}

function isName(text: string, quote: number): boolean {
  COLON.lastIndex = quote + 1;
  return COLON.test(text);
}

/** Gives objects with marks their names, from the outside in. */
function restoreNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  const root = [value];
  const pending: object[] = [root];
  for (let container = pending.pop(); container; container = pending.pop())
    for (const [key, inner] of Object.entries(container) as readonly (readonly [string, unknown])[]) {
      if (typeof inner !== 'object' || inner === null) continue;
      const named = withNames(inner, names);
      if (named !== inner) Reflect.set(container, key, named);
      pending.push(named);
    }
  return root[0];
}

/** The object itself if it has no mark. Requests with a name twice are refused elsewhere; of two, one is left here. */
function withNames(object: object, names: ReadonlyMap<string, string>): object {
  if (Array.isArray(object)) return object;
  const keys = Object.keys(object);
  if (!keys.some((key) => names.has(key))) return object;
  return Object.fromEntries(keys.map((key) => [names.get(key) ?? key, Reflect.get(object, key) as unknown]));
}

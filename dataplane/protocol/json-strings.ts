/** [P] Replaces strings of a JSON text in one pass, so that the cost does not grow with the number of replacements. */

/** A character may be written in six, such as \u0041. */
const MAX_ESCAPE = 6;

/**
 * The text with each string that is a key of `replacements` replaced by the value, which needs no escapes. `text` is
 * JSON, or lines with JSON in them. A string that is part of a longer one stays.
 */
export function replaceStrings(text: string, replacements: ReadonlyMap<string, string>): string {
  const maxLength = MAX_ESCAPE * [...replacements.keys()].reduce((most, { length }) => Math.max(most, length), 0);
  const pieces: string[] = [];
  let copiedTo = 0;
  let start = text.indexOf('"') + 1;
  let lineEnd = -1;
  while (start > 0) {
    // no string has a line break, so that a lone quote is one in its own line only
    if (lineEnd < start) lineEnd = endOf(text, '\n', start);
    const end = Math.min(lineEnd, endOfString(text, start));
    const isString = end < lineEnd && end - start <= maxLength;
    const replacement = isString ? replacements.get(valueOf(text.slice(start, end))) : undefined;
    if (replacement !== undefined) {
      pieces.push(text.slice(copiedTo, start), replacement);
      copiedTo = end;
    }
    start = text.indexOf('"', end + 1) + 1;
  }
  return pieces.join('') + text.slice(copiedTo);
}

/** The position of the closing quote. */
export function endOfString(text: string, start: number): number {
  let quote = endOf(text, '"', start);
  while (quote < text.length && isEscaped(text, quote)) quote = endOf(text, '"', quote + 1);
  return quote;
}

/** The position of the character, or of the end. */
function endOf(text: string, character: string, start: number): number {
  const at = text.indexOf(character, start);
  return at < 0 ? text.length : at;
}

function isEscaped(text: string, quote: number): boolean {
  let before = quote;
  while (text.charCodeAt(before - 1) === BACKSLASH) before--;
  return (quote - before) % 2 === 1;
}

const BACKSLASH = 0x5c;

/** The value of a string's inside; the inside itself if it is no JSON. */
function valueOf(inside: string): string {
  if (!inside.includes('\\')) return inside;
  try {
    return String(JSON.parse(`"${inside}"`));
  } catch (error) {
    if (error instanceof SyntaxError) return inside;
    throw error;
  }
}

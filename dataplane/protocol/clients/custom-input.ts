/**
 * Takes the text of a custom tool's call out of the object in which it was asked for, `{"input":"…"}`, piece by piece.
 * A model that writes anything else gets its own words through: what it wrote is the input.
 */
import { isRecord } from '../fields.ts';
import { parseJson } from '../parse-json.ts';

const START = /^\s*\{\s*"input"\s*:\s*"/;
/** No start of the object is longer; more than that is something else. */
const MAX_START_LENGTH = 64;
/** The longest beginning of an escape, `\uD83D\uDE0` and the like, that cannot be read yet. */
const OPEN_ESCAPE = /(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?|\\(?:u[0-9a-fA-F]{0,3})?)$/;

export class CustomInput {
  /** All of the input so far. */
  text = '';
  #raw = '';
  /** Where the unread part of the string begins; undefined: the string has not begun. */
  #at: number | undefined;
  #ended = false;

  /** Returns the input's next piece. */
  add(piece: string): string {
    this.#raw += piece;
    if (this.#at === undefined && this.#raw.length <= MAX_START_LENGTH + piece.length)
      this.#at = START.exec(this.#raw)?.[0].length;
    return this.#at === undefined || this.#ended ? '' : this.#read(this.#at);
  }

  /** Returns the rest of the input: everything, where it did not come as was asked. */
  end(): string {
    if (this.#at !== undefined) return '';
    this.text = wholeInput(this.#raw);
    return this.text;
  }

  #read(from: number): string {
    const end = closingQuote(this.#raw, from);
    this.#ended = end !== undefined;
    let string = this.#raw.slice(from, end);
    // a backslash that is itself escaped begins no escape
    if (end === undefined) string = string.slice(0, string.length - openEscape(string));
    const decoded = decode(string);
    this.#at = from + string.length;
    this.text += decoded;
    return decoded;
  }
}

/** Where the string ends; undefined: not yet. */
function closingQuote(raw: string, from: number): number | undefined {
  for (let at = from; at < raw.length; at++) {
    if (raw[at] === '\\') at++;
    else if (raw[at] === '"') return at;
  }
  return undefined;
}

/** The length of the escape at the end that is not complete. */
function openEscape(string: string): number {
  const found = OPEN_ESCAPE.exec(string);
  if (!found) return 0;
  const before = /\\*$/.exec(string.slice(0, found.index))?.[0].length ?? 0;
  return before % 2 === 0 ? found[0].length : 0;
}

/** Reads what JSON forbids, control characters and unknown escapes, as it is written. */
function decode(string: string): string {
  const legal = string
    .replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1))
    .replaceAll(/\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]|)/g, (escape) => (escape.length > 1 ? escape : '\\\\'));
  return String(JSON.parse(`"${legal}"`));
}

/** `input` of the object, wherever it stands; otherwise everything that the model wrote. */
export function wholeInput(raw: string): string {
  try {
    const value: unknown = parseJson(raw);
    return isRecord(value) && typeof value['input'] === 'string' ? value['input'] : raw;
  } catch {
    return raw;
  }
}

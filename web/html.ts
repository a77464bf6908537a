/** [P] HTML without injection: `html` escapes every value, except markup that `html` itself has made. */

const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** A piece of finished markup. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type HtmlValue = string | number | Html | readonly HtmlValue[];

/**
 * Markup from a template. Values are escaped as text, also inside quoted attributes; lists are joined. A line break of
 * the template and the indentation around it become one space, except in `<pre>` and `<textarea>`.
 */
export function html(literals: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const parts = withoutLineBreaks(literals);
  let markup = parts[0] ?? '';
  values.forEach((value, index) => {
    markup += render(value) + (parts[index + 1] ?? '');
  });
  return new Html(markup);
}

/** A placeholder for a value between literals; no template contains it. */
const VALUE = '\0';
/** Matches a whole pre or textarea, where line breaks are visible, or else a line break and the end of a tag after it. */
const LINE_BREAK = /(<(?:pre|textarea)\b[^]*?<\/(?:pre|textarea)\s*>)|\s*\n\s*(\/?>)?/g;
/** By template, because a list renders the same one for each row. */
const known = new WeakMap<TemplateStringsArray, readonly string[]>();

function withoutLineBreaks(literals: TemplateStringsArray): readonly string[] {
  const done = known.get(literals);
  if (done !== undefined) return done;
  const parts = literals
    .join(VALUE)
    .replace(LINE_BREAK, (_, exact?: string, end?: string) => exact ?? end ?? ' ')
    .split(VALUE);
  known.set(literals, parts);
  return parts;
}

/** An attribute without a value, or nothing: `<option ${flag('selected', chosen)}>`. */
export function flag(
  attribute: 'selected' | 'hidden' | 'checked' | 'disabled' | 'required' | 'open' | 'autofocus' | 'novalidate',
  present: boolean,
): Html {
  return new Html(present ? attribute : '');
}

export const NOTHING = new Html('');

/** An attribute with its value, or nothing where there is none. */
export function attribute(name: string, value: string | number | undefined): Html {
  return value === undefined ? NOTHING : html`${name}="${value}"`;
}

/** The names of classes, without those that are missing. */
export function classes(...names: readonly (string | undefined)[]): string {
  return names.filter((name) => name !== undefined && name !== '').join(' ');
}

/** Their attribute, or nothing where there is no class. */
export function classAttribute(...names: readonly (string | undefined)[]): Html {
  const all = classes(...names);
  return all === '' ? NOTHING : html`class="${all}"`;
}

/** Each line as text, for `<pre>` and `<textarea>`. */
export function preformatted(text: string): Html {
  return new Html(text.split('\n').map(escape).join('\n'));
}

function render(value: HtmlValue): string {
  if (value instanceof Html) return value.markup;
  if (typeof value === 'object') return value.map(render).join('');
  return escape(String(value));
}

/**
 * Escapes text for HTML. The replacement character stands in for control characters that HTML forbids or that reorder the
 * text after them (U+202A to U+202E and U+2066 to U+2069), and for lone surrogates, which UTF-8 cannot encode.
 */
function escape(text: string): string {
  // Most text is plain; this keeps long lists fast.
  if (PLAIN.test(text)) return text;
  return text.replace(SPECIAL, (character) => NAMED[character] ?? '\uFFFD');
}

const PLAIN = /^[\w .,:/$()+–≈-]*$/;
/** Line breaks and tabs are the control characters that HTML allows. */
const SPECIAL = /[&<>"'\p{Cs}\u202A-\u202E\u2066-\u2069]|[^\P{Cc}\n\r\t]/gu;

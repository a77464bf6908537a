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

/** Markup from a template. Values are text, also inside quoted attributes; lists are joined. */
export function html(literals: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let markup = literals[0] ?? '';
  values.forEach((value, index) => {
    markup += render(value) + (literals[index + 1] ?? '');
  });
  return new Html(markup);
}

/** An attribute without a value, or nothing: `<option${flag('selected', chosen)}>`. */
export function flag(
  attribute: 'selected' | 'hidden' | 'checked' | 'disabled' | 'required' | 'open' | 'autofocus',
  present: boolean,
): Html {
  return new Html(present ? ` ${attribute}` : '');
}

export const NOTHING = new Html('');

/** Each line as text, for `<pre>` and `<textarea>`. */
export function preformatted(text: string): Html {
  const [first = '', ...rest] = text.split('\n');
  return html`${first}${rest.map((line) => html`\n${line}`)}`;
}

function render(value: HtmlValue): string {
  if (value instanceof Html) return value.markup;
  if (typeof value === 'object') return value.map(render).join('');
  return escape(String(value));
}

/**
 * Text as HTML shows it. Control characters, which HTML forbids or which reorder what follows (U+202A to U+202E and
 * U+2066 to U+2069), and lone surrogates, which have no UTF-8 form, are shown as the replacement character.
 */
function escape(text: string): string {
  // Most text is plain, and a long list has much of it.
  if (PLAIN.test(text)) return text;
  return text.replace(SPECIAL, (character) => NAMED[character] ?? '\uFFFD');
}

const PLAIN = /^[\w .,:/$()+–≈-]*$/;
const SPECIAL = /[&<>"'\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]/gu;

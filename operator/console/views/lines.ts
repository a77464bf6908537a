/** [P] Text of several lines; elsewhere a line break in a value is a control character like any other. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';

/** Each line as text, for `<pre>` and `<textarea>`. */
export function linesOf(text: string): Html {
  const [first = '', ...rest] = text.split('\n');
  return html`${first}${rest.map((line) => html`\n${line}`)}`;
}

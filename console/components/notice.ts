/** [P] A notice: one or more paragraphs in a box that stands out. */
import { attribute, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';

interface NoticeOptions {
  /** Default: neutral. */
  readonly tone?: 'good' | 'warn' | 'bad';
  readonly id?: string;
  /** status: screen readers say it when it appears. */
  readonly role?: 'status';
  readonly title?: string;
}

/** Each text is a paragraph. */
export function notice(
  text: Html | string | readonly (Html | string)[],
  { tone, id, role, title }: NoticeOptions = {},
): Html {
  const paragraphs: readonly (Html | string)[] = Array.isArray(text) ? text : [text];
  return html`<div
    class="notice${tone === undefined ? '' : ` ${tone}`}"
    ${attribute('id', id)}
    ${attribute('role', role)}
  >
    ${title === undefined ? NOTHING : html`<h2>${title}</h2>`}
    ${paragraphs.map((paragraph) => html`<p>${paragraph}</p>`)}
  </div>`;
}

/** What was just done, where anything was. */
export function doneNotice(text: string | undefined): Html {
  return text === undefined ? NOTHING : notice(text, { tone: 'good', role: 'status' });
}

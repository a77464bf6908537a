/** [P] A notice: one or more paragraphs in a box that stands out. */
import { attribute, classAttribute, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';

interface NoticeOptions {
  /** Default: neutral. */
  readonly tone?: 'good' | 'warn' | 'bad';
  readonly id?: string;
  /** Screen readers announce it when it appears: an alert at once, a status when they have finished speaking. */
  readonly role?: 'status' | 'alert';
  readonly title?: string;
  /** Further classes. */
  readonly style?: string;
  /** Stands below the paragraphs: a table, a button. */
  readonly below?: Html;
}

/** Each text is a paragraph. */
export function notice(
  text: Html | string | readonly (Html | string)[],
  { tone, id, role, title, style, below = NOTHING }: NoticeOptions = {},
): Html {
  const paragraphs: readonly (Html | string)[] = Array.isArray(text) ? text : [text];
  return html`<div ${classAttribute('notice', tone, style)} ${attribute('id', id)} ${attribute('role', role)}>
    ${title === undefined ? NOTHING : html`<h2>${title}</h2>`}
    ${paragraphs.map((paragraph) => html`<p>${paragraph}</p>`)} ${below}
  </div>`;
}

/** What was just done, where anything was. */
export function doneNotice(text: string | undefined): Html {
  return text === undefined ? NOTHING : notice(text, { tone: 'good', role: 'status' });
}

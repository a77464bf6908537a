/** [P] The head of a page: the way back, the heading, what the page is for, and what else can be done. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';

interface Crumb {
  readonly path: string;
  readonly label: string;
}

interface PageHead {
  readonly title: Html | string;
  readonly lede?: Html | string;
  /** The pages above this one, from the top; none: it stands in the navigation. */
  readonly above?: readonly Crumb[];
  /** What this page is called behind them. Default: the title. */
  readonly here?: string;
  /** Links and buttons, where there are any. */
  readonly actions?: Html;
  /** Stands behind the actions. */
  readonly beside?: Html;
}

/** The first piece of a page's body. */
export function pageHead({ title, lede, above = [], here, actions = NOTHING, beside = NOTHING }: PageHead): Html {
  return html`<div class="page-head">
    <div>
      ${above.length === 0 ? NOTHING : crumbs(above, here ?? title)}
      <h1>${title}</h1>
      ${lede === undefined ? NOTHING : html`<p class="lede">${lede}</p>`}
    </div>
    ${actions === NOTHING ? NOTHING : html`<div class="actions">${actions}</div>`} ${beside}
  </div>`;
}

function crumbs(above: readonly Crumb[], here: Html | string): Html {
  return html`<nav class="crumbs" aria-label="Where this page is">
    <ol>
      ${above.map(
        ({ path, label }) =>
          html`<li>
            <a href="${path}"><bdi>${label}</bdi></a>
          </li>`,
      )}
      <li aria-current="page">${typeof here === 'string' ? html`<bdi>${here}</bdi>` : here}</li>
    </ol>
  </nav>`;
}

interface Section {
  /** Of its heading, by which screen readers name the section. */
  readonly id: string;
  readonly title: Html | string;
  /** At the heading's right: a link, a count, or buttons. */
  readonly beside?: Html | string;
}

/** A part of a page with a heading of its own. */
export function section({ id, title, beside }: Section, body: Html): Html {
  const heading = html`<h2 id="${id}">${title}</h2>`;
  return html`<section class="section" aria-labelledby="${id}">
    ${
      beside === undefined
        ? heading
        : html`<div class="section-head">
            ${heading} ${typeof beside === 'string' ? html`<p>${beside}</p>` : beside}
          </div>`
    }
    ${body}
  </section>`;
}

interface Empty {
  /** Of the box. */
  readonly id: string;
  readonly title: Html | string;
  readonly actions?: Html;
}

/** What stands in place of a page or a list that has nothing to show, and how to go on. */
export function empty({ id, title, actions }: Empty, body: Html): Html {
  return html`<div class="empty" id="${id}">
    <h2>${title}</h2>
    ${body} ${actions === undefined ? NOTHING : html`<div class="actions">${actions}</div>`}
  </div>`;
}

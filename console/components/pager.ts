/** [P] The links below a list to its other pages. */
import { formatCount } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';

interface NumberedPages {
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  /** How many rows all pages have. */
  readonly total: number;
  readonly hrefOf: (page: number) => string;
}

/** Of a list whose length is known; nothing where it has one page. */
export function pager({ page, pageSize, total, hrefOf }: NumberedPages): Html {
  const pages = Math.ceil(total / pageSize);
  if (pages <= 1) return NOTHING;
  const link = (to: number, label: string): Html => html`<a class="button small" href="${hrefOf(to)}">${label}</a>`;
  const first = (page - 1) * pageSize + 1;
  return html`<nav class="pager" aria-label="Pages">
    <p>
      ${formatCount(first)}–${formatCount(Math.min(total, page * pageSize))} of ${formatCount(total)} · page
      ${formatCount(page)} of ${formatCount(pages)}
    </p>
    <div class="actions">
      ${page > 2 ? link(1, 'First') : NOTHING} ${page > 1 ? link(page - 1, 'Previous') : NOTHING}
      ${page < pages ? link(page + 1, 'Next') : NOTHING} ${page < pages - 1 ? link(pages, 'Last') : NOTHING}
    </div>
  </nav>`;
}

interface OlderPages {
  /** The first page; undefined: this is the first. */
  readonly newest: string | undefined;
  /** undefined: there is no older page. */
  readonly older: string | undefined;
}

/** Of a list that is read from the newest on; nothing where it has one page. */
export function olderPager({ newest, older }: OlderPages): Html {
  if (newest === undefined && older === undefined) return NOTHING;
  return html`<nav class="pager" aria-label="Pages">
    <span></span>
    <div class="actions">
      ${newest === undefined ? NOTHING : html`<a class="button small" href="${newest}">Newest</a>`}
      ${older === undefined ? NOTHING : html`<a class="button small" rel="next" href="${older}">Older</a>`}
    </div>
  </nav>`;
}

/** [P] What all pages of one key begin with. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';

interface KeyHead {
  readonly title: Html | string;
  readonly lede?: Html | string;
  /** Between "API keys" and this page. */
  readonly above?: { readonly path: string; readonly label: string };
  readonly here: string;
  readonly actions?: Html;
}

/** The way back, the heading, and what else can be done. */
export function renderKeyHead({ title, lede, above, here, actions = NOTHING }: KeyHead): Html {
  return html`<div class="page-head"><div><nav class="crumbs" aria-label="Where this page is"><ol><li><a href="/keys">API keys</a></li>\
${above === undefined ? NOTHING : html`<li><a href="${above.path}"><bdi>${above.label}</bdi></a></li>`}<li aria-current="page"><bdi>${here}</bdi></li></ol></nav>
<h1>${title}</h1>${lede === undefined ? NOTHING : html`<p class="lede">${lede}</p>`}</div>${actions}</div>`;
}

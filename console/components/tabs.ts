/** [P] Links of which one is where the reader is: the tabs of a page, and segments that change a view. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';

interface Choice {
  readonly label: string;
  readonly href: string;
  readonly current: boolean;
}

/** The pages of one object. */
export function tabs(label: string, choices: readonly Choice[]): Html {
  return html`<nav class="tabs" aria-label="${label}">
    <ul>
      ${choices.map(({ label: words, href, current }) => item(words, href, current ? html`aria-current="page"` : NOTHING))}
    </ul>
  </nav>`;
}

/** The views of one list. `label` names them, or the id of what stands before them. */
export function segments(label: string | { readonly id: string }, choices: readonly Choice[]): Html {
  const named = typeof label === 'string' ? html`aria-label="${label}"` : html`aria-labelledby="${label.id}"`;
  return html`<ul class="segments" ${named}>
    ${choices.map(({ label: words, href, current }) => item(words, href, current ? html`aria-current="true"` : NOTHING))}
  </ul>`;
}

function item(label: string, href: string, current: Html): Html {
  return html`<li><a href="${href}" ${current}>${label}</a></li>`;
}

/** [P] A dialog over the page. It is a popover: it opens and closes without scripts. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';

interface Dialog {
  /** Its heading is `${id}-title`, its box `${id}-dialog`. */
  readonly id: string;
  readonly title: string;
  /** It stands open in the page, as after an error. */
  readonly open?: boolean;
}

/** The button that opens it. */
export function dialogButton(id: string, label: string, style: string): Html {
  return html`<button type="button" class="button ${style}" popovertarget="${id}-dialog">${label}</button>`;
}

/** The button in it that closes it. */
export function dialogCancel(id: string): Html {
  return html`<button type="button" class="button plain" popovertarget="${id}-dialog" popovertargetaction="hide">
    Cancel
  </button>`;
}

export function dialog({ id, title, open = false }: Dialog, body: Html): Html {
  return html`<div
    class="${open ? 'card' : 'dialog'}"
    id="${id}-dialog"
    ${open ? NOTHING : html`popover`}
    role="dialog"
    aria-labelledby="${id}-title"
  >
    <h2 id="${id}-title">${title}</h2>
    ${body}
  </div>`;
}

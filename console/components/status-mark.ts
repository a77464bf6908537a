/** [P] A status as lists and pages show it: a coloured mark with its name, which opens to the reason. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { StatusMark } from '../queries/status.ts';

/** The mark; with a message it opens. */
export function renderStatusMark({ label, tone, message }: StatusMark): Html {
  const mark = renderStatusDot({ label, tone });
  return message === ''
    ? mark
    : html`<details class="why">
        <summary>${mark}</summary>
        <p>${message}</p>
      </details>`;
}

/** The mark with its message below it, for a page that has room. */
export function renderStatusWithReason({ label, tone, message }: StatusMark): Html {
  return html`${renderStatusDot({ label, tone })}${message === '' ? '' : html`<p class="hint">${message}</p>`}`;
}

/** The mark alone. */
export function renderStatusDot({ label, tone }: Pick<StatusMark, 'label' | 'tone'>): Html {
  return html`<span class="dot ${tone}">${label}</span>`;
}

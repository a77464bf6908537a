/** [P] The hidden field that each posted form carries. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';

/** The field's name; the server takes it out of the form before a handler sees it. */
export const CSRF_FIELD = 'csrf';

/** Belongs into each `<form method="post">`, with the visit's token. */
export function csrfField(csrf: string): Html {
  return html`<input type="hidden" name="${CSRF_FIELD}" value="${csrf}">`;
}

/** [P] The error page: what went wrong and what to do. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ApiFieldError } from '../access/access.ts';

interface FaultFacts {
  readonly title: string;
  readonly message: string;
  readonly fields: readonly ApiFieldError[];
  /** Shown for unexpected errors. */
  readonly requestId: string | undefined;
  /** Where to go on, with a label. */
  readonly next: { readonly path: string; readonly label: string };
}

/** The content of <main>. */
export function errorPage({ title, message, fields, requestId, next }: FaultFacts): Html {
  return html`<h1>${title}</h1>
    <p class="lede">${message}</p>
    ${
      fields.length === 0
        ? NOTHING
        : html`<ul class="wrap">
            ${fields.map(fieldItem)}
          </ul>`
    }${requestId === undefined ? NOTHING : html`<p>Request id: <code>${requestId}</code></p>`}
    <p class="actions">
      <a class="button" href="${next.path}">${next.label}</a>
    </p>`;
}

function fieldItem({ path, message }: ApiFieldError): Html {
  return html`<li>${path === '' ? NOTHING : html`<code>${path}</code>: `}${message}</li>`;
}

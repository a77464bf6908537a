/** [P] Small pieces that several pages share. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';

/** The field's name; the server takes it out of the form before a handler sees it. */
export const CSRF_FIELD = 'csrf';

/** Belongs into each `<form method="post">`, with the request's form token. */
export function csrfField(csrf: string): Html {
  return html`<input type="hidden" name="${CSRF_FIELD}" value="${csrf}" />`;
}

export type Backend = 'Kubernetes' | 'Files';

/** One sentence that names the missing right, and where it is needed. */
export function renderMissingRight(backend: Backend, verb: 'create' | 'patch', namespace?: string): Html {
  if (backend === 'Files')
    return html`The folder of manifests cannot be written to by the gateway, so it is only shown.`;
  return html`That takes the right to <code>${verb}</code> <code>apikeys.modelgateway.dev</code> in
    ${namespace === undefined ? 'a namespace; whoever administers one can give it' : html`<bdi>${namespace}</bdi>`}.`;
}

/** [P] What is missing where somebody may not do something. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';

export type Place = 'Kubernetes' | 'Files';

/** One sentence: which right it takes, and where. */
export function missingRight(place: Place, verb: 'create' | 'patch', namespace?: string): Html {
  if (place === 'Files') return html`The folder of manifests cannot be written to by the gateway, so it is only shown.`;
  return html`That takes the right to <code>${verb}</code> <code>apikeys.modelgateway.dev</code> in ${namespace === undefined ? 'a namespace; whoever administers one can give it' : html`<bdi>${namespace}</bdi>`}.`;
}

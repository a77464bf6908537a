/** [P] Why a person may not change something, and where the right comes from. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { PersonAccess } from '../access/access.ts';

export type Backend = 'Kubernetes' | 'Files';

/** Who asks, and of which objects. */
export interface MissingRight {
  readonly backend: Backend;
  /** The person has signed in with a key, which opens only its own pages. */
  readonly byKey: boolean;
}

/** The reasons for this person. */
export function rightsOf(backend: Backend, { ownKey }: Pick<PersonAccess, 'ownKey'>): MissingRight {
  return { backend, byKey: ownKey !== undefined };
}

/** One sentence that names the missing right, and where it is needed. */
export function renderMissingRight(
  { backend, byKey }: MissingRight,
  verb: 'create' | 'patch',
  { kind = 'apikeys', namespace }: { readonly kind?: string; readonly namespace?: string } = {},
): Html {
  if (byKey)
    return html`You are signed in with this key, which changes nothing. Whoever manages the key signs in with
    ${backend === 'Kubernetes' ? 'a token of the cluster' : 'the admin token'}.`;
  if (backend === 'Files')
    return html`The folder of manifests cannot be written to by the gateway, so it is only shown.`;
  return html`That takes the right to <code>${verb}</code> <code>${kind}.modelgateway.dev</code> in
    ${namespace === undefined ? 'a namespace; whoever administers one can give it' : html`<bdi>${namespace}</bdi>`}.`;
}

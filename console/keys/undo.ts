/** [P] The offer to switch a key on again, right after it was switched off. */
import type { ApiKey } from '#crds/types.gen.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { notice } from '../components/notice.ts';

/** The script that removes the offer after ten seconds. */
export const UNDO_SCRIPT = 'undo.js';

/** The place of the offer, which is empty unless a key was switched off. `button` switches that key on. */
export function undoOffer(apiKey: ApiKey | undefined, button: (apiKey: ApiKey) => Html): Html {
  const offer =
    apiKey &&
    notice(html`<bdi>${apiKey.metadata.name}</bdi> is switched off: its calls are refused.`, { below: button(apiKey) });
  return html`<div id="undo" role="status">${offer ?? NOTHING}</div>`;
}

/** [P] The dialog that changes a key's limit: Unlimited with one button, or another amount. */
import type { ApiKey } from '#crds/types.gen.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { csrfField } from '../components/form.ts';
import { keyPath } from '../paths.ts';
import { UNLIMITED } from '../queries/key-facts.ts';

/** The button that opens it, and the dialog. It is a popover: it opens and closes without scripts. */
export function renderLimitDialog(apiKey: ApiKey, csrf: string): Html {
  const { limitUsd } = apiKey.spec.quota;
  const unlimited = limitUsd === UNLIMITED;
  return html`<button type="button" class="button small" popovertarget="limit-dialog">Change limit</button>
    <div class="dialog" id="limit-dialog" popover role="dialog" aria-labelledby="limit-title">
      <h2 id="limit-title">Change the limit</h2>
      <form class="form" id="limit-form" method="post" action="${keyPath(apiKey, 'limit')}">
        ${csrfField(csrf)}
        <input type="hidden" name="uid" value="${apiKey.metadata.uid ?? ''}" />
        <div class="field">
          <label for="limit-usd">Limit in US dollars</label>
          <p class="hint" id="limit-hint">
            Above it, calls with the key are refused. It is ${unlimited ? 'Unlimited now' : html`$${limitUsd} now`}.
          </p>
          <div class="affix">
            <span>$</span>
            <input
              type="text"
              id="limit-usd"
              name="limitUsd"
              value="${unlimited ? '' : limitUsd}"
              inputmode="decimal"
              autocomplete="off"
              maxlength="20"
              aria-describedby="limit-hint"
              autofocus
            />
          </div>
        </div>
        <div class="form-actions">
          <button type="submit" class="button primary">Save</button>
          ${unlimited ? '' : html`<button type="submit" class="button" name="to" value="${UNLIMITED}">Set to Unlimited</button>`}
          <button type="button" class="button plain" popovertarget="limit-dialog" popovertargetaction="hide">
            Cancel
          </button>
        </div>
      </form>
    </div>`;
}

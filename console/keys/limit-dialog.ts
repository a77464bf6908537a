/** [P] The dialog that changes a key's limit: Unlimited with one button, or another amount. */
import type { ApiKey } from '#crds/types.gen.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { postForm, formActions } from '../components/form.ts';
import { keyPath } from '../paths.ts';
import { UNLIMITED } from '../queries/key-facts.ts';
import { textField } from '../components/field.ts';
import { dialogButton, dialogCancel, dialog } from '../components/dialog.ts';

/** The button that opens it, and the dialog. */
export function renderLimitDialog(apiKey: ApiKey, csrf: string): Html {
  const { limitUsd } = apiKey.spec.quota;
  const unlimited = limitUsd === UNLIMITED;
  const toUnlimited = html`<button type="submit" class="button" name="to" value="${UNLIMITED}">
    Set to Unlimited
  </button>`;
  const form = postForm(
    {
      id: 'limit-form',
      action: keyPath(apiKey, 'limit'),
      csrf,
      hidden: { uid: apiKey.metadata.uid ?? '' },
    },
    html`${textField({
      field: 'limitUsd',
      label: 'Limit in US dollars',
      value: unlimited ? '' : limitUsd,
      errors: [],
      hint: `Above it, calls with the key are refused. It is ${unlimited ? 'Unlimited' : `$${limitUsd}`} now.`,
      prefix: '$',
      attributes: html`type="text" inputmode="decimal" autocomplete="off" maxlength="20" autofocus`,
    })}
    ${formActions({ submit: 'Save', others: unlimited ? NOTHING : toUnlimited, cancel: dialogCancel('limit') })}`,
  );
  return html`${dialogButton('limit', 'Change limit', 'small')}
  ${dialog({ id: 'limit', title: 'Change the limit' }, form)}`;
}

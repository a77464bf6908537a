/** [P] The dialog at the top of an account that grants credit, with the balance before and after. */
import type { Account } from '#crds/types.gen.ts';
import { ONE_E9 } from '#web/decimal.ts';
import { formatUsdDown } from '#web/format.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { errorSummary, textField } from '../components/field.ts';
import { postForm, formActions } from '../components/form.ts';
import { accountFacts } from '../queries/account-facts.ts';
import { GRANT_LABELS, grantAmountField, grantReasonField } from './grants.ts';
import type { GrantError, GrantForm } from './grants.ts';
import { accountPath } from '../paths.ts';
import { dialogButton, dialogCancel, dialog } from '../components/dialog.ts';

export interface CreditView {
  readonly account: Account;
  readonly form: GrantForm;
  readonly errors: readonly GrantError[];
  /** It stands open in the page, as after a refusal. */
  readonly open: boolean;
  readonly csrf: string;
}

/** Whole US dollars that one click chooses. */
export const CREDIT_PRESETS = ['10', '25', '100', '500'] as const;

/** The buttons, and the dialog. */
export function renderCreditDialog(view: CreditView): Html {
  const { account, open } = view;
  return html`<div class="actions credit-actions">
      ${open ? NOTHING : dialogButton('credit', 'Grant credit', 'primary')}
      <a class="button" href="${accountPath(account.metadata, 'take-back')}">Take credit back</a>
    </div>
    ${dialog({ id: 'credit', title: 'Grant credit', open }, renderForm(view))}`;
}

function renderForm({ account, form, errors, open, csrf }: CreditView): Html {
  const { balanceNanoUsd } = accountFacts(account, 0);
  const balance = html`<p class="hint" id="credit-after" aria-live="polite" data-balance="${String(balanceNanoUsd)}">
    The balance is ${formatUsdDown(balanceNanoUsd)} now.
  </p>`;
  const body = html`${renderPresets(form.usd, balanceNanoUsd)}
  ${grantAmountField(form, errors, { below: balance, attributes: html`autofocus` })} ${grantReasonField(form, errors)}
  ${textField({
    field: 'name',
    label: 'Name',
    value: form.name,
    errors,
    hint: 'Unique within the account.',
    short: true,
    attributes: html`type="text" maxlength="63" required spellcheck="false" autocapitalize="none"`,
  })}
  ${formActions({
    submit: 'Grant',
    cancel: open
      ? html`<a class="button plain" href="${accountPath(account.metadata)}">Cancel</a>`
      : dialogCancel('credit'),
  })}`;
  return html`${errorSummary(errors, (field) => GRANT_LABELS[field])}
  ${postForm(
    {
      id: 'credit-form',
      action: accountPath(account.metadata, 'grants'),
      csrf,
      hidden: { uid: form.uid, generation: form.generation },
      autocomplete: 'off',
      novalidate: true,
    },
    body,
  )}`;
}

/** Each says what the balance will be, so that this needs no script. */
function renderPresets(chosen: string, balanceNanoUsd: bigint): Html {
  return html`<fieldset class="choices credit-presets">
    <legend>How much</legend>
    <div>
      ${CREDIT_PRESETS.map(
        (usd) =>
          html`<label class="choice">
            <input type="radio" name="preset" value="${usd}" ${flag('checked', chosen === usd)} />
            <span>$${usd}<small>${formatUsdDown(balanceNanoUsd + BigInt(usd) * ONE_E9)} after</small></span>
          </label>`,
      )}
    </div>
  </fieldset>`;
}

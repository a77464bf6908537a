/** [P] The dialog at the top of an account that grants credit, with the balance before and after. */
import type { Account } from '#crds/types.gen.ts';
import { ONE_E9 } from '#web/decimal.ts';
import { formatUsdDown } from '#web/format.ts';
import { flag, html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { errorSummary, textField } from '../components/field.ts';
import { csrfField } from '../components/form.ts';
import { accountFacts } from '../queries/account-facts.ts';
import { GRANT_LABELS } from './grants.ts';
import type { GrantError, GrantForm } from './grants.ts';
import { accountPath } from '../paths.ts';

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

/** The buttons, and the dialog. It is a popover: it opens and closes without scripts. */
export function renderCreditDialog(view: CreditView): Html {
  const { account, open } = view;
  return html`<div class="actions credit-actions">
      ${open ? '' : html`<button type="button" class="button primary" popovertarget="credit-dialog">Grant credit</button>`}
      <a class="button" href="${accountPath(account.metadata, 'take-back')}">Take credit back</a>
    </div>
    <div
      class="${open ? 'card' : 'dialog'}"
      id="credit-dialog"
      ${open ? '' : html`popover`}
      role="dialog"
      aria-labelledby="credit-title"
    >
      <h2 id="credit-title">Grant credit</h2>
      ${renderForm(view)}
    </div>`;
}

function renderForm({ account, form, errors, open, csrf }: CreditView): Html {
  const { balanceNanoUsd } = accountFacts(account, 0);
  return html`${errorSummary(errors, (field) => GRANT_LABELS[field])}
    <form
      class="form"
      id="credit-form"
      method="post"
      action="${accountPath(account.metadata, 'grants')}"
      autocomplete="off"
      novalidate
    >
      ${csrfField(csrf)}
      <input type="hidden" name="uid" value="${form.uid}" />
      <input type="hidden" name="generation" value="${form.generation}" />
      ${renderPresets(form.usd, balanceNanoUsd)}
      ${textField({
        field: 'usd',
        label: 'Amount in USD',
        value: form.usd,
        errors,
        prefix: '$',
        attributes: html`type="text" inputmode="decimal" maxlength="32" autofocus`,
        below: html`<p class="hint" id="credit-after" aria-live="polite" data-balance="${String(balanceNanoUsd)}">
          The balance is ${formatUsdDown(balanceNanoUsd)} now.
        </p>`,
      })}
      ${textField({
        field: 'reason',
        label: 'Reason',
        value: form.reason,
        errors,
        hint: 'Whoever may read the account reads it.',
        attributes: html`type="text" maxlength="256"`,
      })}
      ${textField({
        field: 'name',
        label: 'Name',
        value: form.name,
        errors,
        hint: 'Unique within the account.',
        short: true,
        attributes: html`type="text" maxlength="63" required spellcheck="false" autocapitalize="none"`,
      })}
      <div class="form-actions">
        <button type="submit" class="button primary">Grant</button>
        ${
          open
            ? html`<a class="button plain" href="${accountPath(account.metadata)}">Cancel</a>`
            : html`<button type="button" class="button plain" popovertarget="credit-dialog" popovertargetaction="hide">
                Cancel
              </button>`
        }
      </div>
    </form>`;
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

/** [P] Taking credit back: the form, and the page that asks once more with the balance before and after. */
import type { Account } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { formatExactUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { errorSummary, textField } from '../components/field.ts';
import { csrfField } from '../components/form.ts';
import { accountFacts } from '../queries/account-facts.ts';
import { GRANT_LABELS } from './grants.ts';
import type { GrantError, GrantForm } from './grants.ts';
import { accountPath } from '../paths.ts';
import { renderWalletHead } from './head.ts';

export interface TakeBackView {
  readonly account: Account;
  /** The amount has no sign: it says how much is taken back. */
  readonly form: GrantForm;
  readonly errors: readonly GrantError[];
  readonly csrf: string;
}

const TITLE = 'Take credit back';

/** The first step. */
export function renderTakeBackForm(view: TakeBackView): Html {
  const { account, form, errors } = view;
  const { balanceNanoUsd } = accountFacts(account, 0);
  return html`${renderWalletHead({ ref: account.metadata, key: undefined, here: TITLE })}
    ${errorSummary(errors, (field) => GRANT_LABELS[field])}
    <form
      class="form"
      id="take-back-form"
      method="post"
      action="${accountPath(account.metadata, 'take-back')}"
      autocomplete="off"
      novalidate
    >
      ${renderHidden(view)}
      ${textField({
        field: 'usd',
        label: 'Amount in USD',
        value: form.usd,
        errors,
        prefix: '$',
        short: true,
        attributes: html`type="text" inputmode="decimal" maxlength="32" required autofocus`,
        hint: `The balance is ${formatExactUsd(balanceNanoUsd)} now.`,
      })}
      ${textField({
        field: 'reason',
        label: 'Reason',
        value: form.reason,
        errors,
        hint: 'Whoever may read the account reads it.',
        attributes: html`type="text" maxlength="256"`,
      })}
      <input type="hidden" name="name" value="${form.name}" />
      <div class="form-actions">
        <button type="submit" class="button primary">Continue</button>
        <a class="button" href="${accountPath(account.metadata)}">Cancel</a>
      </div>
    </form>`;
}

/** The second step. Nothing has changed before its button is pressed. */
export function renderTakeBackConfirmation(view: TakeBackView): Html {
  const { account, form } = view;
  const { balanceNanoUsd } = accountFacts(account, 0);
  const amount = parseDecimal(form.usd) ?? 0n;
  const after = balanceNanoUsd - amount;
  return html`${renderWalletHead({ ref: account.metadata, key: undefined, here: TITLE })}
    <form class="form" id="take-back-confirmation" method="post" action="${accountPath(account.metadata, 'take-back')}">
      ${renderHidden(view)}
      <input type="hidden" name="name" value="${form.name}" />
      <input type="hidden" name="usd" value="${form.usd}" />
      <input type="hidden" name="reason" value="${form.reason}" />
      <input type="hidden" name="confirmed" value="true" />
      <p>
        Take ${formatExactUsd(amount)} back from <b><bdi>${account.metadata.name}</bdi></b
        >? The balance goes from ${formatExactUsd(balanceNanoUsd)} to <b>${formatExactUsd(after)}</b>.
      </p>
      ${after > 0n ? NOTHING : html`<div class="notice bad"><p>Every call of its keys is refused from then on.</p></div>`}
      ${form.reason === '' ? NOTHING : html`<p>Reason: <bdi>${form.reason}</bdi></p>`}
      <div class="form-actions">
        <button type="submit" class="button danger">Take ${formatExactUsd(amount)} back</button>
        <a class="button" href="${accountPath(account.metadata)}">Cancel</a>
      </div>
    </form>`;
}

function renderHidden({ form, csrf }: TakeBackView): Html {
  return html`${csrfField(csrf)}
    <input type="hidden" name="uid" value="${form.uid}" />
    <input type="hidden" name="generation" value="${form.generation}" />`;
}

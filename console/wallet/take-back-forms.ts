/** [P] Taking credit back: the form, and the page that asks once more with the balance before and after. */
import type { Account } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { formatExactUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { errorSummary } from '../components/field.ts';
import { postForm, formActions } from '../components/form.ts';
import { accountFacts } from '../queries/account-facts.ts';
import { GRANT_LABELS, grantAmountField, grantReasonField } from './grants.ts';
import type { GrantError, GrantForm } from './grants.ts';
import { accountPath } from '../paths.ts';
import { renderWalletHead } from './head.ts';
import { notice } from '../components/notice.ts';

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
  ${postForm(
    { ...formOf(view), id: 'take-back-form', autocomplete: 'off', novalidate: true },
    html`${grantAmountField(form, errors, {
      short: true,
      attributes: html`required autofocus`,
      hint: `The balance is ${formatExactUsd(balanceNanoUsd)} now.`,
    })}
    ${grantReasonField(form, errors)} ${formActions({ submit: 'Continue', cancel: accountPath(account.metadata) })}`,
  )}`;
}

/** The second step. Nothing has changed before its button is pressed. */
export function renderTakeBackConfirmation(view: TakeBackView): Html {
  const { account, form } = view;
  const { balanceNanoUsd } = accountFacts(account, 0);
  const amount = parseDecimal(form.usd) ?? 0n;
  const after = balanceNanoUsd - amount;
  const { hidden, ...rest } = formOf(view);
  return html`${renderWalletHead({ ref: account.metadata, key: undefined, here: TITLE })}
  ${postForm(
    {
      ...rest,
      id: 'take-back-confirmation',
      hidden: { ...hidden, usd: form.usd, reason: form.reason, confirmed: 'true' },
    },
    html`<p>
        Take ${formatExactUsd(amount)} back from <b><bdi>${account.metadata.name}</bdi></b
        >? The balance goes from ${formatExactUsd(balanceNanoUsd)} to <b>${formatExactUsd(after)}</b>.
      </p>
      ${after > 0n ? NOTHING : notice('Every call of its keys is refused from then on.', { tone: 'bad' })}
      ${form.reason === '' ? NOTHING : html`<p>Reason: <bdi>${form.reason}</bdi></p>`}
      ${formActions({
        submit: `Take ${formatExactUsd(amount)} back`,
        tone: 'danger',
        cancel: accountPath(account.metadata),
      })}`,
  )}`;
}

function formOf({ account, form: { uid, generation, name }, csrf }: TakeBackView): {
  readonly action: string;
  readonly csrf: string;
  readonly hidden: Readonly<Record<string, string | number>>;
} {
  return { action: accountPath(account.metadata, 'take-back'), csrf, hidden: { uid, generation, name } };
}

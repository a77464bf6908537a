/** [P] The form of a new key: name, account, group and quota; less common fields are folded. */
import { formatUsdDown } from '#web/format.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { FormError, KeyForm } from './api-key.ts';
import {
  describedBy,
  errorSummary,
  fieldId,
  renderErrors,
  renderHint,
  selectField,
  textField,
  choiceField,
} from '../components/field.ts';
import { postForm, formActions } from '../components/form.ts';
import { renderMissingRight } from '../components/missing-right.ts';
import type { MissingRight } from '../components/missing-right.ts';
import { RATE_FIELDS } from '../components/rate-limits.ts';
import { FIELD_LABELS, MORE_FIELDS, renderMainFields, renderMoreFields } from './key-form.ts';
import type { KeyFormView } from './key-form.ts';
import { idOf } from './payers.ts';
import type { Payer } from './payers.ts';
import { renderKeyHead } from './requested-key.ts';
import { empty } from '../components/page.ts';

export interface NewKeyView extends KeyFormView {
  /** undefined: the person may not see accounts, and types the name. */
  readonly payers: readonly Payer[] | undefined;
  /** "namespace/name"; empty: none. */
  readonly chosenPayer: string;
  /** Where the person may create keys. */
  readonly namespaces: readonly string[];
  /** Those of them that have no account although the person may create one. */
  readonly withoutAccount: readonly string[];
  readonly csrf: string;
}

const NAME = html`type="text" required maxlength="253" autocomplete="off" autocapitalize="off" spellcheck="false"
autofocus`;
const OBJECT_NAME = html`type="text" maxlength="253" autocomplete="off" autocapitalize="off" spellcheck="false"`;
/** With more accounts than this, the form has a text field instead of a list. */
const MAX_LISTED = 200;

/** The whole page. */
export function renderNewKey(view: NewKeyView): Html {
  const { form, errors, csrf } = view;
  const name = textField({
    field: 'name',
    label: 'Name',
    value: form.name,
    errors,
    attributes: NAME,
    hint: 'What the key is for. “My CI Bot” becomes my-ci-bot; it cannot be changed later.',
    below: html`<p class="hint" id="name-becomes" aria-live="polite"></p>`,
  });
  const more = html`<details class="fold key-more" ${flag('open', showsMore(view))}>
    <summary>More options</summary>
    <p class="hint">Models, expiry, limits of calls and tokens, and where the key comes from.</p>
    <div class="form key-fields">${renderMoreFields(view)} ${renderOrigin(form, errors)}</div>
  </details>`;
  return html`${renderKeyHead({ title: 'Create a key', here: 'New' })}
  ${errorSummary(errors, (field) => FIELD_LABELS[field])}
  ${postForm(
    { id: 'key-form', action: '/keys/new', csrf, style: 'form key-form', novalidate: true },
    html`${name} ${renderAccount(view)} ${renderMainFields(view)} ${more}
    ${formActions({ submit: 'Create key', cancel: '/keys' })}`,
  )}`;
}

/** Whether the folded part is open: something in it was chosen, or is wrong. */
function showsMore({ form, errors }: NewKeyView): boolean {
  return (
    form.restricted ||
    form.expires !== '' ||
    form.maxConcurrency !== '' ||
    RATE_FIELDS.some((field) => form[field] !== '') ||
    form.keyType !== 'Generated' ||
    form.secret !== '' ||
    form.whenShort !== 'Lower' ||
    !form.enabled ||
    errors.some(({ field }) => field === 'keyType' || field === 'secret' || MORE_FIELDS.some((each) => each === field))
  );
}

/** The account says in which namespace the key is, too. */
function renderAccount(view: NewKeyView): Html {
  const { payers, form } = view;
  if (payers === undefined) return renderTypedAccount(view);
  return html`<input type="hidden" name="namespace" value="${form.namespace}" /> ${
      payers.length > MAX_LISTED ? renderAccountSearch(view, payers) : renderAccountList(view, payers)
    }${renderWithoutAccount(view)}`;
}

function renderWithoutAccount({ withoutAccount, form }: NewKeyView): Html {
  const [first] = withoutAccount;
  if (first === undefined) return NOTHING;
  const asked = withoutAccount.includes(form.namespace);
  const words =
    asked || withoutAccount.length === 1
      ? html`The namespace <bdi>${asked ? form.namespace : first}</bdi> has no account.`
      : html`${withoutAccount.length} of your namespaces have no account.`;
  return html`<p class="hint" id="without-account">
    ${words} <a href="/wallet/new?next=key&amp;namespace=${asked ? form.namespace : first}">Create account</a>
  </p>`;
}

const ACCOUNT_HINT = 'Pays for the calls. It cannot be changed later.';

function renderAccountList({ errors, chosenPayer, namespaces }: NewKeyView, payers: readonly Payer[]): Html {
  const known = payers.some((payer) => idOf(payer) === chosenPayer);
  return html`<div class="field">
    <label for="${fieldId('account')}">Account</label>
    ${renderHint('account', ACCOUNT_HINT)}
    <select id="${fieldId('account')}" name="account" required ${describedBy('account', errors, true)}>
      ${known ? NOTHING : html`<option value="">Choose an account</option>`}${payers.map(
        (payer) =>
          html`<option
            value="${idOf(payer)}"
            data-namespace="${payer.namespace}"
            ${flag('selected', idOf(payer) === chosenPayer)}
          >
            ${payerLabel(payer, namespaces.length > 1)}
          </option>`,
      )}
    </select>
    ${renderErrors('account', errors)}
  </div>`;
}

function payerLabel({ namespace, name, balanceNanoUsd }: Payer, several: boolean): string {
  const left = balanceNanoUsd < 0n ? 'overdrawn' : `${formatUsdDown(balanceNanoUsd)} left`;
  return `${several ? `${namespace} / ` : ''}${name} · ${left}`;
}

function renderAccountSearch({ errors, chosenPayer }: NewKeyView, payers: readonly Payer[]): Html {
  return html`${textField({
      field: 'account',
      label: 'Account',
      value: chosenPayer,
      errors,
      attributes: html`${OBJECT_NAME} required list="payers" placeholder="namespace/name"`,
      hint: ACCOUNT_HINT,
    })}<datalist id="payers">
      ${payers.map((payer) => html`<option value="${idOf(payer)}">${payerLabel(payer, true)}</option>`)}
    </datalist>`;
}

function renderTypedAccount({ form, errors, namespaces }: NewKeyView): Html {
  const account = textField({
    field: 'account',
    label: 'Account',
    value: form.account,
    errors,
    short: true,
    attributes: html`${OBJECT_NAME} required`,
    hint: 'Pays for the calls. You may not see the accounts of this namespace; ask for the name of yours.',
  });
  if (namespaces.length === 1)
    return html`<input type="hidden" name="namespace" value="${form.namespace}" /> ${account}`;
  return html`${selectField({
    field: 'namespace',
    label: 'Namespace',
    value: form.namespace,
    errors,
    options: [
      ...(form.namespace === '' ? [{ value: '', label: 'Choose a namespace' }] : []),
      ...namespaces.map((value) => ({ value, label: value })),
    ],
  })}
  ${account}`;
}

interface NoAccountView {
  readonly namespaces: readonly string[];
  /** Where the person may create one. */
  readonly where: readonly string[];
  readonly missing: MissingRight;
}

/** A key needs an account first. */
export function renderNoAccount({ namespaces, where, missing }: NoAccountView): Html {
  const here =
    namespaces.length === 1
      ? html`The namespace <b><bdi>${namespaces[0] ?? ''}</bdi></b> has no account.`
      : html`None of your namespaces has an account that you may see.`;
  const mayCreate = where.length > 0;
  return html`${renderKeyHead({ title: 'Create a key', here: 'New' })}
  ${empty(
    {
      id: 'no-account',
      title: 'First, an account',
      ...(mayCreate && { actions: html`<a class="button primary" href="/wallet/new?next=key">Create account</a>` }),
    },
    html`<p>${here} An account holds the credit that keys spend.</p>
      ${mayCreate ? NOTHING : html`<p>${renderMissingRight(missing, 'create', { kind: 'accounts' })}</p>`}`,
  )}`;
}

/** Shown to people without the right to create keys. `namespace`: where they asked for it; empty: anywhere. */
export function renderMayNotCreate(missing: MissingRight, namespace: string): Html {
  return html`${renderKeyHead({ title: 'Create a key', here: 'New' })}
  ${empty(
    {
      id: 'may-not-create',
      title: html`You may not create ${namespace === '' ? 'API keys' : html`keys in <bdi>${namespace}</bdi>`}`,
      actions: html`<a class="button" href="/keys">Back to the keys</a>`,
    },
    html`<p>${renderMissingRight(missing, 'create')}</p>`,
  )}`;
}

/** The fields for a key that the person brings along. */
function renderOrigin(form: KeyForm, errors: readonly FormError[]): Html {
  return html`${choiceField({
    field: 'keyType',
    label: FIELD_LABELS.keyType,
    value: form.keyType,
    errors,
    choices: [
      {
        value: 'Generated',
        label: 'The gateway makes it',
        note: 'It is shown to you once, right afterwards, and kept in a Secret.',
      },
      {
        value: 'Provided',
        label: 'From a Secret that you make',
        note: html`In its entry <code>apiKey</code>; it begins with <code>sk-</code> and has at least 32 characters.`,
      },
    ],
  })}
  ${textField({
    field: 'secret',
    label: 'Secret',
    value: form.secret,
    errors,
    hint: "Empty: the key's name with -key added.",
    attributes: OBJECT_NAME,
    short: true,
  })}`;
}

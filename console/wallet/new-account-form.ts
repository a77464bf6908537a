/** [P] The form of a new account: namespace, name and, optionally, its first credit. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { errorSummary, selectField, textField } from '../components/field.ts';
import type { FieldFault } from '../components/field.ts';
import { postForm, formActions } from '../components/form.ts';
import type { MissingRight } from '../components/missing-right.ts';
import { renderMissingRight } from '../components/missing-right.ts';
import { pageHead, empty } from '../components/page.ts';

export type AccountField = 'namespace' | 'name' | 'usd' | 'reason';

/** As typed. */
export interface AccountForm {
  readonly namespace: string;
  readonly name: string;
  readonly usd: string;
  readonly reason: string;
  /** The next page: the form of a key, or the account. */
  readonly next: 'key' | 'account';
}

export type AccountError = FieldFault<AccountField>;

export interface NewAccountView {
  readonly form: AccountForm;
  readonly errors: readonly AccountError[];
  /** Where the person may create accounts. */
  readonly namespaces: readonly string[];
  readonly csrf: string;
}

const LABELS: Readonly<Record<AccountField, string>> = {
  namespace: 'Namespace',
  name: 'Name',
  usd: 'Credit',
  reason: 'Reason',
};
const OBJECT_NAME = html`type="text" required maxlength="253" autocomplete="off" autocapitalize="off" spellcheck="false"`;

/** The whole page. */
export function renderNewAccount({ form, errors, namespaces, csrf }: NewAccountView): Html {
  return html`${renderHead()} ${errorSummary(errors, (field) => LABELS[field])}
  ${postForm(
    { id: 'account-form', action: '/wallet/new', csrf, hidden: { next: form.next }, novalidate: true },
    html`${renderNamespace(form.namespace, namespaces, errors)}
    ${textField({
      field: 'name',
      label: LABELS.name,
      value: form.name,
      errors,
      attributes: OBJECT_NAME,
      short: true,
      hint: 'Keys name it. It cannot be changed later.',
    })}
    ${textField({
      field: 'usd',
      label: 'Credit in USD',
      value: form.usd,
      errors,
      prefix: '$',
      short: true,
      attributes: html`type="text" inputmode="decimal" maxlength="32" autocomplete="off"`,
      hint: 'What its keys may spend together. Empty: nothing yet, so every call is refused.',
    })}
    ${textField({
      field: 'reason',
      label: 'Reason for the credit',
      value: form.reason,
      errors,
      attributes: html`type="text" maxlength="256" autocomplete="off"`,
    })}
    ${formActions({ submit: 'Create account', cancel: form.next === 'key' ? '/keys' : '/wallet' })}`,
  )}`;
}

function renderNamespace(chosen: string, namespaces: readonly string[], errors: readonly AccountError[]): Html {
  const [only] = namespaces;
  if (namespaces.length === 1 && only === chosen)
    return html`<input type="hidden" name="namespace" value="${chosen}" />
      <p>In the namespace <bdi>${chosen}</bdi>.</p>`;
  return selectField({
    field: 'namespace',
    label: LABELS.namespace,
    value: chosen,
    errors,
    options: [
      ...(chosen === '' ? [{ value: '', label: 'Choose a namespace' }] : []),
      ...namespaces.map((value) => ({ value, label: value })),
    ],
  });
}

/** Shown to people without the right to create accounts. */
export function renderMayNotCreateAccount(missing: MissingRight): Html {
  return html`${renderHead()}
  ${empty(
    {
      id: 'may-not-create',
      title: 'You may not create accounts',
      actions: html`<a class="button" href="/wallet">Back to the wallet</a>`,
    },
    html`<p>${renderMissingRight(missing, 'create', { kind: 'accounts' })}</p>`,
  )}`;
}

function renderHead(): Html {
  return pageHead({
    above: [{ path: '/wallet', label: 'Wallet' }],
    title: 'Create an account',
    here: 'New',
    lede: 'An account holds credit; its keys spend from it.',
  });
}

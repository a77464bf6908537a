/** [P] The form of a new account: namespace, name and, optionally, its first credit. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { errorSummary, selectField, textField } from '../components/field.ts';
import { csrfField } from '../components/form.ts';

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

export interface AccountError {
  readonly field: AccountField | undefined;
  readonly message: string;
}

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
    <form class="form" id="account-form" method="post" action="/wallet/new" novalidate>
      ${csrfField(csrf)}
      <input type="hidden" name="next" value="${form.next}" />
      ${renderNamespace(form.namespace, namespaces, errors)}
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
      <div class="form-actions">
        <button type="submit" class="button primary">Create account</button>
        <a class="button" href="${form.next === 'key' ? '/keys' : '/wallet'}">Cancel</a>
      </div>
    </form>`;
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
export function renderMayNotCreateAccount(): Html {
  return html`${renderHead()}
    <div class="empty" id="may-not-create">
      <h2>You may not create accounts</h2>
      <p>
        That takes the right to <code>create</code> <code>accounts.modelgateway.dev</code> in a namespace; whoever
        administers one can give it.
      </p>
      <div class="actions">
        <a class="button" href="/wallet">Back to the wallet</a>
      </div>
    </div>`;
}

function renderHead(): Html {
  return html`<div class="page-head">
    <div>
      <nav class="crumbs" aria-label="Where this page is">
        <ol>
          <li><a href="/wallet">Wallet</a></li>
          <li aria-current="page">New</li>
        </ol>
      </nav>
      <h1>Create an account</h1>
      <p class="lede">An account holds credit; its keys spend from it.</p>
    </div>
  </div>`;
}

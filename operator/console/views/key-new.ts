/** [P] The page on which a key is created: first the namespace, where there are several; then the form. */
import { html, flag, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { shownUsd } from '#web/figures.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import type { Account } from '#crds/types.gen.ts';
import type { FormFault, KeyForm } from '../forms/api-key.ts';
import { csrfField } from './csrf-field.ts';
import { errorSummary, faultsAt, fieldId, hintAt, textField, tied } from './form-fields.ts';
import { renderKeyFields } from './key-form.ts';
import { FIELD_LABELS } from './key-form-view.ts';
import type { KeyFormView } from './key-form-view.ts';
import { renderKeyHead } from './key-page.ts';
import { missingRight } from './rights-words.ts';
import type { Place } from './rights-words.ts';

interface NewKeyView extends Omit<KeyFormView, 'others'> {
  /** Of the form's namespace; undefined: the person may not see accounts. */
  readonly accounts: readonly Account[] | undefined;
  /** Where the person may create keys. */
  readonly namespaces: readonly string[];
  readonly csrf: string;
}

const NAME = html` type="text" required maxlength="63" pattern="[a-z0-9]([\\-a-z0-9.]*[a-z0-9])?" title="Lower-case letters, digits and '-'" autocomplete="off" autocapitalize="off" spellcheck="false"`;
const OBJECT_NAME = html` type="text" maxlength="253" autocomplete="off" autocapitalize="off" spellcheck="false"`;

/** The form of a new key. */
export function renderNewKey(view: NewKeyView): Html {
  const { form, faults, csrf, namespaces } = view;
  const other = namespaces.length > 1 ? html` <a href="/keys/new">Another namespace</a>` : NOTHING;
  return html`${renderKeyHead({ title: 'Create a key', here: 'New', lede: html`In the namespace <b><bdi>${form.namespace}</bdi></b>.${other}` })}
${errorSummary(faults, (field) => FIELD_LABELS[field])}
<form class="form key-form" id="key-form" method="post" action="/keys/new">${csrfField(csrf)}<input type="hidden" name="namespace" value="${form.namespace}">
${textField({ field: 'name', label: 'Name', value: form.name, faults, hint: 'What the key is for, such as ci-bot. It cannot be changed later.', attributes: NAME })}
${renderAccount(view)}
${renderKeyFields({ ...view, others: [] })}
${renderOrigin(form, faults)}
<div class="form-actions"><button type="submit" class="button primary">Create key</button><a class="button" href="/keys">Cancel</a></div>
</form>`;
}

/** Who may create keys in several namespaces says first in which: groups and accounts depend on it. */
export function renderNamespaceChoice(namespaces: readonly string[], fault: string | undefined): Html {
  return html`${renderKeyHead({ title: 'Create a key', here: 'New', lede: 'A key lives in a namespace and spends from an account there.' })}
<form class="form" method="get" action="/keys/new">
<div class="field short"><label for="f-namespace">Namespace</label>
<select id="f-namespace" name="namespace"${fault === undefined ? NOTHING : html` aria-invalid="true" aria-describedby="f-namespace-fault"`}>${namespaces.map((name) => html`<option>${name}</option>`)}</select>
${fault === undefined ? NOTHING : html`<p class="fault" id="f-namespace-fault">${fault}</p>`}</div>
<div class="form-actions"><button type="submit" class="button primary">Continue</button><a class="button" href="/keys">Cancel</a></div></form>`;
}

/** Nobody has given the right to create any. */
export function renderMayNotCreate(place: Place): Html {
  return html`${renderKeyHead({ title: 'Create a key', here: 'New' })}
<div class="empty" id="may-not-create"><h2>You may not create API keys</h2>
<p>${missingRight(place, 'create')}</p>
<div class="actions"><a class="button" href="/keys">Back to the keys</a></div></div>`;
}

function renderAccount({ form, faults, accounts }: NewKeyView): Html {
  if (accounts === undefined || accounts.length === 0) {
    const hint = accounts === undefined ? 'Pays for the calls. You may not see the accounts of this namespace; ask for the name of yours.'
      : 'Pays for the calls. There is none in this namespace yet: the key works once there is one of this name.';
    return textField({ field: 'account', label: 'Account', value: form.account, faults, hint, short: true, attributes: html`${OBJECT_NAME} required` });
  }
  const names = accounts.map(({ metadata }) => metadata.name);
  const unknown = form.account !== '' && !names.includes(form.account) ? [form.account] : [];
  return html`<div class="field short"><label for="${fieldId('account')}">Account</label>
${hintAt('account', 'Pays for the calls. It cannot be changed later.')}<select id="${fieldId('account')}" name="account" required${tied('account', faults, true)}>\
${accounts.length > 1 ? html`<option value="">Choose an account</option>` : NOTHING}\
${accounts.map((account) => html`<option value="${account.metadata.name}"${flag('selected', account.metadata.name === form.account)}>${account.metadata.name}${balanceOf(account)}</option>`)}\
${unknown.map((name) => html`<option selected>${name}</option>`)}</select>
${faultsAt('account', faults)}</div>`;
}

function balanceOf({ status }: Account): string {
  const balance = parseDecimal(status?.balanceUsd ?? '');
  return balance === undefined ? '' : ` · ${shownUsd(balance)} left`;
}

/** Few need it, so it is folded away until somebody has chosen it. */
function renderOrigin(form: KeyForm, faults: readonly FormFault[]): Html {
  const open = form.keyType !== 'Generated' || form.secret !== '' || faults.some(({ field }) => field === 'keyType' || field === 'secret');
  const radio = (value: string, label: string, note: Html): Html => (
    html`<label class="choice"><input type="radio" name="keyType" value="${value}"${flag('checked', form.keyType === value)}><span>${label}<small>${note}</small></span></label>`);
  return html`<details class="fold"${flag('open', open)}><summary>Bring a key of your own, or name its Secret</summary><div class="stack key-origin">
<fieldset class="choices" id="${fieldId('keyType')}" tabindex="-1"${tied('keyType', faults, false)}><legend>${FIELD_LABELS.keyType}</legend>
${radio('Generated', 'The gateway makes it', html`It is shown to you once, right afterwards, and kept in a Secret.`)}
${radio('Provided', 'From a Secret that you make', html`In its entry <code>apiKey</code>; it begins with <code>sk-</code> and has at least 32 characters.`)}
${faultsAt('keyType', faults)}</fieldset>
${textField({ field: 'secret', label: 'Secret', value: form.secret, faults, hint: 'Empty: the key\'s name with -key added.', attributes: OBJECT_NAME, short: true })}
</div></details>`;
}

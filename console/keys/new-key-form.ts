/** [P] The form of a new key: name, account, group and quota; less common fields are folded. */
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { errorSummary } from '../components/field.ts';
import { formActions, postForm } from '../components/form.ts';
import { renderMissingRight } from '../components/missing-right.ts';
import type { MissingRight } from '../components/missing-right.ts';
import { empty } from '../components/page.ts';
import { KEY_ROWS } from './fields.ts';
import { isTyped, labelOfField, renderFields } from './key-form.ts';
import type { KeyFormView } from './key-form.ts';
import { renderKeyHead } from './requested-key.ts';

export interface NewKeyView extends KeyFormView {
  readonly csrf: string;
}

const MAIN = KEY_ROWS.filter(({ folded }) => !folded);
const FOLDED = KEY_ROWS.filter(({ folded }) => folded);

/** The whole page. The folded part is open where something in it was chosen, or is wrong. */
export function renderNewKey(view: NewKeyView): Html {
  const { form, errors, csrf } = view;
  const open = isTyped(FOLDED, form) || FOLDED.some(({ field }) => errors.some((each) => each.field === field));
  return html`${renderKeyHead({ title: 'Create a key', here: 'New' })} ${errorSummary(errors, labelOfField)}
  ${postForm(
    { id: 'key-form', action: '/keys/new', csrf, style: 'form key-form', novalidate: true },
    html`${renderFields(MAIN, view)}
      <details class="fold key-more" ${flag('open', open)}>
        <summary>More options</summary>
        <p class="hint">Models, expiry, limits of calls and tokens, and where the key comes from.</p>
        <div class="form key-fields">${renderFields(FOLDED, view)}</div>
      </details>
      ${formActions({ submit: 'Create key', cancel: '/keys' })}`,
  )}`;
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

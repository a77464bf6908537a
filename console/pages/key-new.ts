/** A new key: the namespace, the form, and the object that comes of it. */
import type { Account } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { formatShortUsd } from '#web/format.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import { errorsOfRefusal, MODEL_BOXES, newKeyForm, readKeyForm, specOfForm } from '../forms/api-key.ts';
import type { FormError, KeyField, KeyForm } from '../forms/api-key.ts';
import { accountsOfNamespace, groupsOfNamespace } from '../keys/key-choices.ts';
import { FIELD_LABELS, renderKeyFields } from '../keys/key-form.ts';
import type { KeyFormView } from '../keys/key-form.ts';
import { createdPath, renderKeyHead } from '../keys/requested-key.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { errorSummary, renderErrors, fieldId, renderHint, textField, describedBy } from '../views/form-fields.ts';
import { csrfField, renderMissingRight } from '../views/fragments.ts';
import type { Backend } from '../views/fragments.ts';

export const keyNewRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/keys/new', handle: newKeyPage },
  { method: 'POST', path: '/keys/new', repeated: MODEL_BOXES, handle: createKey },
];

/** The controls of the form at which something can be said. */
const CONTROLS: readonly KeyField[] = [
  'name', 'account', 'enabled', 'group', 'limitUsd', 'period', 'whenShort', 'expires', 'models', 'maxConcurrency',
  'keyType', 'secret',
];
const PAGE = { title: 'Create a key', active: 'keys', styles: ['keys.css'] } as const;

/** The form, or the question in which namespace. */
async function newKeyPage(request: PageRequest): Promise<HandlerResult> {
  const namespaces = await request.person.namespaces('create', 'ApiKey');
  const wanted = request.query.get('namespace') ?? (namespaces.length === 1 ? namespaces[0] : undefined);
  if (wanted === undefined && namespaces.length > 0)
    return { page: { ...PAGE, body: renderNamespaceChoice(namespaces, undefined) } };
  return formPage(request, newKeyForm(wanted ?? ''), { errors: [], status: 200, namespaces });
}

/** What was posted, created; or the form again, with why not. */
async function createKey(request: PageRequest): Promise<HandlerResult> {
  const { person, deps, form: posted, nowMs } = request;
  const form = readKeyForm(posted);
  const { value: spec, errors } = specOfForm(form, deps.gatewayNamespace);
  if (errors) return returnForm(request, form, { errors, status: 422 });
  try {
    const created = await person.create('ApiKey', { namespace: form.namespace, name: form.name }, spec);
    return { redirect: createdPath(created, 1, nowMs) };
  } catch (error) {
    if (!(error instanceof AccessError) || error.reason === 'SignedOut' || error.reason === 'Unavailable') throw error;
    return returnForm(request, form, { errors: errorsOfRefusal(error, CONTROLS), status: STATUS[error.reason] });
  }
}

const STATUS = { Forbidden: 403, NotFound: 404, Conflict: 409, AlreadyExists: 409, Invalid: 422 } as const;

async function returnForm(request: PageRequest, form: KeyForm, {
  errors, status,
}: { readonly errors: readonly FormError[]; readonly status: number }): Promise<HandlerResult> {
  return formPage(request, form, { errors, status, namespaces: await request.person.namespaces('create', 'ApiKey') });
}

/** Only where the person may create keys: what can be chosen in a namespace is nobody else's to know. */
async function formPage(
  request: PageRequest, form: KeyForm, {
    errors, namespaces, status,
  }: { readonly errors: readonly FormError[]; readonly namespaces: readonly string[]; readonly status: number },
): Promise<HandlerResult> {
  if (!(await mayCreateIn(request, form.namespace, namespaces))) {
    const body = namespaces.length === 0
      ? renderMayNotCreate(request.deps.access.backend)
      : renderNamespaceChoice(namespaces, `You may not create keys in ${form.namespace}.`);
    return { page: { ...PAGE, body }, status: 403 };
  }
  const groups = groupsOfNamespace(request, form.namespace, form.group);
  const accounts = await accountsOfNamespace(request, form.namespace);
  const only = groups.length === 1 && form.group === '' ? groups[0]?.name : undefined;
  const body = renderNewKey({ form:
    only === undefined ? form : { ...form, group: only }, errors, groups, accounts, namespaces, csrf: request.csrf });
  return { page: { ...PAGE, body, scripts: ['moments.js', 'key-form.js'] }, status };
}

/** The list has the namespaces that the console knows; there may be others. */
async function mayCreateIn({ person }: PageRequest, namespace: string, known: readonly string[]): Promise<boolean> {
  return known.includes(namespace) || (NAMESPACE.test(namespace) && person.may('create', 'ApiKey', { namespace }));
}

const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

interface NewKeyView extends Omit<KeyFormView, 'others'> {
  /** Of the form's namespace; undefined: the person may not see accounts. */
  readonly accounts: readonly Account[] | undefined;
  /** Where the person may create keys. */
  readonly namespaces: readonly string[];
  readonly csrf: string;
}

const NAME_PATTERN = html` type="text" required maxlength="63" pattern="[a-z0-9]([\\-a-z0-9.]*[a-z0-9])?" \
title="Lower-case letters, digits and '-'" autocomplete="off" autocapitalize="off" spellcheck="false"`;
const OBJECT_NAME = html` type="text" maxlength="253" autocomplete="off" autocapitalize="off" spellcheck="false"`;

/** The form of a new key. */
function renderNewKey(view: NewKeyView): Html {
  const { form, errors, csrf, namespaces } = view;
  const other = namespaces.length > 1 ? html` <a href="/keys/new">Another namespace</a>` : NOTHING;
  return html`${renderKeyHead({
    title: 'Create a key', here: 'New', lede: html`In the namespace <b><bdi>${form.namespace}</bdi></b>.${other}`,
  })}
${errorSummary(errors, (field) => FIELD_LABELS[field])}
<form class="form key-form" id="key-form" method="post" action="/keys/new">${csrfField(
  csrf,
)}<input type="hidden" name="namespace" value="${form.namespace}">
${textField({ field: 'name', label: 'Name', value: form.name, errors, hint:
  'What the key is for, such as ci-bot. It cannot be changed later.', attributes: NAME_PATTERN })}
${renderAccountField(view)}
${renderKeyFields({ ...view, others: [] })}
${renderOrigin(form, errors)}
<div class="form-actions"><button type="submit" class="button primary">Create key</button>\
<a class="button" href="/keys">Cancel</a></div>
</form>`;
}

/** Who may create keys in several namespaces says first in which: groups and accounts depend on it. */
function renderNamespaceChoice(namespaces: readonly string[], error: string | undefined): Html {
  return html`${renderKeyHead({
    title: 'Create a key', here: 'New', lede: 'A key lives in a namespace and spends from an account there.',
  })}
<form class="form" method="get" action="/keys/new">
<div class="field short"><label for="f-namespace">Namespace</label>
<select id="f-namespace" name="namespace"${error === undefined
  ? NOTHING
  : html` aria-invalid="true" aria-describedby="f-namespace-fault"`}>${namespaces.map((name) =>
    html`<option>${name}</option>`)}</select>
${error === undefined ? NOTHING : html`<p class="fault" id="f-namespace-fault">${error}</p>`}</div>
<div class="form-actions"><button type="submit" class="button primary">Continue</button>\
<a class="button" href="/keys">Cancel</a></div></form>`;
}

/** Nobody has given the right to create any. */
function renderMayNotCreate(backend: Backend): Html {
  return html`${renderKeyHead({ title: 'Create a key', here: 'New' })}
<div class="empty" id="may-not-create"><h2>You may not create API keys</h2>
<p>${renderMissingRight(backend, 'create')}</p>
<div class="actions"><a class="button" href="/keys">Back to the keys</a></div></div>`;
}

function renderAccountField({ form, errors, accounts }: NewKeyView): Html {
  if (accounts === undefined || accounts.length === 0) {
    const hint = accounts === undefined ? 'Pays for the calls. You may not see the accounts of this namespace; ask ' +
      'for the name of yours.'
      : 'Pays for the calls. There is none in this namespace yet: the key works once there is one of this name.';
    return textField({ field: 'account', label:
      'Account', value: form.account, errors, hint, short: true, attributes: html`${OBJECT_NAME} required` });
  }
  const names = accounts.map(({ metadata }) => metadata.name);
  const unknown = form.account !== '' && !names.includes(form.account) ? [form.account] : [];
  return html`<div class="field short"><label for="${fieldId('account')}">Account</label>
${renderHint(
  'account', 'Pays for the calls. It cannot be changed later.',
)}<select id="${fieldId('account')}" name="account" required${describedBy('account', errors, true)}>\
${accounts.length > 1 ? html`<option value="">Choose an account</option>` : NOTHING}\
${accounts.map((account) => html`<option value="${account.metadata.name}"${flag(
  'selected', account.metadata.name === form.account,
)}>${account.metadata.name}${balanceOf(account)}</option>`)}\
${unknown.map((name) => html`<option selected>${name}</option>`)}</select>
${renderErrors('account', errors)}</div>`;
}

function balanceOf({ status }: Account): string {
  const balance = parseDecimal(status?.balanceUsd ?? '');
  return balance === undefined ? '' : ` · ${formatShortUsd(balance)} left`;
}

/** Few need it, so it is folded away until somebody has chosen it. */
function renderOrigin(form: KeyForm, errors: readonly FormError[]): Html {
  const open = form.keyType !== 'Generated' || form.secret !== '' ||
    errors.some(({ field }) => field === 'keyType' || field === 'secret');
  const radio = (value: string, label: string, note: Html): Html => (
    html`<label class="choice"><input type="radio" name="keyType" value="${value}"${flag(
      'checked', form.keyType === value,
    )}><span>${label}<small>${note}</small></span></label>`);
  return html`<details class="fold"${flag(
    'open', open,
  )}><summary>Bring a key of your own, or name its Secret</summary><div class="stack key-origin">
<fieldset class="choices" id="${fieldId('keyType')}" tabindex="-1"${describedBy(
  'keyType', errors, false,
)}><legend>${FIELD_LABELS.keyType}</legend>
${radio('Generated', 'The gateway makes it', html`It is shown to you once, right afterwards, and kept in a Secret.`)}
${radio(
  'Provided', 'From a Secret that you make',
  html`In its entry <code>apiKey</code>; it begins with <code>sk-</code> and has at least 32 characters.`,
)}
${renderErrors('keyType', errors)}</fieldset>
${textField({ field: 'secret', label: 'Secret', value:
  form.secret, errors, hint: 'Empty: the key\'s name with -key added.', attributes: OBJECT_NAME, short: true })}
</div></details>`;
}

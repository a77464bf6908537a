/**
 * [P] An account's grants and the form that adds one. The grant is appended to the list that the person saw, so a
 * concurrent change is not overwritten.
 */
import type { Account, AccountGrant } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { pluralize, formatExactUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { AccessError, ObjectChange } from '../access/access.ts';
import { csrfField } from '../views/fragments.ts';
import { accountPath } from './account-facts.ts';

type GrantField = 'name' | 'usd' | 'reason';

/** As typed. */
export interface GrantForm {
  readonly name: string;
  readonly usd: string;
  readonly reason: string;
  /** Of the account as the person saw it. */
  readonly uid: string;
  readonly generation: number;
}

export interface GrantError {
  /** undefined: the account as a whole. */
  readonly field: GrantField | undefined;
  readonly message: string;
}

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const MAX_NAME_LENGTH = 63;
const USD = /^-?([0-8]?[0-9]{1,9}([.][0-9]{1,9})?|9000000000([.]0{1,9})?)$/;
const MAX_REASON_LENGTH = 256;
const MAX_GRANTS = 1000;

export function parseGrantForm(form: URLSearchParams): GrantForm {
  const text = (name: string): string => (form.get(name) ?? '').trim();
  const generation = Number(text('generation'));
  return { name: text('name'), usd: amountOf(text('usd')), reason:
    text('reason'), uid: text('uid'), generation: Number.isSafeInteger(generation) ? generation : 0 };
}

/** What is typed for an account that shows no faults yet: the month, if it is free. */
export function emptyGrantForm({ metadata, spec }: Account, nowMs: number): GrantForm {
  const month = new Date(nowMs).toISOString().slice(0, 7);
  const taken = new Set((spec.grants ?? []).map(({ name }) => name));
  const name =
    [month, ...Array.from({ length: 8 }, (_, index) => `${month}-${index + 2}`)].find((each) => !taken.has(each)) ?? '';
  return { name, usd: '', reason: '', uid: metadata.uid ?? '', generation: metadata.generation ?? 0 };
}

/** All that is wrong with it, in the API's words where the API would refuse it. */
export function validateGrant({ name, usd, reason }: GrantForm, { spec }: Account): GrantError[] {
  const errors: GrantError[] = [];
  const grants = spec.grants ?? [];
  if (name === '') errors.push({ field: 'name', message: 'Enter a name, such as 2026-11.' });
  else if (name.length > MAX_NAME_LENGTH) errors.push({
    field: 'name', message: `may have at most ${MAX_NAME_LENGTH} characters`,
  });
  else if (!NAME.test(name)) errors.push({ field: 'name', message:
    "a grant's name consists of letters, digits, '-', '_' and '.', with a letter or digit at both ends" });
  else if (grants.some((grant) => grant.name === name))
    errors.push({ field: 'name', message: `There is a grant called ${name} already. Choose another name.` });
  if (usd === '') errors.push({ field: 'usd', message: 'Enter an amount, such as 250.00.' });
  else if (!USD.test(usd)) errors.push({ field: 'usd', message: 'usd must be a decimal such as "250.00" or "-10", ' +
    'with at most 9 digits after the point and at most 9000000000 either way' });
  if (reason.length > MAX_REASON_LENGTH)
    errors.push({ field: 'reason', message: `may have at most ${MAX_REASON_LENGTH} characters` });
  if (grants.length >= MAX_GRANTS) errors.push({
    field: undefined, message: `The account has ${MAX_GRANTS} grants, which is the most that one can have.`,
  });
  return errors;
}

/** The change that adds the grant. A merge patch replaces lists, so all of them go with it. */
export function grantChange({ name, usd, reason, uid, generation }: GrantForm, { spec }: Account): ObjectChange {
  const grant: AccountGrant = { name, usd, ...(reason === '' ? {} : { reason }) };
  return { uid, generation, patch: { spec: { grants: [...spec.grants ?? [], grant] } } };
}

/** What the API refuses, at the field that it speaks of. */
export function errorsOfRefusedGrant(error: AccessError): GrantError[] {
  if (error.fields.length === 0) return [{ field: undefined, message: error.message }];
  return error.fields.map(({ path, message }) => {
    const [, field = ''] = /^spec\.grants(?:\[[^\]]*\])?\.?(.*)$/.exec(path) ?? [];
    const known = (['name', 'usd', 'reason'] as const).find((each) => each === field);
    return known
      ? { field: known, message }
      : { field: undefined, message: path === '' || message.startsWith(path) ? message : `${path}: ${message}` };
  });
}

/** Without what people write around amounts: a currency sign, thousands apart. */
function amountOf(typed: string): string {
  return typed.replace(/^([-−]?)\s*\$\s*/, '$1').replace('−', '-').replace(/(?<=\d)[,\s](?=\d{3}(?:\D|$))/g, '');
}

export interface GrantsView {
  readonly account: Account;
  /** undefined: the person may not grant. */
  readonly form: GrantForm | undefined;
  readonly errors: readonly GrantError[];
  readonly csrf: string;
}

const SHOWN = 50;

/** The section. The newest grants come first: new ones are added at the end. */
export function renderGrants(view: GrantsView): Html {
  const grants = (view.account.spec.grants ?? []).toReversed();
  return html`<section class="section" id="grants" aria-labelledby="grants-title" tabindex="-1">
<div class="section-head"><h2 id="grants-title">Credit</h2><p>${pluralize(grants.length, 'grant')}</p></div>
<div class="split">
<div>${grants.length === 0
  ? html`<p class="soft">No credit was granted yet, so no call is admitted.</p>`
  : renderTable(grants)}</div>
${view.form ? renderForm(view, view.form) : NOTHING}
</div>
</section>`;
}

function renderTable(grants: readonly AccountGrant[]): Html {
  const rest = grants.slice(SHOWN);
  return html`${rowsTable(grants.slice(0, SHOWN))}${rest.length > 0 ? html`<details class="fold"><summary>${pluralize(
    rest.length, 'earlier grant',
  )}</summary>${rowsTable(rest)}</details>` : NOTHING}`;
}

function rowsTable(grants: readonly AccountGrant[]): Html {
  return html`<div class="table-box"><table class="table cards">
<caption class="vh">Grants, newest first</caption>
<thead><tr><th scope="col">Grant</th><th scope="col">Reason</th><th scope="col" class="num">Amount</th></tr></thead>
<tbody>${grants.map(({ name, usd, reason }) => html`
<tr><th scope="row" class="main wrap">${name}</th><td class="wrap wide" data-label="Reason">${reason === undefined
  ? html`<span class="soft">—</span>`
  : html`<bdi>${reason}</bdi>`}</td><td class="num wide" data-label="Amount">${exactUsd(usd)}</td></tr>`)}</tbody>
</table></div>`;
}

function exactUsd(usd: string): string {
  const nanoUsd = parseDecimal(usd);
  return nanoUsd === undefined ? usd : formatExactUsd(nanoUsd);
}

function renderForm({ account, errors, csrf }: GrantsView, form: GrantForm): Html {
  return html`<form class="form card" method="post" action="${accountPath(
    account.metadata, 'grants',
  )}" aria-labelledby="grant-title" autocomplete="off">
<h3 id="grant-title">Grant credit</h3>
${renderSummary(errors)}
${csrfField(
  csrf,
)}<input type="hidden" name="uid" value="${form.uid}"><input type="hidden" name="generation" value="${form.generation}">
<div class="fields">${renderField({
  field: 'name', label: 'Name', value: form.name, hint: 'Unique within the account',
  attributes: html` maxlength="63" required spellcheck="false" autocapitalize="none"`,
}, errors)}
${renderField({ field: 'usd', label: 'Amount in USD', value: form.usd, hint:
  'Negative takes credit back', attributes: html` inputmode="decimal" maxlength="32" required` }, errors)}</div>
${renderField({ field: 'reason', label: 'Reason', value:
  form.reason, hint: 'For people; who may read the account reads it', attributes: html` maxlength="256"` }, errors)}
<div class="form-actions"><button type="submit" class="button primary">Grant</button></div>
</form>`;
}

interface Field {
  readonly field: GrantField;
  readonly label: string;
  readonly value: string;
  readonly hint: string;
  readonly attributes: Html;
}

function renderField({ field, label, value, hint, attributes }: Field, errors: readonly GrantError[]): Html {
  const own = errors.filter((fault) => fault.field === field);
  const id = `grant-${field}`;
  return html`<div class="field"><label for="${id}">${label}</label>
<p class="hint" id="${id}-hint">${hint}</p>
<input id="${id}" name="${field}" value="${value}"${attributes} aria-describedby="${id}-hint${own.length > 0
  ? ` ${id}-fault`
  : ''}"${own.length > 0 ? html` aria-invalid="true"` : NOTHING}>
${own.length > 0
  ? html`<div id="${id}-fault">${own.map(({ message }) => html`<p class="fault">${message}</p>`)}</div>`
  : NOTHING}</div>`;
}

function renderSummary(errors: readonly GrantError[]): Html {
  if (errors.length === 0) return NOTHING;
  return html`<div class="error-summary" role="alert" id="error-summary"><h2>Nothing was granted</h2>
<ul>${errors.map(({ field, message }) => html`<li>${field === undefined
  ? message
  : html`<a href="#grant-${field}">${LABELS[field]}: ${message}</a>`}</li>`)}</ul></div>`;
}

const LABELS: Readonly<Record<GrantField, string>> = { name: 'Name', usd: 'Amount', reason: 'Reason' };

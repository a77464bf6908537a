/** [P] An account's credit: its grants, and for who may, the form for a new one. */
import type { Account, AccountGrant } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { counted, formatExactUsd } from '#web/figures.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { GrantFault, GrantField, GrantForm } from '../forms/grant.ts';
import { csrfField } from './csrf-field.ts';
import { accountPath } from './wallet-links.ts';

export interface GrantsView {
  readonly account: Account;
  /** undefined: the person may not grant. */
  readonly form: GrantForm | undefined;
  readonly faults: readonly GrantFault[];
  readonly csrf: string;
}

const SHOWN = 50;

/** The section. The newest grants come first: new ones are added at the end. */
export function renderGrants(view: GrantsView): Html {
  const grants = (view.account.spec.grants ?? []).toReversed();
  return html`<section class="section" id="grants" aria-labelledby="grants-title" tabindex="-1">
<div class="section-head"><h2 id="grants-title">Credit</h2><p>${counted(grants.length, 'grant')}</p></div>
<div class="split">
<div>${grants.length === 0 ? html`<p class="soft">No credit was granted yet, so no call is admitted.</p>` : renderTable(grants)}</div>
${view.form ? renderForm(view, view.form) : NOTHING}
</div>
</section>`;
}

function renderTable(grants: readonly AccountGrant[]): Html {
  const rest = grants.slice(SHOWN);
  return html`${rowsTable(grants.slice(0, SHOWN))}${rest.length > 0 ? html`<details class="fold"><summary>${counted(rest.length, 'earlier grant')}</summary>${rowsTable(rest)}</details>` : NOTHING}`;
}

function rowsTable(grants: readonly AccountGrant[]): Html {
  return html`<div class="table-box"><table class="table cards">
<caption class="vh">Grants, newest first</caption>
<thead><tr><th scope="col">Grant</th><th scope="col">Reason</th><th scope="col" class="num">Amount</th></tr></thead>
<tbody>${grants.map(({ name, usd, reason }) => html`
<tr><th scope="row" class="main wrap">${name}</th><td class="wrap wide" data-label="Reason">${reason === undefined ? html`<span class="soft">—</span>` : html`<bdi>${reason}</bdi>`}</td><td class="num wide" data-label="Amount">${exactUsd(usd)}</td></tr>`)}</tbody>
</table></div>`;
}

function exactUsd(usd: string): string {
  const nanoUsd = parseDecimal(usd);
  return nanoUsd === undefined ? usd : formatExactUsd(nanoUsd);
}

function renderForm({ account, faults, csrf }: GrantsView, form: GrantForm): Html {
  return html`<form class="form card" method="post" action="${accountPath(account.metadata, 'grants')}" aria-labelledby="grant-title" autocomplete="off">
<h3 id="grant-title">Grant credit</h3>
${renderSummary(faults)}
${csrfField(csrf)}<input type="hidden" name="uid" value="${form.uid}"><input type="hidden" name="generation" value="${form.generation}">
<div class="fields">${renderField({ field: 'name', label: 'Name', value: form.name, hint: 'Unique within the account', attributes: html` maxlength="63" required spellcheck="false" autocapitalize="none"` }, faults)}
${renderField({ field: 'usd', label: 'Amount in USD', value: form.usd, hint: 'Negative takes credit back', attributes: html` inputmode="decimal" maxlength="32" required` }, faults)}</div>
${renderField({ field: 'reason', label: 'Reason', value: form.reason, hint: 'For people; who may read the account reads it', attributes: html` maxlength="256"` }, faults)}
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

function renderField({ field, label, value, hint, attributes }: Field, faults: readonly GrantFault[]): Html {
  const own = faults.filter((fault) => fault.field === field);
  const id = `grant-${field}`;
  return html`<div class="field"><label for="${id}">${label}</label>
<p class="hint" id="${id}-hint">${hint}</p>
<input id="${id}" name="${field}" value="${value}"${attributes} aria-describedby="${id}-hint${own.length > 0 ? ` ${id}-fault` : ''}"${own.length > 0 ? html` aria-invalid="true"` : NOTHING}>
${own.length > 0 ? html`<div id="${id}-fault">${own.map(({ message }) => html`<p class="fault">${message}</p>`)}</div>` : NOTHING}</div>`;
}

function renderSummary(faults: readonly GrantFault[]): Html {
  if (faults.length === 0) return NOTHING;
  return html`<div class="error-summary" role="alert" id="error-summary"><h2>Nothing was granted</h2>
<ul>${faults.map(({ field, message }) => html`<li>${field === undefined ? message : html`<a href="#grant-${field}">${LABELS[field]}: ${message}</a>`}</li>`)}</ul></div>`;
}

const LABELS: Readonly<Record<GrantField, string>> = { name: 'Name', usd: 'Amount', reason: 'Reason' };

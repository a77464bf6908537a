/**
 * [P] An account's grants, and the form that adds one. The grant is appended to the list that the person saw,
 * so a concurrent change is not overwritten.
 */
import type { Account, AccountGrant } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { pluralize, formatExactUsd, renderTime } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { AccessError, ObjectChange } from '../access/access.ts';

export type GrantField = 'name' | 'usd' | 'reason';

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
const MAX_AUTHOR_LENGTH = 256;
const MAX_GRANTS = 1000;

export function parseGrantForm(form: URLSearchParams): GrantForm {
  const text = (name: string): string => (form.get(name) ?? '').trim();
  const generation = Number(text('generation'));
  return {
    name: text('name'),
    usd: amountOf(text('usd') || text('preset')),
    reason: text('reason'),
    uid: text('uid'),
    generation: Number.isSafeInteger(generation) ? generation : 0,
  };
}

/** The initial form: the grant is named after the month, if that name is free. */
export function emptyGrantForm({ metadata, spec }: Account, nowMs: number): GrantForm {
  const month = new Date(nowMs).toISOString().slice(0, 7);
  const taken = new Set((spec.grants ?? []).map(({ name }) => name));
  const name =
    [month, ...Array.from({ length: 8 }, (_, index) => `${month}-${index + 2}`)].find((each) => !taken.has(each)) ?? '';
  return { name, usd: '', reason: '', uid: metadata.uid ?? '', generation: metadata.generation ?? 0 };
}

/** All errors of the form, in the API's words where the API would refuse it. `usd` may be negative. */
export function validateGrant({ name, usd, reason }: GrantForm, { spec }: Account): GrantError[] {
  const errors: GrantError[] = [];
  const grants = spec.grants ?? [];
  if (name === '') errors.push({ field: 'name', message: 'Enter a name, such as 2026-11.' });
  else if (name.length > MAX_NAME_LENGTH)
    errors.push({
      field: 'name',
      message: `may have at most ${MAX_NAME_LENGTH} characters`,
    });
  else if (!NAME.test(name))
    errors.push({
      field: 'name',
      message: "a grant's name consists of letters, digits, '-', '_' and '.', with a letter or digit at both ends",
    });
  else if (grants.some((grant) => grant.name === name))
    errors.push({ field: 'name', message: `There is a grant called ${name} already. Choose another name.` });
  if (usd === '') errors.push({ field: 'usd', message: 'Enter an amount, such as 250.00.' });
  else if (!USD.test(usd))
    errors.push({
      field: 'usd',
      message:
        'usd must be a decimal such as "250.00" or "-10", ' +
        'with at most 9 digits after the point and at most 9000000000 either way',
    });
  if (reason.length > MAX_REASON_LENGTH)
    errors.push({ field: 'reason', message: `may have at most ${MAX_REASON_LENGTH} characters` });
  if (grants.length >= MAX_GRANTS)
    errors.push({
      field: undefined,
      message: `The account has ${MAX_GRANTS} grants, which is the most that one can have.`,
    });
  return errors;
}

/** The author and the time of a grant. */
export interface GrantOrigin {
  readonly grantedBy: string;
  readonly nowMs: number;
}

/** The grant, with its author and its time to the second. */
export function grantOf(
  { name, usd, reason }: Pick<GrantForm, 'name' | 'usd' | 'reason'>,
  { grantedBy, nowMs }: GrantOrigin,
): AccountGrant {
  return {
    name,
    usd,
    ...(reason === '' ? {} : { reason }),
    grantedBy: grantedBy.slice(0, MAX_AUTHOR_LENGTH),
    grantTime: `${new Date(nowMs).toISOString().slice(0, 19)}Z`,
  };
}

/** The change that adds the grant. A merge patch replaces lists, so all of them go with it. */
export function grantChange({ uid, generation }: GrantForm, grant: AccountGrant, { spec }: Account): ObjectChange {
  return { uid, generation, patch: { spec: { grants: [...(spec.grants ?? []), grant] } } };
}

/** The API's refusal as errors of the form's fields. */
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

/** Removes a currency sign and thousands separators. */
function amountOf(typed: string): string {
  return typed
    .replace(/^([-−]?)\s*\$\s*/, '$1')
    .replace('−', '-')
    .replace(/(?<=\d)[,\s](?=\d{3}(?:\D|$))/g, '');
}

export const GRANT_LABELS: Readonly<Record<GrantField, string>> = { name: 'Name', usd: 'Amount', reason: 'Reason' };

const SHOWN = 50;

/** The section. The newest grants come first: new ones are added at the end. */
export function renderGrants({ spec }: Account): Html {
  const grants = (spec.grants ?? []).toReversed();
  return html`<section class="section" id="grants" aria-labelledby="grants-title" tabindex="-1">
    <div class="section-head">
      <h2 id="grants-title">Credit</h2>
      <p>${pluralize(grants.length, 'grant')}</p>
    </div>
    ${
      grants.length === 0
        ? html`<p class="soft">No credit was granted yet, so every call is refused.</p>`
        : renderTable(grants)
    }
  </section>`;
}

function renderTable(grants: readonly AccountGrant[]): Html {
  const rest = grants.slice(SHOWN);
  return html`${rowsTable(grants.slice(0, SHOWN))}${
    rest.length > 0
      ? html`<details class="fold">
          <summary>${pluralize(rest.length, 'earlier grant')}</summary>
          ${rowsTable(rest)}
        </details>`
      : NOTHING
  }`;
}

function rowsTable(grants: readonly AccountGrant[]): Html {
  return html`<div class="table-box">
    <table class="table cards">
      <caption class="vh">
        Grants, newest first
      </caption>
      <thead>
        <tr>
          <th scope="col">Grant</th>
          <th scope="col">Reason</th>
          <th scope="col">By</th>
          <th scope="col">Date</th>
          <th scope="col" class="num">Amount</th>
        </tr>
      </thead>
      <tbody>
        ${grants.map(renderGrant)}
      </tbody>
    </table>
  </div>`;
}

function renderGrant({ name, usd, reason, grantedBy, grantTime }: AccountGrant): Html {
  const atMs = grantTime === undefined ? NaN : Date.parse(grantTime);
  return html`<tr>
    <th scope="row" class="main wrap">${name}</th>
    <td class="wrap wide" data-label="Reason">${bdiOrDash(reason)}</td>
    <td class="wrap" data-label="By">${bdiOrDash(grantedBy)}</td>
    <td data-label="Date">${Number.isNaN(atMs) ? DASH : renderTime(atMs, 'minute')}</td>
    <td class="num" data-label="Amount">${exactUsd(usd)}</td>
  </tr>`;
}

const DASH = html`<span class="soft">—</span>`;

function bdiOrDash(text: string | undefined): Html {
  return text === undefined ? DASH : html`<bdi>${text}</bdi>`;
}

function exactUsd(usd: string): string {
  const nanoUsd = parseDecimal(usd);
  return nanoUsd === undefined ? usd : formatExactUsd(nanoUsd);
}

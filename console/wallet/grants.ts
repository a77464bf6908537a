/**
 * [P] An account's grants, and the form that adds one. The grant is appended to the list that the person saw,
 * so a concurrent change is not overwritten.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Account, AccountGrant } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { pluralize, formatExactUsd, renderTime } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { AccessError, ObjectChange } from '../access/access.ts';
import { formText } from '../request-schema.ts';
import { section } from '../components/page.ts';
import { table } from '../components/table.ts';
import { fieldMessage, textField, withPath } from '../components/field.ts';
import type { FieldFault, TextField } from '../components/field.ts';

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

export type GrantError = FieldFault<GrantField>;

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const MAX_NAME_LENGTH = 63;
const USD = /^-?([0-8]?[0-9]{1,9}([.][0-9]{1,9})?|9000000000([.]0{1,9})?)$/;
const MAX_REASON_LENGTH = 256;
const MAX_AUTHOR_LENGTH = 256;
const MAX_GRANTS = 1000;

/** A posted grant. */
export const GRANT_FORM = Type.Object({
  name: formText(),
  usd: formText(),
  /** An amount of the list; one that is typed comes before it. */
  preset: formText(),
  reason: formText(),
  uid: formText(),
  generation: formText(),
});

export function parseGrantForm(form: Static<typeof GRANT_FORM>): GrantForm {
  const text = (name: keyof typeof form): string => (form[name] ?? '').trim();
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

/** All errors of the form. `usd` may be negative. */
export function validateGrant({ name, usd, reason }: GrantForm, { spec }: Account): GrantError[] {
  const errors: GrantError[] = [];
  const grants = spec.grants ?? [];
  if (name === '') errors.push({ field: 'name', message: 'Enter a name, such as 2026-11.' });
  else if (name.length > MAX_NAME_LENGTH)
    errors.push({
      field: 'name',
      message: `It may have at most ${MAX_NAME_LENGTH} characters`,
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
        'It must be a decimal such as "250.00" or "-10", ' +
        'with at most 9 digits after the point and at most 9000000000 either way',
    });
  if (reason.length > MAX_REASON_LENGTH)
    errors.push({ field: 'reason', message: `It may have at most ${MAX_REASON_LENGTH} characters` });
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
  return error.fields.map((fault) => {
    const [, field = ''] = /^spec\.grants(?:\[[^\]]*\])?\.?(.*)$/.exec(fault.path) ?? [];
    const known = (['name', 'usd', 'reason'] as const).find((each) => each === field);
    return known ? { field: known, message: fieldMessage(fault) } : { field: undefined, message: withPath(fault) };
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

/** The field of an amount, as granting and taking back have it. */
export function grantAmountField(
  { usd }: GrantForm,
  errors: readonly GrantError[],
  { attributes, ...more }: Pick<TextField, 'below' | 'hint' | 'short'> & { readonly attributes: Html },
): Html {
  return textField({
    field: 'usd',
    label: 'Amount in USD',
    value: usd,
    errors,
    prefix: '$',
    attributes: html`type="text" inputmode="decimal" maxlength="32" ${attributes}`,
    ...more,
  });
}

/** The field of a reason. */
export function grantReasonField({ reason }: GrantForm, errors: readonly GrantError[]): Html {
  return textField({
    field: 'reason',
    label: 'Reason',
    value: reason,
    errors,
    hint: 'Whoever may read the account reads it.',
    attributes: html`type="text" maxlength="256"`,
  });
}

const SHOWN = 50;

/** The section. The newest grants come first: new ones are added at the end. */
export function renderGrants({ spec }: Account): Html {
  const grants = (spec.grants ?? []).toReversed();
  return html`<div id="grants" tabindex="-1">
    ${section(
      { id: 'grants-title', title: 'Credit', beside: pluralize(grants.length, 'grant') },
      grants.length === 0
        ? html`<p class="soft">No credit was granted yet, so every call is refused.</p>`
        : renderTable(grants),
    )}
  </div>`;
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
  return table<AccountGrant>(
    [
      { title: 'Grant', style: 'wrap', cell: ({ name }) => name },
      { title: 'Reason', style: 'wrap wide lines', cell: ({ reason }) => bdiOrDash(reason) },
      { title: 'By', style: 'wrap', cell: ({ grantedBy }) => bdiOrDash(grantedBy) },
      { title: 'Date', cell: renderGrantTime },
      { title: 'Amount', num: true, cell: ({ usd }) => exactUsd(usd) },
    ],
    grants,
    { caption: 'Grants, newest first', cards: true },
  );
}

function renderGrantTime({ grantTime }: AccountGrant): Html {
  const atMs = grantTime === undefined ? NaN : Date.parse(grantTime);
  return Number.isNaN(atMs) ? DASH : renderTime(atMs, 'minute');
}

const DASH = html`<span class="soft">—</span>`;

function bdiOrDash(text: string | undefined): Html {
  return text === undefined ? DASH : html`<bdi>${text}</bdi>`;
}

/** A decimal in USD with all of its digits; what is none stays as it is. */
export function exactUsd(usd: string): string {
  const nanoUsd = parseDecimal(usd);
  return nanoUsd === undefined ? usd : formatExactUsd(nanoUsd);
}

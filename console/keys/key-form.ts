/**
 * [P] A key's form as a whole, made from the table of its fields. A form keeps every text as it was typed, so that it can
 * come back with an error beside it; what only the API can validate is passed to it unchanged.
 */
import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import { parseJson } from '#crds/json.ts';
import type { ApiKey, ApiKeySpec } from '#crds/types.gen.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { AccessError, ApiFieldError } from '../access/access.ts';
import { formText } from '../request-schema.ts';
import { fieldMessage, withPath } from '../components/field.ts';
import type { FieldFault } from '../components/field.ts';
import type { ControlView } from './controls.ts';
import { EDIT_ROWS, KEY_ROWS, keyField } from './fields.ts';
import type { KeyField, KeyFieldRow, KeyForm, Patch, Posted } from './fields.ts';

export type FormError = FieldFault<KeyField>;

export type Parsed<T> =
  { readonly value: T; readonly errors?: never } | { readonly value?: never; readonly errors: readonly FormError[] };

/** A posted key: the controls of all rows. */
export const KEY_FORM = Type.Object(
  Object.fromEntries(KEY_ROWS.flatMap(({ field, posts = { [field]: formText() } }) => Object.entries<TSchema>(posts))),
);
/** What the API's defaults are and no form asks for; an edit leaves it as it is. */
const UNASKED: Patch<ApiKeySpec> = { quota: { minOutputTokens: 16 }, key: { rotation: 1, overlapSeconds: 0 } };

/** All rows' parts of a form together. */
function together(partsOf: (row: KeyFieldRow) => Partial<KeyForm>): KeyForm {
  const parts = KEY_ROWS.reduce<Partial<KeyForm>>((form, row) => ({ ...form, ...partsOf(row) }), {});
  // each part of a form is one row's, and no row leaves its own out
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return parts as KeyForm;
}

/** A new key's form, before anything is typed. */
export function newKeyForm(namespace: string): KeyForm {
  return { ...together(({ initial }) => initial), namespace };
}

/** The form of a key as it is. */
export function formOfKey(apiKey: ApiKey): KeyForm {
  return together(({ of }) => of(apiKey));
}

/** The form of another key with the same settings; its text is always a new one. */
export function copyOfKey(apiKey: ApiKey): KeyForm {
  return together(({ of, copy = of }) => copy(apiKey));
}

/** What was typed, without changes to the fields that an edit cannot change. */
export function withFixedFields(typed: KeyForm, live: KeyForm): KeyForm {
  return together((row) => partsOf(row, row.fixed ? live : typed));
}

/** Reads what was posted. Missing controls count as empty; unknown ones are ignored. */
export function readKeyForm(form: Static<typeof KEY_FORM>): KeyForm {
  const values = new Map<string, unknown>(Object.entries(form));
  const posted: Posted = {
    text(name) {
      const value = values.get(name);
      return typeof value === 'string' ? value.trim() : '';
    },
    all(name) {
      const value = values.get(name);
      return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
    },
  };
  return together(({ read }) => read(posted));
}

/** All faults of a new key's form; `refused` tells what the API would say to the object. */
export function faultsOfNewKey(
  form: KeyForm,
  {
    gatewayNamespace,
    nowMs,
    refused,
  }: {
    readonly gatewayNamespace: string;
    readonly nowMs: number;
    readonly refused: (spec: ApiKeySpec) => FormError[];
  },
): FormError[] {
  const own = [...ownFaultsOfNew(form, nowMs), ...(specOfForm(form, gatewayNamespace).errors ?? [])];
  const { value } = specOfForm(withoutFaults(form, own), gatewayNamespace);
  const faulty = new Set(own.map(({ field }) => field));
  return [...own, ...(value ? refused(value) : []).filter(({ field }) => field === undefined || !faulty.has(field))];
}

function ownFaultsOfNew(form: KeyForm, nowMs: number): FormError[] {
  return KEY_ROWS.flatMap(({ field, faultOfNew }) => {
    const message = faultOfNew?.(form, nowMs);
    return message === undefined ? [] : [{ field, message }];
  });
}

/** The form with invalid values replaced by valid ones, so that the rest can be checked. */
export function withoutFaults(form: KeyForm, faults: readonly FormError[]): KeyForm {
  const faulty = KEY_ROWS.filter((row) => faults.some(({ field }) => field === row.field) && row.write(form).error);
  return faulty.reduce<KeyForm>((valid, { initial }) => ({ ...valid, ...initial }), form);
}

/** A new ApiKey's spec. */
export function specOfForm(form: KeyForm, gatewayNamespace: string): Parsed<ApiKeySpec> {
  const { value, errors } = patchOf(KEY_ROWS, form);
  if (errors) return { errors };
  const spec = withoutNulls(merged(merged({ gatewayNamespace }, UNASKED), value));
  // every required field of a spec is a row's, or unasked
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { value: spec as ApiKeySpec };
}

/** What the rows write, together. */
function patchOf(rows: readonly KeyFieldRow[], form: KeyForm): Parsed<Patch<ApiKeySpec>> {
  const written = rows.map(({ field, write }) => ({ field, ...write(form) }));
  const errors = written.flatMap(({ field, error }) => (error === undefined ? [] : [{ field, message: error }]));
  if (errors.length > 0) return { errors };
  return { value: written.reduce<Patch<ApiKeySpec>>((patch, each) => merged(patch, each.patch ?? {}), {}) };
}

/** Two patches of one spec as one. */
function merged(one: object, other: object): object {
  const before = new Map<string, unknown>(Object.entries(one));
  for (const [name, value] of new Map<string, unknown>(Object.entries(other))) {
    const part = before.get(name);
    before.set(name, isPart(part) && isPart(value) ? { ...part, ...value } : value);
  }
  return Object.fromEntries(before);
}

/** What is left of a patch for an object that has nothing yet. */
function withoutNulls(patch: object): object {
  const left = new Map<string, unknown>(Object.entries(patch));
  for (const [name, value] of left) {
    if (value === null) left.delete(name);
    if (!isPart(value)) continue;
    const part = withoutNulls(value);
    if (Object.keys(part).length === 0) left.delete(name);
    else left.set(name, part);
  }
  return Object.fromEntries(left);
}

function isPart(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A refusal as form errors: each at its field, in the API's words; the others at the top. */
export function errorsOfRefusal(error: AccessError, present: readonly KeyField[]): FormError[] {
  if (error.fields.length > 0) return errorsOfFields(error.fields, present);
  const taken = error.reason === 'AlreadyExists' && present.includes('name');
  return [{ field: taken ? 'name' : undefined, message: error.message }];
}

/** Faults by the API's paths as form errors. */
export function errorsOfFields(fields: readonly ApiFieldError[], present: readonly KeyField[]): FormError[] {
  return fields.map(({ path, message }) => {
    const field = KEY_ROWS.find((row) => isWithin(path, row.path))?.field;
    if (field !== undefined && present.includes(field)) return { field, message: fieldMessage({ path, message }) };
    return { field: undefined, message: withPath({ path, message }) };
  });
}

function isWithin(path: string, place: string): boolean {
  return path === place || (path.startsWith(place) && '.['.includes(path.charAt(place.length)));
}

/** The controls of the form of a new key, and of an edit, that can show an error. */
export const NEW_CONTROLS: readonly KeyField[] = KEY_ROWS.map(({ field }) => field);
export const EDIT_CONTROLS: readonly KeyField[] = EDIT_ROWS.map(({ field }) => field);

/** The fields' texts as a form found them. */
type FieldTexts = Readonly<Partial<Record<KeyField, string>>>;

export function textsOfForm(form: KeyForm): FieldTexts {
  return Object.fromEntries(EDIT_ROWS.map(({ field, text }) => [field, text(form)]));
}

/** The text of the form's hidden field; ASCII, because a page replaces some characters. */
export function writeBase(form: KeyForm): string {
  return JSON.stringify(textsOfForm(form)).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Parses the hidden field. Anything can be posted: values that are not texts are left out. */
export function readBase(posted: string): FieldTexts {
  const texts: Partial<Record<KeyField, string>> = {};
  const parsed = parseJson(posted);
  if (typeof parsed !== 'object' || parsed === null) return texts;
  for (const [field, text] of Object.entries(parsed)) {
    const row = EDIT_ROWS.find((each) => each.field === field);
    if (row && typeof text === 'string') texts[row.field] = text;
  }
  return texts;
}

/** A patch of only the fields that differ; undefined: none does. */
export function patchOfForm(typed: KeyForm, live: ApiKey): Parsed<Patch<ApiKeySpec> | undefined> {
  const now = formOfKey(live);
  const changed = EDIT_ROWS.filter(({ text }) => text(typed) !== text(now));
  if (changed.length === 0) return { value: undefined };
  const { value, errors } = patchOf(changed, typed);
  if (errors) return { errors };
  // a part of which nothing is left goes as a whole: an object without any member would be refused
  const left = withoutNulls(merged(live.spec, value));
  return {
    value: Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, isPart(part) && !(name in left) ? null : part]),
    ),
  };
}

/** A field that somebody else has changed since the form went out. */
export interface ConcurrentChange {
  readonly field: KeyField;
  /** undefined: the form does not say. */
  readonly was: string | undefined;
  readonly now: string;
  /** What this person typed, if it differs; it is kept until the form is sent again. */
  readonly typed: string | undefined;
}

export interface Merged {
  readonly form: KeyForm;
  readonly others: readonly ConcurrentChange[];
}

/**
 * Applies what was typed to the object as it is now. The form carries the texts that it was rendered with: a field that
 * its reader changed keeps that value, and every other field takes the object's current one.
 */
export function mergeForms(base: FieldTexts, typed: KeyForm, live: KeyForm): Merged {
  let form = live;
  const others: ConcurrentChange[] = [];
  for (const row of EDIT_ROWS) {
    const { field, text } = row;
    const [was, mine, now] = [base[field], text(typed), text(live)];
    const touched = mine !== was;
    if (touched) form = { ...form, ...partsOf(row, typed) };
    if (now !== was && (was !== undefined || now !== mine))
      others.push({ field, was, now, typed: touched && mine !== now ? mine : undefined });
  }
  return { form, others };
}

/** The parts of a form that belong to a field. */
function partsOf({ initial }: KeyFieldRow, form: KeyForm): Partial<KeyForm> {
  return Object.fromEntries(Object.entries(form).filter(([part]) => part in initial));
}

/** Whether any of these fields differs from a new form's. */
export function isTyped(rows: readonly KeyFieldRow[], form: KeyForm): boolean {
  return rows.some(({ text, initial }) => text(form) !== text({ ...form, ...initial }));
}

export interface KeyFormView extends Pick<ControlView, 'groups' | 'accounts'> {
  readonly form: KeyForm;
  readonly errors: readonly FormError[];
  /** Empty for a new key. */
  readonly others: readonly ConcurrentChange[];
}

/** The controls of these fields, in the table's order; a field that belongs inside another is rendered there. */
export function renderFields(rows: readonly KeyFieldRow[], view: KeyFormView): Html {
  const control = ({ field, label, control: render }: KeyFieldRow): Html => {
    const inner = rows.filter((row) => row.within === field);
    return render(view.form, {
      label,
      errors: view.errors,
      note: changedMeanwhile(field, view.others),
      within: html`${inner.map(control)}`,
      groups: view.groups,
      ...(view.accounts && { accounts: view.accounts }),
    });
  };
  return html`${rows.filter(({ within }) => within === undefined).map((row) => html`${control(row)} `)}`;
}

/** The change that somebody else has made to a field meanwhile. */
function changedMeanwhile(field: KeyField, others: readonly ConcurrentChange[]): Html {
  const change = others.find((each) => each.field === field);
  if (!change) return NOTHING;
  return html`<p class="key-theirs">
    <b>Changed meanwhile</b> to <q>${change.now}</q>${
      change.was === undefined ? NOTHING : html`; it was <q>${change.was}</q>`
    }.
    ${change.typed === undefined ? 'That is what the form shows now.' : 'The form keeps what you typed.'}
  </p>`;
}

/** What an error's summary calls its field. */
export function labelOfField(field: KeyField): string {
  return keyField(field).label;
}

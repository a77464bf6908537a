/**
 * [P] The one table of the fields of a key's form. The forms of new keys and of edits, the three-way merge, the facts of
 * a key, its errors and the patches of its spec are made from it: a field of ApiKey touches this file alone.
 */
import type { TSchema } from 'typebox';
import type { ApiKey, ApiKeyQuota, ApiKeySpec } from '#crds/types.gen.ts';
import { isTimeZone, UTC } from '#snapshot/time-zone.ts';
import { renderTime } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { choiceField, selectField, switchField, textField } from '../components/field.ts';
import { accountPath } from '../paths.ts';
import { formText, formTexts } from '../request-schema.ts';
import { UNLIMITED, zoneOf } from '../queries/key-facts.ts';
import { accountControl, groupControl, modelsControl, OBJECT_NAME } from './controls.ts';
import type { ControlView } from './controls.ts';
import { postedTime, shorten, timeOfInput, utcInput } from './times.ts';

/** A JSON merge patch of a spec, or a piece of one; null removes a field. */
export type Patch<T> = {
  readonly [K in keyof T]?: NonNullable<T[K]> extends readonly unknown[] | string | number | boolean
    ? T[K] | null
    : Patch<NonNullable<T[K]>> | null;
};

/** What a field writes, or why it cannot. */
export type Written =
  { readonly patch: Patch<ApiKeySpec>; readonly error?: never } | { readonly error: string; readonly patch?: never };

/** Posted texts, trimmed; missing ones are empty. */
export interface Posted {
  readonly text: (name: string) => string;
  readonly all: (name: string) => readonly string[];
}

/** What a fact may say besides the key's own texts. */
export interface FactContext {
  readonly apiKey: ApiKey;
  /** The display name of its group. */
  readonly group: string;
}

interface Field<Parts> {
  readonly label: string;
  /** Where the manifest has it; what is below it belongs to the field too. */
  readonly path: string;
  /** An edit cannot change it. */
  readonly fixed?: true;
  /** The form of a new key hides it under "More options", with the other fields that few people need. */
  readonly folded?: true;
  /** The values as the form has them, before anything is typed; they are always valid. */
  readonly initial: Parts;
  /** What its control posts. Default: one text of the field's name. */
  readonly posts?: Readonly<Record<string, TSchema>>;
  readonly read: (posted: Posted) => Parts;
  readonly of: (apiKey: ApiKey) => Parts;
  /** Equal for equal meanings, so that two forms can be compared. */
  readonly text: (parts: Parts) => string;
  readonly write: (parts: Parts) => Written;
  /** Why a new key cannot have these values, beyond what the API checks. */
  readonly faultOfNew?: (parts: Parts, nowMs: number) => string | undefined;
  /** The values in the form of a copy. Default: those of the copied key. */
  readonly copy?: (apiKey: ApiKey) => Parts;
  /** The name of the field that shows this one's control inside its own. */
  readonly within?: string;
  readonly control: (parts: Parts, view: ControlView & { readonly label: string }) => Html;
  /** In the key's details; absent: they do not have it. */
  readonly fact?: (context: FactContext, text: string) => Html | string;
}

/** Infers the parts of a field. */
function field<Parts extends object>(row: Field<Parts>): Field<Parts> {
  return row;
}

const PERIODS = ['Never', 'Daily', 'Weekly', 'Monthly'] as const satisfies readonly ApiKeyQuota['period'][];
const PERIOD_LABELS = { Never: 'Never', Daily: 'Every day', Weekly: 'Every week', Monthly: 'Every month' } as const;
const WHEN_SHORT = ['Lower', 'Refuse'] as const satisfies readonly ApiKeyQuota['whenShort'][];
const WHEN_SHORT_LABELS = { Lower: 'Shorten its answer to what can be paid', Refuse: 'Refuse the call' } as const;
const KEY_TYPES = ['Generated', 'Provided'] as const satisfies readonly ApiKeySpec['key']['type'][];
const ANY_NUMBER = 'Any number';

/** A number that limits something; empty: nothing is limited. */
function countField<const Name extends string>(
  name: Name,
  {
    label,
    path,
    most,
    hint,
    of,
    patch,
  }: {
    readonly label: string;
    readonly path: string;
    readonly most: number;
    readonly hint: string;
    readonly of: (spec: ApiKeySpec) => number | undefined;
    readonly patch: (value: number | null) => Patch<ApiKeySpec>;
  },
): Field<Readonly<Record<Name, string>>> {
  const parts = (text: string): Readonly<Record<Name, string>> =>
    // TypeScript types a computed name as any text
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    ({ [name]: text }) as Readonly<Record<Name, string>>;
  return field({
    label,
    path,
    folded: true,
    initial: parts(''),
    read: ({ text }) => parts(text(name)),
    of: ({ spec }) => parts(String(of(spec) ?? '')),
    text: (values) => values[name] || ANY_NUMBER,
    write({ [name]: text }) {
      if (text === '') return { patch: patch(null) };
      if (/^-?\d{1,15}$/.test(text)) return { patch: patch(Number(text)) };
      return { error: 'Type a whole number, or leave it empty for any number.' };
    },
    control: (values, view) =>
      textField({
        ...view,
        field: name,
        value: values[name],
        short: true,
        hint: `${hint} Empty: any number.`,
        attributes: html`type="number" inputmode="numeric" min="1" max="${most}" step="1" placeholder="${ANY_NUMBER}"`,
        below: view.note,
      }),
    fact: (_, text) => text,
  });
}

const MAX_RATE = 1_000_000_000;

function rateField<const Name extends 'requestsPerMinute' | 'inputTokensPerMinute' | 'outputTokensPerMinute'>(
  name: Name,
  label: string,
  hint: string,
): Field<Readonly<Record<Name, string>>> {
  return countField(name, {
    label,
    path: `spec.rateLimits.${name}`,
    most: MAX_RATE,
    hint,
    of: (spec) => spec.rateLimits?.[name],
    patch: (value) => ({ rateLimits: { [name]: value } }),
  });
}

function chosen<const T extends string>(
  choices: readonly T[],
  text: string,
  patch: (choice: T) => Patch<ApiKeySpec>,
): Written {
  const choice = choices.find((each) => each === text);
  return choice === undefined ? { error: `Choose one of ${choices.join(', ')}.` } : { patch: patch(choice) };
}

/** In the order of the forms. The name of a field is that of its control, and of its errors. */
export const KEY_FIELDS = {
  name: field({
    label: 'Name',
    path: 'metadata.name',
    fixed: true,
    initial: { name: '' },
    read: ({ text }) => ({ name: text('name') }),
    of: ({ metadata: { name } }) => ({ name }),
    copy: ({ metadata: { name } }) => ({ name: `${name}-copy` }),
    text: ({ name }) => name,
    write: () => ({ patch: {} }),
    faultOfNew: ({ name }) => (name === '' ? 'Enter a name, such as ci-bot.' : undefined),
    control: ({ name }, view) =>
      textField({
        ...view,
        field: 'name',
        value: name,
        attributes: html`${OBJECT_NAME} required autofocus`,
        hint: 'What the key is for. “My CI Bot” becomes my-ci-bot; it cannot be changed later.',
        below: html`<p class="hint" id="name-becomes" aria-live="polite"></p>`,
      }),
  }),
  account: field({
    label: 'Account',
    path: 'spec.accountRef',
    fixed: true,
    initial: { namespace: '', account: '' },
    // "namespace/name" where the list has accounts of several namespaces
    read({ text }) {
      const [, namespace = text('namespace'), account = text('account')] =
        /^([^/]*)\/(.*)$/.exec(text('account')) ?? [];
      return { namespace, account };
    },
    of: ({ metadata: { namespace }, spec }) => ({ namespace, account: spec.accountRef.name }),
    text: ({ namespace, account }) => `${namespace}/${account}`,
    write: ({ account }) => ({ patch: { accountRef: { name: account } } }),
    faultOfNew: ({ account }) => (account === '' ? 'Choose the account that pays for the calls.' : undefined),
    control: accountControl,
    fact: ({ apiKey: { metadata, spec } }) => {
      const { name } = spec.accountRef;
      return html`<a href="${accountPath({ namespace: metadata.namespace, name })}"><bdi>${name}</bdi></a>`;
    },
  }),
  namespace: field({
    label: 'Namespace',
    path: 'metadata.namespace',
    fixed: true,
    initial: {},
    read: () => ({}),
    of: () => ({}),
    text: () => '',
    write: () => ({ patch: {} }),
    // the account says in which namespace the key is
    control: () => NOTHING,
  }),
  enabled: field({
    label: 'Enabled',
    path: 'spec.enabled',
    folded: true,
    initial: { enabled: true },
    read: ({ text }) => ({ enabled: text('enabled') === 'true' }),
    of: ({ spec: { enabled } }) => ({ enabled }),
    text: ({ enabled }) => (enabled ? 'Yes' : 'No'),
    write: ({ enabled }) => ({ patch: { enabled } }),
    control: ({ enabled }, view) =>
      switchField({
        ...view,
        field: 'enabled',
        on: enabled,
        hint: 'When off, new calls are refused at once; running ones finish.',
        below: view.note,
      }),
  }),
  group: field({
    label: 'Group',
    path: 'spec.groupRef',
    initial: { group: '' },
    read: ({ text }) => ({ group: text('group') }),
    of: ({ spec }) => ({ group: spec.groupRef.name }),
    text: ({ group }) => group,
    write: ({ group }) => ({ patch: { groupRef: { name: group } } }),
    faultOfNew: ({ group }) => (group === '' ? 'Choose a group.' : undefined),
    control: groupControl,
    fact: ({ group }) => html`<bdi>${group}</bdi>`,
  }),
  models: field({
    label: 'Models',
    path: 'spec.models',
    folded: true,
    initial: { restricted: false, models: [] as readonly string[] },
    // the ticked models, and those in the text area, one per line
    posts: { allowed: formText(), model: formTexts(), models: formTexts() },
    read({ text, all }) {
      const lines = [...all('model'), ...all('models').flatMap((typed) => typed.split('\n'))].map((line) =>
        line.trim(),
      );
      return { restricted: text('allowed') === 'Some', models: [...new Set(lines.filter((line) => line !== ''))] };
    },
    of: ({ spec: { models } }) => ({ restricted: models !== undefined, models: models ?? [] }),
    text: ({ restricted, models }) => (restricted ? models.toSorted().join(', ') || 'None' : 'All of its group'),
    write: ({ restricted, models }) => ({ patch: { models: restricted ? models : null } }),
    control: modelsControl,
    fact: (_, text) => html`<bdi>${text}</bdi>`,
  }),
  limitUsd: field({
    label: 'Quota',
    path: 'spec.quota.limitUsd',
    initial: { limited: false, limitUsd: '' },
    posts: { quota: formText(), limitUsd: formText() },
    read: ({ text }) => ({ limited: text('quota') === 'Limited', limitUsd: text('limitUsd') }),
    of({ spec: { quota } }) {
      const limited = quota.limitUsd !== UNLIMITED;
      return { limited, limitUsd: limited ? quota.limitUsd : '' };
    },
    text: ({ limited, limitUsd }) => (limited ? limitUsd : UNLIMITED),
    write({ limited, limitUsd }) {
      if (!limited) return { patch: { quota: { limitUsd: UNLIMITED } } };
      if (limitUsd === '') return { error: 'Type an amount in US dollars, or choose Unlimited.' };
      return { patch: { quota: { limitUsd } } };
    },
    control: ({ limited, limitUsd }, { label, errors, note, within }) =>
      choiceField({
        field: 'quota',
        label,
        value: limited ? 'Limited' : UNLIMITED,
        errors: [],
        style: 'key-quota',
        hint: 'What this key may spend, besides what its account has.',
        choices: [
          { value: UNLIMITED, label: 'Unlimited' },
          { value: 'Limited', label: 'A limit in US dollars' },
        ],
        below: html`<div class="key-quota-more">
          ${textField({
            field: 'limitUsd',
            label: html`<span class="vh">Limit in US dollars</span>`,
            value: limitUsd,
            errors,
            prefix: '$',
            suffix: 'USD',
            short: true,
            attributes: html`type="text" inputmode="decimal" autocomplete="off" spellcheck="false" placeholder="25.00"
            maxlength="20"`,
            below: note,
          })}
          ${within}
        </div>`,
      }),
  }),
  period: field({
    label: 'Resets',
    path: 'spec.quota.period',
    within: 'limitUsd',
    initial: { period: 'Never' },
    read: ({ text }) => ({ period: text('period') }),
    of: ({ spec: { quota } }) => ({ period: quota.period }),
    text: ({ period }) => period,
    write: ({ period: text }) => chosen(PERIODS, text, (period) => ({ quota: { period } })),
    control: ({ period }, view) =>
      selectField({
        ...view,
        field: 'period',
        value: period,
        options: PERIODS.map((value) => ({ value, label: PERIOD_LABELS[value] })),
        hint: 'At midnight, on Monday or on the 1st.',
        below: view.note,
      }),
  }),
  timeZone: field({
    label: 'In the time zone',
    path: 'spec.quota.timeZone',
    within: 'limitUsd',
    initial: { timeZone: UTC },
    read: ({ text }) => ({ timeZone: text('timeZone') || UTC }),
    of: ({ spec: { quota } }) => ({ timeZone: zoneOf(quota) }),
    text: ({ timeZone }) => timeZone,
    write: ({ timeZone }) =>
      isTimeZone(timeZone)
        ? { patch: { quota: { timeZone } } }
        : { error: 'Type the name of a time zone, such as Europe/Berlin or UTC.' },
    control: ({ timeZone }, view) =>
      textField({
        ...view,
        field: 'timeZone',
        value: timeZone,
        short: true,
        attributes: html`type="text" autocomplete="off" spellcheck="false" placeholder="${UTC}" maxlength="64"`,
        below: view.note,
      }),
  }),
  whenShort: field({
    label: 'When less is left than a call may cost',
    path: 'spec.quota.whenShort',
    folded: true,
    initial: { whenShort: 'Lower' },
    read: ({ text }) => ({ whenShort: text('whenShort') }),
    of: ({ spec: { quota } }) => ({ whenShort: quota.whenShort }),
    text: ({ whenShort }) => whenShort,
    write: ({ whenShort: text }) => chosen(WHEN_SHORT, text, (whenShort) => ({ quota: { whenShort } })),
    control: ({ whenShort }, view) =>
      selectField({
        ...view,
        field: 'whenShort',
        value: whenShort,
        options: WHEN_SHORT.map((value) => ({ value, label: WHEN_SHORT_LABELS[value] })),
        short: false,
        below: view.note,
      }),
  }),
  expires: field({
    label: 'Expires',
    path: 'spec.expirationTime',
    folded: true,
    /** As `<input type="datetime-local">` has it, in UTC: "2027-01-01T00:00"; empty: never. */
    initial: { expires: '' },
    read: ({ text }) => ({ expires: text('expires') }),
    of: ({ spec: { expirationTime } }) => ({ expires: expirationTime === undefined ? '' : utcInput(expirationTime) }),
    text: ({ expires }) => (expires === '' ? 'Never' : shorten(expires)),
    write: ({ expires }) => ({ patch: { expirationTime: expires === '' ? null : timeOfInput(expires) } }),
    faultOfNew: ({ expires }, nowMs) =>
      expires !== '' && Date.parse(timeOfInput(expires)) <= nowMs
        ? 'This moment has passed: the key would be refused from the beginning.'
        : undefined,
    // the control has no zone of its own, so the form says which one it means; a script adds the reader's
    control({ expires }, { label, errors, note }) {
      const step = /T\d{2}:\d{2}:/.test(expires) ? html`step="any"` : NOTHING;
      return textField({
        field: 'expires',
        label: html`${label} <span class="soft">in UTC</span>`,
        value: expires,
        errors,
        short: true,
        hint: 'From this moment on the key is refused. Empty: it never expires.',
        attributes: html`type="datetime-local" min="1970-01-01T00:00" max="9999-12-31T23:59" ${step} data-utc`,
        below: html`<p class="hint" id="expires-here" aria-live="polite"></p>
          ${note}`,
      });
    },
    fact: ({ apiKey: { spec } }, text) => {
      const ms = postedTime(spec.expirationTime);
      return ms === undefined ? text : renderTime(ms, 'minute');
    },
  }),
  maxConcurrency: countField('maxConcurrency', {
    label: 'Concurrent calls',
    path: 'spec.maxConcurrency',
    most: 1_000_000,
    hint: 'How many calls with this key may be running, over all proxies.',
    of: (spec) => spec.maxConcurrency,
    patch: (maxConcurrency) => ({ maxConcurrency }),
  }),
  requestsPerMinute: rateField(
    'requestsPerMinute',
    'Requests per minute',
    'How many calls this key may make in any 60 seconds, over all proxies.',
  ),
  inputTokensPerMinute: rateField(
    'inputTokensPerMinute',
    'Input tokens per minute',
    'Without those that a provider reads from its cache.',
  ),
  outputTokensPerMinute: rateField(
    'outputTokensPerMinute',
    'Output tokens per minute',
    'A running call counts with its output limit.',
  ),
  keyType: field({
    label: 'Where the key comes from',
    path: 'spec.key.type',
    fixed: true,
    folded: true,
    initial: { keyType: 'Generated' },
    read: ({ text }) => ({ keyType: text('keyType') || 'Generated' }),
    of: ({ spec: { key } }) => ({ keyType: key.type }),
    copy: () => ({ keyType: 'Generated' }),
    text: ({ keyType }) => keyType,
    write: ({ keyType }) => chosen(KEY_TYPES, keyType, (type) => ({ key: { type } })),
    control: ({ keyType }, { label, errors }) =>
      choiceField({
        field: 'keyType',
        label,
        value: keyType,
        errors,
        choices: [
          {
            value: 'Generated',
            label: 'The gateway makes it',
            note: 'It is shown to you once, right afterwards, and kept in a Secret.',
          },
          {
            value: 'Provided',
            label: 'From a Secret that you make',
            note: html`In its entry <code>apiKey</code>; it begins with <code>sk-</code> and has at least 32 characters.`,
          },
        ],
      }),
  }),
  secret: field({
    label: 'Secret',
    path: 'spec.key.secretRef',
    fixed: true,
    folded: true,
    initial: { secret: '' },
    read: ({ text }) => ({ secret: text('secret') }),
    of: ({ spec: { key } }) => ({ secret: key.secretRef?.name ?? '' }),
    copy: () => ({ secret: '' }),
    text: ({ secret }) => secret,
    write: ({ secret }) => ({ patch: { key: { secretRef: secret === '' ? null : { name: secret } } } }),
    control: ({ secret }, view) =>
      textField({
        ...view,
        field: 'secret',
        value: secret,
        hint: "Empty: the key's name with -key added.",
        attributes: OBJECT_NAME,
        short: true,
      }),
  }),
};

export type KeyField = keyof typeof KEY_FIELDS;

type PartsOf<F> = F extends Field<infer Parts> ? (parts: Parts) => void : never;
/** Everything that can be typed, of all fields. */
export type KeyForm = PartsOf<(typeof KEY_FIELDS)[KeyField]> extends (parts: infer All) => void ? Readonly<All> : never;

/** A field among the others: it takes its own parts of a form, and gives no other. */
export interface KeyFieldRow extends Pick<
  Field<KeyForm>,
  'label' | 'path' | 'fixed' | 'folded' | 'within' | 'posts' | 'text' | 'write' | 'fact'
> {
  readonly field: KeyField;
  readonly initial: Partial<KeyForm>;
  readonly read: (posted: Posted) => Partial<KeyForm>;
  readonly of: (apiKey: ApiKey) => Partial<KeyForm>;
  readonly copy?: (apiKey: ApiKey) => Partial<KeyForm>;
  readonly faultOfNew?: (form: KeyForm, nowMs: number) => string | undefined;
  readonly control: Field<KeyForm>['control'];
}

/** The row of a field. */
export function keyField(field: KeyField): KeyFieldRow {
  return { field, ...KEY_FIELDS[field] };
}

/** The table as a list. */
export const KEY_ROWS: readonly KeyFieldRow[] = Object.keys(KEY_FIELDS).filter(isKeyField).map(keyField);

function isKeyField(name: string): name is KeyField {
  return name in KEY_FIELDS;
}

/** The fields that an edit can change, in the form's order. */
export const EDIT_ROWS: readonly KeyFieldRow[] = KEY_ROWS.filter(({ fixed }) => !fixed);

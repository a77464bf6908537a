/**
 * [P] Three-way merge of an edit form. The form carries the field values it was rendered with; when it comes back, a
 * field that its reader changed keeps that value, and every other field takes the object's current one. So no
 * concurrent change is overwritten unseen.
 */
import { parseJson } from '#crds/json.ts';
import type { ApiKey, ApiKeyQuota, NameRef } from '#crds/types.gen.ts';
import { countOf, formOfKey, limitOf, quotaOf, shorten, timeOfInput } from './api-key.ts';
import type { FormError, KeyForm, Parsed } from './api-key.ts';
import { eachRate, RATE_FIELDS, RATE_LABELS } from '../views/rate-limits.ts';
import type { RateField } from '../views/rate-limits.ts';

/** The parts of a key that can be edited, in the form's order. */
const EDIT_FIELDS = [
  'enabled',
  'group',
  'limit',
  'period',
  'timeZone',
  'whenShort',
  'expires',
  'models',
  'maxConcurrency',
  ...RATE_FIELDS,
] as const;
export type EditField = (typeof EDIT_FIELDS)[number];

interface EditRow {
  readonly label: string;
  /** Equal for equal meanings, so that two forms can be compared. */
  readonly text: (form: KeyForm) => string;
  /** The parts of a form that belong to this field. */
  readonly take: (form: KeyForm) => Partial<KeyForm>;
  /** The merge patch of the spec; null removes a field. */
  readonly patch: (form: KeyForm) => Parsed<SpecPatch>;
}

/** A merge patch of the spec, or a piece of one. */
interface SpecPatch {
  readonly enabled?: boolean;
  readonly groupRef?: NameRef;
  readonly quota?: Partial<ApiKeyQuota>;
  readonly expirationTime?: string | null;
  readonly models?: readonly string[] | null;
  readonly maxConcurrency?: number | null;
  /** Whole null: none of them is left. */
  readonly rateLimits?: Readonly<Partial<Record<RateField, number | null>>> | null;
}

const ANY_NUMBER = 'Any number';

export const EDIT_ROWS: Readonly<Record<EditField, EditRow>> = {
  enabled: {
    label: 'Enabled',
    text: ({ enabled }) => (enabled ? 'Yes' : 'No'),
    take: ({ enabled }) => ({ enabled }),
    patch: ({ enabled }) => ({ value: { enabled } }),
  },
  group: {
    label: 'Group',
    text: ({ group }) => group,
    take: ({ group }) => ({ group }),
    patch: ({ group }) => ({ value: { groupRef: { name: group } } }),
  },
  limit: {
    label: 'Quota',
    text: ({ limited, limitUsd }) => (limited ? limitUsd : 'Unlimited'),
    take: ({ limited, limitUsd }) => ({ limited, limitUsd }),
    patch: (form) => mapped(limitOf(form), (limitUsd) => ({ quota: { limitUsd } })),
  },
  period: {
    label: 'Period',
    text: ({ period }) => period,
    take: ({ period }) => ({ period }),
    patch: (form) => mapped(quotaOf(form), ({ period }) => ({ quota: { period } })),
  },
  timeZone: {
    label: 'Time zone',
    text: ({ timeZone }) => timeZone,
    take: ({ timeZone }) => ({ timeZone }),
    patch: (form) => mapped(quotaOf(form), ({ timeZone }) => ({ quota: { timeZone } })),
  },
  whenShort: {
    label: 'When too little is left',
    text: ({ whenShort }) => whenShort,
    take: ({ whenShort }) => ({ whenShort }),
    patch: (form) => mapped(quotaOf(form), ({ whenShort }) => ({ quota: { whenShort } })),
  },
  expires: {
    label: 'Expires',
    text: ({ expires }) => (expires === '' ? 'Never' : shorten(expires)),
    take: ({ expires }) => ({ expires }),
    patch: ({ expires }) => ({ value: { expirationTime: expires === '' ? null : timeOfInput(expires) } }),
  },
  models: {
    label: 'Models',
    text: ({ restricted, models }) => (restricted ? models.toSorted().join(', ') || 'None' : 'All of the group'),
    take: ({ restricted, models }) => ({ restricted, models }),
    patch: ({ restricted, models }) => ({ value: { models: restricted ? models : null } }),
  },
  maxConcurrency: {
    label: 'Concurrent calls',
    text: ({ maxConcurrency }) => maxConcurrency || ANY_NUMBER,
    take: ({ maxConcurrency }) => ({ maxConcurrency }),
    patch: (form) => mapped(countOf(form, 'maxConcurrency'), (value) => ({ maxConcurrency: value ?? null })),
  },
  ...eachRate(rateRow),
};

function rateRow(field: RateField): EditRow {
  return {
    label: RATE_LABELS[field],
    text: (form) => form[field] || ANY_NUMBER,
    take: (form): Partial<Record<RateField, string>> => ({ [field]: form[field] }),
    patch: (form) => mapped(countOf(form, field), (value) => ({ rateLimits: { [field]: value ?? null } })),
  };
}

/** The fields' texts as a form found them. */
type FieldTexts = Readonly<Partial<Record<EditField, string>>>;

export function textsOfForm(form: KeyForm): Readonly<Record<EditField, string>> {
  const text = (field: EditField): string => EDIT_ROWS[field].text(form);
  return {
    enabled: text('enabled'),
    group: text('group'),
    limit: text('limit'),
    period: text('period'),
    timeZone: text('timeZone'),
    whenShort: text('whenShort'),
    expires: text('expires'),
    models: text('models'),
    maxConcurrency: text('maxConcurrency'),
    ...eachRate(text),
  };
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
  const texts: Partial<Record<EditField, string>> = {};
  const parsed = parseJson(posted);
  if (typeof parsed !== 'object' || parsed === null) return texts;
  for (const [field, text] of Object.entries(parsed)) {
    const known = EDIT_FIELDS.find((each) => each === field);
    if (known && typeof text === 'string') texts[known] = text;
  }
  return texts;
}

/** A patch of only the fields that differ; undefined: none does. */
export function patchOfForm(typed: KeyForm, live: ApiKey): Parsed<SpecPatch | undefined> {
  const now = formOfKey(live);
  const parts = EDIT_FIELDS.filter((field) => EDIT_ROWS[field].text(typed) !== EDIT_ROWS[field].text(now)).map(
    (field) => EDIT_ROWS[field].patch(typed),
  );
  const errors = parts.flatMap((part): readonly FormError[] => part.errors ?? []);
  if (errors.length > 0) return { errors: distinct(errors) };
  const patches = parts.flatMap(({ value }) => value ?? []);
  if (patches.length === 0) return { value: undefined };
  const patch = patches.reduce(join);
  // an object without any of them would be refused
  const noRates = patch.rateLimits && RATE_FIELDS.every((field) => typed[field] === '');
  return { value: noRates ? { ...patch, rateLimits: null } : patch };
}

/** A field that somebody else has changed since the form went out. */
export interface ConcurrentChange {
  readonly field: EditField;
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

/** Applies what was typed to the object as it is now. */
export function mergeForms(base: FieldTexts, typed: KeyForm, live: KeyForm): Merged {
  let form = live;
  const others: ConcurrentChange[] = [];
  for (const field of EDIT_FIELDS) {
    const { text, take } = EDIT_ROWS[field];
    const [was, mine, now] = [base[field], text(typed), text(live)];
    const touched = mine !== was;
    if (touched) form = { ...form, ...take(typed) };
    if (now !== was && (was !== undefined || now !== mine))
      others.push({ field, was, now, typed: touched && mine !== now ? mine : undefined });
  }
  return { form, others };
}

function join(one: SpecPatch, other: SpecPatch): SpecPatch {
  const quota = { ...one.quota, ...other.quota };
  const rateLimits = { ...one.rateLimits, ...other.rateLimits };
  return {
    ...one,
    ...other,
    ...(Object.keys(quota).length > 0 && { quota }),
    ...(Object.keys(rateLimits).length > 0 && { rateLimits }),
  };
}

function mapped<T>(parsed: Parsed<T>, map: (value: T) => SpecPatch): Parsed<SpecPatch> {
  return parsed.errors ? parsed : { value: map(parsed.value) };
}

function distinct(errors: readonly FormError[]): FormError[] {
  return errors.filter(
    ({ field, message }, index) =>
      errors.findIndex((each) => each.field === field && each.message === message) === index,
  );
}

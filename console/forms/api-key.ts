/**
 * [P] Converts between the ApiKey form and the spec, and maps the API's refusals to form fields. A form keeps every
 * text as it was typed, so that it can come back with an error beside it; what only the API can validate is passed to
 * it unchanged.
 */
import type { ApiKey, ApiKeyQuota, ApiKeySpec } from '#crds/types.gen.ts';
import type { AccessError, ApiFieldError } from '../access/access.ts';
import { isTimeZone, UTC } from '#snapshot/time-zone.ts';
import { eachRate, RATE_FIELDS } from '../views/rate-limits.ts';
import type { RateField } from '../views/rate-limits.ts';

/** Everything that can be typed, under the names that the form's controls have. */
export interface KeyForm extends Readonly<Record<RateField, string>> {
  readonly namespace: string;
  readonly name: string;
  readonly group: string;
  readonly account: string;
  readonly enabled: boolean;
  readonly limited: boolean;
  readonly limitUsd: string;
  readonly period: string;
  readonly timeZone: string;
  readonly whenShort: string;
  /** As `<input type="datetime-local">` has it, in UTC: "2027-01-01T00:00"; empty: never. */
  readonly expires: string;
  readonly restricted: boolean;
  readonly models: readonly string[];
  readonly maxConcurrency: string;
  readonly keyType: string;
  readonly secret: string;
}

export type KeyField =
  | RateField
  | 'namespace'
  | 'name'
  | 'group'
  | 'account'
  | 'enabled'
  | 'limitUsd'
  | 'period'
  | 'timeZone'
  | 'whenShort'
  | 'expires'
  | 'models'
  | 'maxConcurrency'
  | 'keyType'
  | 'secret'
  | 'overlap'
  | 'confirm';

/** An error, with its field; without a field: of the whole form. */
export interface FormError {
  readonly field: KeyField | undefined;
  readonly message: string;
}

export type Parsed<T> =
  { readonly value: T; readonly errors?: never } | { readonly value?: never; readonly errors: readonly FormError[] };

/** Posted fields that come once for each ticked box. */
export const MODEL_BOXES = ['model'];
export const PERIODS = ['Never', 'Daily', 'Weekly', 'Monthly'] as const satisfies readonly ApiKeyQuota['period'][];
export const WHEN_SHORT = ['Lower', 'Refuse'] as const satisfies readonly ApiKeyQuota['whenShort'][];
const KEY_TYPES = ['Generated', 'Provided'] as const satisfies readonly ApiKeySpec['key']['type'][];
export const UNLIMITED = 'Unlimited';
/** The API's default: the form does not ask for it, and an edit leaves it as it is. */
const DEFAULT_MIN_OUTPUT_TOKENS = 16;

/** A new key's form, before anything is typed. */
export function newKeyForm(namespace: string): KeyForm {
  return {
    namespace,
    name: '',
    group: '',
    account: '',
    enabled: true,
    limited: false,
    limitUsd: '',
    period: 'Never',
    timeZone: UTC,
    whenShort: 'Lower',
    expires: '',
    restricted: false,
    models: [],
    maxConcurrency: '',
    ...eachRate(() => ''),
    keyType: 'Generated',
    secret: '',
  };
}

/** The form of a key as it is. */
export function formOfKey({ metadata, spec }: ApiKey): KeyForm {
  const limited = spec.quota.limitUsd !== UNLIMITED;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    group: spec.groupRef.name,
    account: spec.accountRef.name,
    enabled: spec.enabled,
    limited,
    limitUsd: limited ? spec.quota.limitUsd : '',
    period: spec.quota.period,
    timeZone: spec.quota.timeZone,
    whenShort: spec.quota.whenShort,
    expires: spec.expirationTime === undefined ? '' : utcInput(spec.expirationTime),
    restricted: spec.models !== undefined,
    models: spec.models ?? [],
    maxConcurrency: String(spec.maxConcurrency ?? ''),
    ...eachRate((field) => String(spec.rateLimits?.[field] ?? '')),
    keyType: spec.key.type,
    secret: spec.key.secretRef?.name ?? '',
  };
}

/** The form of another key with the same settings; its text is always a new one. */
export function copyOfKey(apiKey: ApiKey): KeyForm {
  return { ...formOfKey(apiKey), name: `${apiKey.metadata.name}-copy`, keyType: 'Generated', secret: '' };
}

/** Reads what was posted. Missing controls count as empty; unknown ones are ignored. */
export function readKeyForm(posted: URLSearchParams): KeyForm {
  const text = (name: string): string => (posted.get(name) ?? '').trim();
  // "namespace/name" where the list has accounts of several namespaces
  const [, namespace = text('namespace'), account = text('account')] = /^([^/]*)\/(.*)$/.exec(text('account')) ?? [];
  return {
    namespace,
    name: text('name'),
    group: text('group'),
    account,
    enabled: text('enabled') === 'true',
    limited: text('quota') === 'Limited',
    limitUsd: text('limitUsd'),
    period: text('period'),
    timeZone: text('timeZone').trim() || UTC,
    whenShort: text('whenShort'),
    expires: text('expires'),
    restricted: text('allowed') === 'Some',
    models: readModels(posted),
    maxConcurrency: text('maxConcurrency'),
    ...eachRate(text),
    keyType: text('keyType') || 'Generated',
    secret: text('secret'),
  };
}

/** The ticked models, and those in the text area, one per line. */
function readModels(posted: URLSearchParams): string[] {
  const lines = [...posted.getAll('model'), ...posted.getAll('models').flatMap((text) => text.split('\n'))];
  return [...new Set(lines.map((line) => line.trim()).filter((line) => line !== ''))];
}

/** "My CI Bot" → "my-ci-bot": the name that an object can have; empty if nothing of it can be kept. */
export function nameOf(typed: string): string {
  const plain = typed.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return plain
    .replace(/[^a-z0-9.]+/g, '-')
    .slice(0, MAX_NAME_LENGTH)
    .replace(/^[-.]+|[-.]+$/g, '');
}

const MAX_NAME_LENGTH = 63;

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
  const own = [...missingOf(form), ...(specOfForm(form, gatewayNamespace).errors ?? [])];
  if (form.expires !== '' && Date.parse(timeOfInput(form.expires)) <= nowMs)
    own.push({ field: 'expires', message: 'This moment has passed: the key would be refused from the beginning.' });
  const { value } = specOfForm(withoutFaults(form, own), gatewayNamespace);
  const faulty = new Set(own.map(({ field }) => field));
  return [...own, ...(value ? refused(value) : []).filter(({ field }) => field === undefined || !faulty.has(field))];
}

function missingOf({ name, account, group }: KeyForm): FormError[] {
  return [
    ...(name === '' ? [{ field: 'name', message: 'Enter a name, such as ci-bot.' } as const] : []),
    ...(account === '' ? [{ field: 'account', message: 'Choose the account that pays for the calls.' } as const] : []),
    ...(group === '' ? [{ field: 'group', message: 'Choose a group.' } as const] : []),
  ];
}

/** The form with its faulty fields replaced by valid values, so that the rest can be checked. */
export function withoutFaults(form: KeyForm, faults: readonly FormError[]): KeyForm {
  const has = (field: KeyField): boolean => faults.some((each) => each.field === field);
  return {
    ...form,
    ...(has('limitUsd') && { limited: false }),
    ...(has('period') && { period: 'Never' }),
    ...(has('timeZone') && { timeZone: UTC }),
    ...(has('whenShort') && { whenShort: 'Lower' }),
    ...(has('maxConcurrency') && { maxConcurrency: '' }),
    ...eachRate((field) => (has(field) ? '' : form[field])),
    ...(has('keyType') && { keyType: 'Generated' }),
  };
}

/** A new ApiKey's spec. */
export function specOfForm(form: KeyForm, gatewayNamespace: string): Parsed<ApiKeySpec> {
  const limit = limitOf(form);
  const quota = quotaOf(form);
  const callLimits = callLimitsOf(form);
  const type = chosen(KEY_TYPES, form.keyType, 'keyType');
  const errors = [limit, quota, callLimits, type].flatMap((part) => part.errors ?? []);
  if (limit.errors || quota.errors || callLimits.errors || type.errors) return { errors };
  return {
    value: {
      gatewayNamespace,
      enabled: form.enabled,
      groupRef: { name: form.group },
      accountRef: { name: form.account },
      quota: { limitUsd: limit.value, ...quota.value, minOutputTokens: DEFAULT_MIN_OUTPUT_TOKENS },
      ...(form.expires === '' ? {} : { expirationTime: timeOfInput(form.expires) }),
      ...(form.restricted ? { models: form.models } : {}),
      ...callLimits.value,
      key: {
        type: type.value,
        rotation: 1,
        overlapSeconds: 0,
        ...(form.secret === '' ? {} : { secretRef: { name: form.secret } }),
      },
    },
  };
}

/** The limit as the spec has it. */
export function limitOf({ limited, limitUsd }: KeyForm): Parsed<string> {
  if (!limited) return { value: UNLIMITED };
  if (limitUsd === '') return fault('limitUsd', 'Type an amount in US dollars, or choose Unlimited.');
  return { value: limitUsd };
}

/** Period and whenShort: only what the lists offer; a time zone that there is. */
export function quotaOf(form: KeyForm): Parsed<Pick<ApiKeyQuota, 'period' | 'timeZone' | 'whenShort'>> {
  const period = chosen(PERIODS, form.period, 'period');
  const whenShort = chosen(WHEN_SHORT, form.whenShort, 'whenShort');
  if (period.errors) return period;
  if (whenShort.errors) return whenShort;
  const { timeZone } = form;
  if (!isTimeZone(timeZone)) return fault('timeZone', 'Type the name of a time zone, such as Europe/Berlin or UTC.');
  return { value: { period: period.value, timeZone, whenShort: whenShort.value } };
}

/** The key's limits on calls in flight and on use per minute; a field that is left empty sets no limit. */
function callLimitsOf(form: KeyForm): Parsed<Pick<ApiKeySpec, 'maxConcurrency' | 'rateLimits'>> {
  const concurrency = countOf(form, 'maxConcurrency');
  const rates = RATE_FIELDS.map((field) => ({ field, ...countOf(form, field) }));
  const errors = [concurrency, ...rates].flatMap((part) => part.errors ?? []);
  if (errors.length > 0) return { errors };
  const stated = rates.flatMap(({ field, value }) => (value === undefined ? [] : [[field, value] as const]));
  return {
    value: {
      ...(concurrency.value !== undefined && { maxConcurrency: concurrency.value }),
      ...(stated.length > 0 && { rateLimits: Object.fromEntries(stated) }),
    },
  };
}

/** undefined: any number. */
export function countOf(form: KeyForm, field: 'maxConcurrency' | RateField): Parsed<number | undefined> {
  const text = form[field];
  if (text === '') return { value: undefined };
  if (!/^-?\d{1,15}$/.test(text)) return fault(field, 'Type a whole number, or leave it empty for any number.');
  return { value: Number(text) };
}

function chosen<const T extends string>(choices: readonly T[], text: string, field: KeyField): Parsed<T> {
  const choice = choices.find((each) => each === text);
  return choice === undefined ? fault(field, `Choose one of ${choices.join(', ')}.`) : { value: choice };
}

function fault(field: KeyField, message: string): { readonly errors: readonly FormError[] } {
  return { errors: [{ field, message }] };
}

/** A time as the control shows it: in UTC, and no finer than necessary. Other text is returned unchanged. */
export function utcInput(time: string): string {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? time : shorten(new Date(ms).toISOString().slice(0, -1));
}

/** Without seconds where there are none: browsers leave them out. */
export function shorten(input: string): string {
  return input
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
    .replace(/^(.*T\d{2}:\d{2}):00$/, '$1');
}

/** The control's text as an API time. The API validates anything else. */
export function timeOfInput(input: string): string {
  if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/.test(input)) return `${input}:00Z`;
  return /T[\d:.]+$/.test(input) ? `${input}Z` : input;
}

/** The form's controls, by the API's paths. */
const FIELD_PATHS: readonly (readonly [string, KeyField])[] = [
  ['metadata.name', 'name'],
  ['metadata.namespace', 'namespace'],
  ['spec.groupRef', 'group'],
  ['spec.accountRef', 'account'],
  ['spec.enabled', 'enabled'],
  ['spec.quota.limitUsd', 'limitUsd'],
  ['spec.quota.period', 'period'],
  ['spec.quota.timeZone', 'timeZone'],
  ['spec.quota.whenShort', 'whenShort'],
  ['spec.expirationTime', 'expires'],
  ['spec.models', 'models'],
  ['spec.maxConcurrency', 'maxConcurrency'],
  ...RATE_FIELDS.map((field) => [`spec.rateLimits.${field}`, field] as const),
  ['spec.key.type', 'keyType'],
  ['spec.key.secretRef', 'secret'],
  ['spec.key.overlapSeconds', 'overlap'],
];

/** A refusal as form errors: each at its field, in the API's words; the others at the top. */
export function errorsOfRefusal(error: AccessError, present: readonly KeyField[]): FormError[] {
  if (error.fields.length === 0)
    return [
      {
        field: error.reason === 'AlreadyExists' && present.includes('name') ? 'name' : undefined,
        message: error.message,
      },
    ];
  return errorsOfFields(error.fields, present);
}

/** Faults by the API's paths as form errors. */
export function errorsOfFields(fields: readonly ApiFieldError[], present: readonly KeyField[]): FormError[] {
  return fields.map(({ path, message }) => {
    const field = controlOf(path);
    if (field !== undefined && present.includes(field)) return { field, message };
    return { field: undefined, message: path === '' || message.startsWith(path) ? message : `${path}: ${message}` };
  });
}

function controlOf(path: string): KeyField | undefined {
  return FIELD_PATHS.find(
    ([place]) => path === place || (path.startsWith(place) && '.['.includes(path.charAt(place.length))),
  )?.[1];
}

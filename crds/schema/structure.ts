/**
 * [P] Checks types, bounds, patterns and formats of a schema with ajv, and reports errors with an API server's
 * messages.
 */
import { Ajv } from 'ajv';
import type { ErrorObject } from 'ajv';
import { fieldError, type FieldError, type FieldPath, type PathSegment } from './field-path.ts';
import { isJsonObject, jsonTypeName, redactedJson, type Json } from './json.ts';
import type { SchemaNode } from './kind-schema.ts';

/** Checks values by one schema. */
export type StructureCheck = (value: Json) => FieldError[];

/** The formats that these schemas use; true: the minimum and maximum are enough. */
const FORMATS = { 'date-time': isDateTime, int32: true, int64: true } as const;
/**
 * Not strict, because schemas contain keywords of Kubernetes (x-kubernetes-…). Verbose, so that errors contain the
 * invalid value. The definitions are part of this program and need no check; each start compiles them, which ajv's
 * optimizer would slow down to half.
 */
const ajv = new Ajv({
  allErrors: true,
  strict: false,
  messages: false,
  verbose: true,
  formats: FORMATS,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
});

/** Compiles the check of a kind's schema. This takes milliseconds, so do it once. */
export function compileStructure(root: SchemaNode): StructureCheck {
  const validate = ajv.compile(root);
  return (value) => {
    validate(value);
    return withoutRepeats(validate.errors ?? []).map((error) => toFieldError(error, root));
  };
}

/** A time in another format violates the pattern of its field too. */
function withoutRepeats(errors: readonly ErrorObject[]): ErrorObject[] {
  const badFormats = new Set(errors.filter(({ keyword }) => keyword === 'format').map((error) => error.instancePath));
  return errors.filter(({ keyword, instancePath }) => keyword !== 'pattern' || !badFormats.has(instancePath));
}

function toFieldError(error: ErrorObject, root: SchemaNode): FieldError {
  const { instancePath, keyword, params } = error;
  const at = segmentsOf(instancePath, root);
  const field = keyword === 'required' ? [...at, String(params['missingProperty'])] : at;
  const say = MESSAGES[keyword];
  const message = say ? say(error, fieldError(field, '').path) : 'Invalid value';
  return fieldError(field, message, BLOCKING.has(keyword));
}

/** Errors of the value's form, after which its rules cannot be evaluated. */
const BLOCKING: ReadonlySet<string> = new Set([
  'required',
  'type',
  'enum',
  'format',
  'pattern',
  'maxLength',
  'maxItems',
  'maxProperties',
]);

const MESSAGES: Readonly<Record<string, (error: ErrorObject, path: string) => string>> = {
  required: () => 'Required value',
  type: typeMessage,
  enum: ({ data, params }) =>
    `Unsupported value: ${redactedJson(data)}: supported values: ${quotedList(params['allowedValues'])}`,
  maxLength: ({ params }) => `Too long: may not be more than ${params['limit']} bytes`,
  maxItems: ({ data, params }) => `Too many: ${sizeOf(data)}: must have at most ${params['limit']} items`,
  maxProperties: ({ data, params }) => `Too many: ${sizeOf(data)}: must have at most ${params['limit']} items`,
  minLength: (error, path) => invalid(error, `${path} in body should be at least ${error.params['limit']} chars long`),
  minItems: ({ data, params }, path) =>
    `Invalid value: ${sizeOf(data)}: ${path} in body should have at least ${params['limit']} items`,
  minimum: (error, path) =>
    invalid(error, `${path} in body should be greater than or equal to ${error.params['limit']}`),
  maximum: (error, path) => invalid(error, `${path} in body should be less than or equal to ${error.params['limit']}`),
  pattern: (error) => invalid(error, patternWords(String(error.params['pattern'])) ?? 'the field has another format'),
  format: (error, path) =>
    invalid(error, error.params['format'] === 'date-time' ? DATE_TIME : `${path} must be an ${error.params['format']}`),
};

const DATE_TIME = 'must be a time such as 2027-01-01T00:00:00Z';
/** What each pattern of the definitions means. An API server prints the pattern itself. */
const PATTERN_WORDS: readonly (readonly [pattern: string, words: string])[] = [
  ['^[0-9]{4}-[0-9]{2}-[0-9]{2}T', DATE_TIME],
  ['^[0-9]{1,10}([.]', 'must be a number such as "1.25", with at most 10 digits before the point and 9 after it'],
  ['^([0-8]?[0-9]{1,9}([.]', 'must be an amount in USD such as "1.25", at most 9000000000, with at most 9 decimals'],
];

/** What a pattern demands, in words; undefined for one that only statuses have. */
export function patternWords(pattern: string): string | undefined {
  return PATTERN_WORDS.find(([start]) => pattern.startsWith(start))?.[1];
}

function quotedList(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ');
}

function sizeOf(data: unknown): number {
  if (Array.isArray(data)) return data.length;
  return isJsonObject(data) ? Object.keys(data).length : 0;
}

function invalid(error: ErrorObject, text: string): string {
  return `Invalid value: ${redactedJson(error.data)}: ${text}`;
}

function typeMessage(error: ErrorObject, path: string): string {
  const found = JSON.stringify(jsonTypeName(error.data));
  const wanted = String(error.params['type']);
  const unquoted = wanted === 'string' && (typeof error.data === 'number' || typeof error.data === 'boolean');
  const advice = unquoted ? '; put the value in quotes' : '';
  return `Invalid value: ${found}: ${path} in body must be of type ${wanted}: ${found}${advice}`;
}

/** Converts ajv's JSON pointer to a path; the schema tells which parts are indexes. */
function segmentsOf(pointer: string, root: SchemaNode): FieldPath {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  let node: SchemaNode | undefined = root;
  return parts.map((part): PathSegment => {
    const isIndex: boolean = node?.type === 'array';
    node = isIndex ? node?.items : (node?.properties?.[part] ?? node?.additionalProperties);
    return isIndex ? Number(part) : part;
  });
}

/**
 * True if a text is a date and a time in Kubernetes' format date-time: a calendar day, "T" in either case, hours to 23,
 * minutes and seconds to 59, any character before the fraction, "Z" or an offset; what follows a second "t" is ignored.
 */
function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t');
  const clock = /^(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)$/.exec(time);
  if (!clock || !isCalendarDay(date)) return false;
  const [, hours = '', minutes = '', seconds = ''] = clock;
  return hours <= '23' && minutes <= '59' && seconds <= '59';
}

function isCalendarDay(date: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) return false;
  const parsed = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(date);
}

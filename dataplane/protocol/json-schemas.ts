/**
 * Adapts JSON schemas to what a provider accepts. A keyword that it would refuse becomes part of the description, where
 * the model still reads it.
 */
import { isRecord, itemsOf, recordOf, stringOf } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { writeJson } from './json-value.ts';

/** Neither API allows these at the root of a tool's schema. */
const NOT_AT_ROOT = ['anyOf', 'oneOf', 'allOf', 'enum', 'not'] as const;

/**
 * The schema of a tool's input as both APIs require it: an object with properties. Alternatives at the root become part
 * of the description, because neither API allows them there.
 */
export function toolSchema(schema: unknown): JsonRecord {
  const given = recordOf(schema);
  const refused = NOT_AT_ROOT.filter((keyword) => keyword in given);
  const kept = refused.length === 0 ? given : describeKeywords(given, refused);
  return { ...kept, type: 'object', properties: recordOf(kept['properties']) };
}

/** Asks a model for an answer that it cannot be held to. */
export function askForJson(schema?: JsonRecord): string {
  const object = 'Answer with one valid JSON object and nothing else: no explanation, no code fence.';
  return schema ? `${object} It must match this JSON schema:\n${writeJson(schema)}` : object;
}

const ANTHROPIC_FORMATS: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);
const ANTHROPIC_KEYWORDS: ReadonlySet<string> = new Set([
  'type',
  'enum',
  'const',
  'title',
  'description',
  'properties',
  'required',
  'items',
  'anyOf',
  'allOf',
  '$defs',
  'definitions',
  '$ref',
  'default',
]);

/** A schema to which Anthropic's API holds an answer or a strict tool. It allows no additional properties. */
export function anthropicSchema(schema: JsonRecord): JsonRecord {
  const { $schema: _dialect, ...given } = schema;
  const { oneOf, ...rest } = given;
  const alternatives = oneOf === undefined || rest['anyOf'] !== undefined ? given : { ...rest, anyOf: oneOf };
  const open = alternatives['additionalProperties'];
  const refused = Object.keys(alternatives).filter((keyword) => !isAnthropicKeyword(keyword, alternatives[keyword]));
  const kept = mapSubschemas(describeKeywords(alternatives, refused), anthropicSchema);
  return isObjectSchema(kept) || open !== undefined ? { ...kept, additionalProperties: false } : kept;
}

function isAnthropicKeyword(keyword: string, value: unknown): boolean {
  if (keyword === 'format') return ANTHROPIC_FORMATS.has(value);
  // a lossless number is not a number
  if (keyword === 'minItems') return ['0', '1'].includes(writeJson(value));
  return keyword === 'additionalProperties' ? value === false : ANTHROPIC_KEYWORDS.has(keyword);
}

/** OpenAI's strict mode refuses these keywords. */
const OPENAI_REFUSED: ReadonlySet<string> = new Set([
  'minLength',
  'maxLength',
  'uniqueItems',
  'default',
  'examples',
  'contains',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
  'propertyNames',
  'contentEncoding',
  'contentMediaType',
]);
/** With one of these keywords a schema means something else than without it, so that it cannot be strict. */
const OPENAI_NEVER_STRICT: readonly string[] = [
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'patternProperties',
  'dependentRequired',
  'dependentSchemas',
  'prefixItems',
  'unevaluatedProperties',
  'unevaluatedItems',
];

/**
 * A schema to which OpenAI's strict mode holds an answer or a tool call; undefined: the schema does not meet its rules,
 * by which every object requires all of its properties and allows no others.
 */
export function openAiStrictSchema(schema: JsonRecord): JsonRecord | undefined {
  return schema['type'] === 'object' && schema['anyOf'] === undefined && isStrict(schema)
    ? describeOpenAi(schema)
    : undefined;
}

function isStrict(schema: JsonRecord): boolean {
  if (OPENAI_NEVER_STRICT.some((keyword) => keyword in schema)) return false;
  if (schema['type'] === 'array' && !isRecord(schema['items'])) return false;
  return (!isObjectSchema(schema) || isClosedObject(schema)) && subschemasOf(schema).every(isStrict);
}

function isClosedObject({ properties, required, additionalProperties }: JsonRecord): boolean {
  const names = new Set(itemsOf(required));
  return additionalProperties === false && Object.keys(recordOf(properties)).every((name) => names.has(name));
}

function describeOpenAi(schema: JsonRecord): JsonRecord {
  const { oneOf, ...rest } = schema;
  const given = oneOf === undefined || rest['anyOf'] !== undefined ? schema : { ...rest, anyOf: oneOf };
  const refused = Object.keys(given).filter((keyword) => OPENAI_REFUSED.has(keyword));
  return mapSubschemas(describeKeywords(given, refused), describeOpenAi);
}

function isObjectSchema({ type, properties }: JsonRecord): boolean {
  return type === 'object' || itemsOf(type).includes('object') || (type === undefined && isRecord(properties));
}

/** Takes keywords out of a schema and writes them at the end of its description. */
function describeKeywords(schema: JsonRecord, keywords: readonly string[]): JsonRecord {
  if (keywords.length === 0) return schema;
  const kept = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.includes(keyword)));
  const text = `{${keywords.map((keyword) => `${keyword}: ${writeJson(schema[keyword])}`).join(', ')}}`;
  const description = stringOf(schema['description']);
  return { ...kept, description: description === '' ? text : `${description}\n\n${text}` };
}

/** Keywords whose members are schemas by name, and those that hold a list of schemas. */
const BY_NAME: readonly string[] = ['properties', '$defs', 'definitions'];
const LISTS: readonly string[] = ['anyOf', 'oneOf', 'allOf'];

function subschemasOf(schema: JsonRecord): readonly JsonRecord[] {
  const named = BY_NAME.flatMap((keyword) => (isRecord(schema[keyword]) ? Object.values(schema[keyword]) : []));
  return [...named, ...LISTS.flatMap((keyword) => itemsOf(schema[keyword])), schema['items']].filter(isRecord);
}

function mapSubschemas(schema: JsonRecord, map: (schema: JsonRecord) => JsonRecord): JsonRecord {
  const mapOne = (value: unknown): unknown => (isRecord(value) ? map(value) : value);
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (BY_NAME.includes(keyword) && isRecord(value))
        return [keyword, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapOne(inner)]))];
      if (LISTS.includes(keyword) && Array.isArray(value)) return [keyword, value.map(mapOne)];
      return [keyword, keyword === 'items' ? mapOne(value) : value];
    }),
  );
}

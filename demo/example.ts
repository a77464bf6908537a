/** Makes values that match a JSON schema, for tool calls and structured output. */
import { isObject } from './prompt.ts';
import type { Json } from './prompt.ts';

/** Schemas may be recursive; below this depth optional properties are left out. */
const MOST_DEPTH = 6;
const MOST_ITEMS = 100;
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  duration: 'PT1H',
  email: 'demo@example.com',
  hostname: 'example.com',
  uri: 'https://example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/** A value that matches a schema, except for patterns and conditions. */
export function exampleOf(schema: unknown, name = ''): unknown {
  return exampleAt({ schema, name, root: schema, depth: 0 });
}

interface Position {
  readonly schema: unknown;
  readonly name: string;
  readonly root: unknown;
  readonly depth: number;
}

function exampleAt(position: Position): unknown {
  const { schema: given, root, depth } = position;
  if (!isObject(given) || depth > 2 * MOST_DEPTH) return {};
  const schema = resolve(given, root);
  if ('const' in schema) return schema['const'];
  const [choice] = listIn(schema['enum']);
  if (choice !== undefined) return choice;
  const alternatives = [...listIn(schema['anyOf']), ...listIn(schema['oneOf'])];
  const simplest = depth > MOST_DEPTH ? alternatives.at(-1) : alternatives[0];
  if (simplest !== undefined) return exampleAt({ ...position, schema: simplest, depth: depth + 1 });
  const merged = listIn(schema['allOf'])
    .filter(isObject)
    .map((part) => resolve(part, root))
    .reduce<Json>(mergeObjects, schema);
  return plainExample({ ...position, schema: merged }, merged);
}

function plainExample(position: Position, given: Json): unknown {
  const schema = { ...describedBounds(given['description']), ...given };
  switch (typeOf(schema)) {
    case 'string':
      return textExample(schema, position.name);
    case 'number':
    case 'integer':
      return numberExample(schema);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return Array.from({ length: Math.min(countIn(schema['minItems'], 0), MOST_ITEMS) }, () =>
        exampleAt({ ...position, schema: schema['items'], depth: position.depth + 1 }),
      );
    default:
      return objectExample(position, schema);
  }
}

/** Reads bounds from a description, where SDKs write keywords that an API refuses: `{minimum: 18}`. */
function describedBounds(description: unknown): Json {
  const text = typeof description === 'string' ? description : '';
  const bounds = text.matchAll(/\b(minimum|maximum|exclusiveMinimum|minLength|maxLength|minItems): (-?\d+)/g);
  return Object.fromEntries(Array.from(bounds, ([, keyword = '', value]) => [keyword, Number(value)]));
}

function objectExample(position: Position, schema: Json): Json {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = listIn(schema['required']);
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => position.depth <= MOST_DEPTH || required.includes(name))
      .map(([name, inner]) => [name, exampleAt({ ...position, schema: inner, name, depth: position.depth + 1 })]),
  );
}

function textExample(schema: Json, name: string): string {
  const { format } = schema;
  if (typeof format === 'string' && FORMATS[format] !== undefined) return FORMATS[format];
  const text = /city|location|place/i.test(name) ? 'Paris' : 'example';
  const longEnough = text.padEnd(countIn(schema['minLength'], 0), '.');
  return longEnough.slice(0, countIn(schema['maxLength'], longEnough.length));
}

function numberExample(schema: Json): number {
  const above = Number(schema['exclusiveMinimum'] ?? Number.NEGATIVE_INFINITY);
  const least = Math.max(Number(schema['minimum'] ?? Number.NEGATIVE_INFINITY), above + 1);
  return Math.min(Math.max(1, least), Number(schema['maximum'] ?? Number.POSITIVE_INFINITY));
}

/** Follows references such as `#/$defs/city`. */
function resolve(schema: Json, root: unknown, hops = 0): Json {
  const { $ref: reference } = schema;
  if (typeof reference !== 'string' || !reference.startsWith('#') || hops > MOST_DEPTH) return schema;
  const found = reference
    .slice(1)
    .split('/')
    .filter((step) => step !== '')
    .reduce<unknown>(
      (value, step) => (isObject(value) ? value[step.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
      root,
    );
  return isObject(found) ? resolve(found, root, hops + 1) : {};
}

function mergeObjects(one: Json, other: Json): Json {
  const properties = { ...objectIn(one['properties']), ...objectIn(other['properties']) };
  return { ...one, ...other, properties, required: [...listIn(one['required']), ...listIn(other['required'])] };
}

function objectIn(value: unknown): Json {
  return isObject(value) ? value : {};
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function countIn(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

function typeOf(schema: Json): string {
  const type: unknown = Array.isArray(schema['type']) ? schema['type'][0] : schema['type'];
  if (typeof type === 'string') return type;
  return 'items' in schema ? 'array' : 'object';
}

/** [P] Form fields generated from a schema: made from a value, and parsed from what was posted. */
import { isDeepStrictEqual } from 'node:util';
import { formatPath } from '#crds/field-path.ts';
import type { FieldPath } from '#crds/field-path.ts';
import { isJsonObject, itemsOf } from '#crds/json.ts';
import type { Json, JsonObject } from '#crds/json.ts';
import type { SchemaNode } from '#crds/kind-schema.ts';
import { withPath } from '../../components/field.ts';
import type { FieldFault } from '../../components/field.ts';

interface Common {
  /** The posted name: the path as errors of the API have it, "spec.models[0].name". */
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly required: boolean;
  /** Whether the object says something else of it than the schema's default. */
  readonly isSet: boolean;
}

/** An object with fields of its own. */
export interface ObjectField extends Common {
  readonly kind: 'Object';
  readonly fields: readonly SchemaField[];
  /** {} is a value: a selector of everything. */
  readonly mayBeEmpty: boolean;
}

export type SchemaField =
  | ObjectField
  | (Common &
      (
        | { readonly kind: 'Text'; readonly value: string; readonly isNumber: boolean }
        | {
            readonly kind: 'Choice';
            readonly value: string;
            readonly options: readonly string[];
            readonly byDefault: string;
          }
        | { readonly kind: 'Set'; readonly values: readonly string[]; readonly options: readonly string[] }
        /** A list of texts, or a map as "name=value": one per line. */
        | { readonly kind: 'Lines'; readonly value: string; readonly isMap: boolean }
        | { readonly kind: 'List'; readonly items: readonly ObjectField[]; readonly itemLabel: string }
      ));

interface Place {
  readonly path: FieldPath;
  readonly label: string;
  readonly required: boolean;
}

/** The fields of an object of this schema, with all fields below them. */
export function fieldsOf(
  { properties = {}, required = [] }: SchemaNode,
  value: Json | undefined,
  path: FieldPath,
): SchemaField[] {
  const object = isJsonObject(value) ? value : {};
  return Object.entries(properties).map(([name, node]) =>
    fieldOf(node, object[name], { path: [...path, name], label: labelOf(name), required: required.includes(name) }),
  );
}

function fieldOf(node: SchemaNode, value: Json | undefined, place: Place): SchemaField {
  if (node.type === 'object' && node.properties) return objectFieldOf(node, value, place);
  const common = commonOf(node, value, place);
  if (node.type === 'object') return { ...common, kind: 'Lines', value: linesOfMap(value), isMap: true };
  if (node.type === 'array') return { ...common, ...listFieldOf(node, value, place) };
  const options = node.type === 'boolean' ? BOOLEANS : node.enum;
  return options
    ? { ...common, kind: 'Choice', value: textOf(value), options, byDefault: textOf(node.default) }
    : { ...common, kind: 'Text', value: textOf(value), isNumber: node.type === 'integer' };
}

function commonOf(node: SchemaNode, value: Json | undefined, { path, label, required }: Place): Common {
  const isSet = value !== undefined && !isDeepStrictEqual(value, node.default);
  return { name: formatPath(path), label, hint: node.description ?? '', required, isSet };
}

function objectFieldOf(node: SchemaNode, value: Json | undefined, place: Place): ObjectField {
  const fields = fieldsOf(node, value, place.path);
  const mayBeEmpty = String(place.path.at(-1)).toLowerCase().endsWith('selector');
  const isSet = value !== undefined && (mayBeEmpty || fields.some((field) => field.isSet));
  return { ...commonOf(node, value, place), isSet, kind: 'Object', fields, mayBeEmpty };
}

type ListField = Extract<SchemaField, { readonly kind: 'Set' | 'Lines' | 'List' }>;

function listFieldOf(
  node: SchemaNode,
  value: Json | undefined,
  { path, label }: Pick<Place, 'path' | 'label'>,
): DistributiveOmit<ListField, keyof Common> {
  const { items } = node;
  const list = itemsOf(value ?? node.default);
  if (items?.enum) return { kind: 'Set', values: list.map(textOf), options: items.enum };
  if (items?.type !== 'object') return { kind: 'Lines', value: list.map(textOf).join('\n'), isMap: false };
  const itemLabel = singular(label);
  const fields = list.map((item, index) =>
    objectFieldOf(items, item, { path: [...path, index], label: `${itemLabel} ${index + 1}`, required: true }),
  );
  return { kind: 'List', items: fields, itemLabel };
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

const BOOLEANS = ['true', 'false'];

/** Parses what was posted of a value; undefined: nothing was typed. A text in place of a number stays a text. */
export function readValue(node: SchemaNode, path: FieldPath, posted: Posted): Json | undefined {
  const name = formatPath(path);
  if (node.type === 'array') return readList(node, path, posted);
  if (node.type !== 'object') return scalarOf(node, posted.get(name) ?? '');
  return node.properties ? readObject(node, path, posted) : mapOfLines(posted.get(name));
}

function readList(node: SchemaNode, path: FieldPath, posted: Posted): Json | undefined {
  const name = formatPath(path);
  const { items } = node;
  if (!items) return undefined;
  const list = items.enum
    ? items.enum.filter((option) => posted.has(optionName(name, option)))
    : items.type === 'object'
      ? indexesOf(name, posted).map((index) => readObject(items, [...path, index], posted) ?? {})
      : lines(posted.get(name)).map((line) => scalarOf(items, line) ?? line);
  // a set without a choice is an error where the schema has a default that would take its place
  return list.length === 0 && !(items.enum && itemsOf(node.default).length > 0) ? undefined : list;
}

/** What was posted, by name. */
export type Posted = ReadonlyMap<string, string>;

/** The name of a checkbox. */
export function optionName(name: string, option: string): string {
  return `${name}{${option}}`;
}

/** The name of the mark that an object is there although nothing in it is. */
export function presenceName(name: string): string {
  return `${name}{}`;
}

function readObject({ properties = {} }: SchemaNode, path: FieldPath, posted: Posted): JsonObject | undefined {
  const entries = Object.entries(properties).flatMap(([name, node]): [string, Json][] => {
    const value = readValue(node, [...path, name], posted);
    return value === undefined ? [] : [[name, value]];
  });
  return entries.length > 0 || posted.has(presenceName(formatPath(path))) ? Object.fromEntries(entries) : undefined;
}

/** The indexes of a list's items in order, without gaps that removed items leave. */
function indexesOf(name: string, posted: Posted): number[] {
  const found = new Set<number>();
  for (const each of posted.keys()) {
    if (!each.startsWith(`${name}[`)) continue;
    const end = each.indexOf(']', name.length);
    const index = Number(each.slice(name.length + 1, end));
    if (Number.isInteger(index)) found.add(index);
  }
  return [...found].sort((a, b) => a - b);
}

function scalarOf({ type }: SchemaNode, text: string): Json | undefined {
  const value = text.trim();
  if (value === '') return undefined;
  if (type === 'integer' && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (type === 'boolean' && BOOLEANS.includes(value)) return value === 'true';
  return value;
}

function mapOfLines(text: string | undefined): JsonObject | undefined {
  const entries = lines(text).map((line): [string, Json] => {
    const at = line.indexOf('=');
    return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function linesOfMap(value: Json | undefined): string {
  return isJsonObject(value)
    ? Object.entries(value)
        .map(([key, each]) => `${key}=${textOf(each)}`)
        .join('\n')
    : '';
}

function lines(text = ''): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const WORDS: Readonly<Record<string, string>> = { usd: 'USD', url: 'URL', uid: 'UID' };

/** "maxOutputTokens" → "Max output tokens". */
export function labelOf(name: string): string {
  const words = name
    .replaceAll(/([A-Z]|\d+)/g, ' $1')
    .toLowerCase()
    .split(' ')
    .map((word) => WORDS[word] ?? word)
    .join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function singular(label: string): string {
  return label.endsWith('s') ? label.slice(0, -1) : label;
}

/** Ties an error of the API to the field that it is about, or to the nearest one above; otherwise to the whole form. */
export function faultOf(
  fields: readonly SchemaField[],
  { path, message }: { readonly path: string; readonly message: string },
): FieldFault {
  const field = fieldAt(fields, path);
  return { field: field?.name, message: field?.name === path ? message : withPath({ path, message }) };
}

/** The field of a path, or the nearest one above; undefined: no field contains it. */
export function fieldAt(fields: readonly SchemaField[], path: string): SchemaField | undefined {
  const own = fields.find(({ name }) => isAtOrBelow(path, name));
  if (!own) return undefined;
  const below = own.kind === 'Object' ? own.fields : own.kind === 'List' ? own.items : [];
  return fieldAt(below, path) ?? own;
}

/** Whether a path is that of a field, or of something in it. */
export function isAtOrBelow(path: string, name: string): boolean {
  return path === name || (path.startsWith(name) && /^[.[]/.test(path.slice(name.length)));
}

/**
 * [P] Types, bounds, patterns and formats of a schema, with the messages of an API server. The checks themselves are ajv's, made
 * from the schemas once and for all (structures.gen.ts): to compile them anew takes a start a tenth of a second.
 */
import type { ErrorObject } from 'ajv';
import { fieldError, type FieldError, type FieldPath, type Segment } from './field-path.ts';
import { isJsonObject, jsonTypeName, shownJson, type Json } from './json.ts';
import type { KindSchema, SchemaNode } from './kind-schema.ts';
import { STRUCTURES } from './structures.gen.ts';

/** Judges values by one schema. */
export type StructureCheck = (value: Json) => FieldError[];

/** The check of a kind's schema. */
export function structureCheck({ kind, root }: KindSchema): StructureCheck {
  const validate = STRUCTURES[kind];
  if (!validate) throw new Error(`no check is generated for the kind ${kind}`);
  return (value) => {
    validate(value);
    return (validate.errors ?? []).map((error) => toFieldError(error, root, value));
  };
}

/** One thing that ajv says, and the value that it says it of. */
interface Fault {
  readonly data: Json | undefined;
  readonly params: ErrorObject['params'];
}

function toFieldError({ instancePath, keyword, params }: ErrorObject, root: SchemaNode, value: Json): FieldError {
  const at = segmentsOf(instancePath, root);
  const field = keyword === 'required' ? [...at, String(params['missingProperty'])] : at;
  const say = MESSAGES[keyword];
  const message = say ? say({ data: valueAt(value, at), params }, fieldError(field, '').path) : 'Invalid value';
  return fieldError(field, message, BLOCKING.has(keyword));
}

function valueAt(value: Json, path: FieldPath): Json | undefined {
  let found: Json | undefined = value;
  for (const segment of path) {
    if (Array.isArray(found)) found = found[Number(segment)];
    else found = isJsonObject(found) ? found[segment] : undefined;
  }
  return found;
}

/** Mistakes of shape: rules about such a value cannot be judged. */
const BLOCKING: ReadonlySet<string> = new Set(['required', 'type', 'enum', 'format', 'pattern', 'maxLength', 'maxItems', 'maxProperties']);

const MESSAGES: Readonly<Record<string, (fault: Fault, path: string) => string>> = {
  required: () => 'Required value',
  type: typeMessage,
  enum: ({ data, params }) =>
    `Unsupported value: ${shownJson(data)}: supported values: ${quotedList(params['allowedValues'])}`,
  maxLength: ({ params }) => `Too long: may not be more than ${params['limit']} bytes`,
  maxItems: ({ data, params }) => `Too many: ${sizeOf(data)}: must have at most ${params['limit']} items`,
  maxProperties: ({ data, params }) => `Too many: ${sizeOf(data)}: must have at most ${params['limit']} items`,
  minLength: (error, path) => invalid(error, `${path} in body should be at least ${error.params['limit']} chars long`),
  minItems: (error, path) => `Invalid value: ${sizeOf(error.data)}: ${path} in body should have at least ${error.params['limit']} items`,
  minimum: (error, path) => invalid(error, `${path} in body should be greater than or equal to ${error.params['limit']}`),
  maximum: (error, path) => invalid(error, `${path} in body should be less than or equal to ${error.params['limit']}`),
  pattern: (error, path) => invalid(error, `${path} in body should match '${error.params['pattern']}'`),
  format: (error, path) => invalid(error, `${path} in body must be of type ${error.params['format']}: ${shownJson(error.data)}`),
};

function quotedList(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ');
}

function sizeOf(data: unknown): number {
  if (Array.isArray(data)) return data.length;
  return isJsonObject(data) ? Object.keys(data).length : 0;
}

function invalid(error: Fault, text: string): string {
  return `Invalid value: ${shownJson(error.data)}: ${text}`;
}

function typeMessage(error: Fault, path: string): string {
  const found = JSON.stringify(jsonTypeName(error.data));
  const wanted = String(error.params['type']);
  const unquoted = wanted === 'string' && (typeof error.data === 'number' || typeof error.data === 'boolean');
  return `Invalid value: ${found}: ${path} in body must be of type ${wanted}: ${found}${unquoted ? '; put the value in quotes' : ''}`;
}

/** ajv gives a JSON pointer; the schema tells which of its parts are indexes. */
function segmentsOf(pointer: string, root: SchemaNode): FieldPath {
  const parts = pointer.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  let node: SchemaNode | undefined = root;
  return parts.map((part): Segment => {
    const isIndex: boolean = node?.type === 'array';
    node = isIndex ? node?.items : (node?.properties?.[part] ?? node?.additionalProperties);
    return isIndex ? Number(part) : part;
  });
}

/** Makes a schema that of an object's member, so that references within it mean what they meant. */
import { isRecord, itemsOf, recordOf, textOf } from './fields.ts';
import type { JsonRecord } from './fields.ts';

/** Definitions stay at the root, where references look for them. */
const DEFINITION = /^#\/(?:(?:\$|%24)defs|definitions)(?:\/|$)/;
/** Their meaning depends on what is around them. */
const BOUND_TO_PLACE = ['$id', '$dynamicRef', '$recursiveRef'] as const;
/** Keywords that hold a schema, or a list of schemas. */
const SCHEMAS: ReadonlySet<string> = new Set([
  'items',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'contentSchema',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
]);
/** Keywords whose members are schemas by name. */
const BY_NAME: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
]);

/**
 * The schema of an object that has one member, of the schema given. Undefined: the schema has references to other
 * documents, or parts that cannot be moved.
 */
export function objectWithMember(name: string, given: JsonRecord): JsonRecord | undefined {
  const { $schema: _dialect, $id: _address, ...schema } = given;
  const references: string[] = [];
  let canMove = true;
  const $defs = recordOf(schema['$defs']);
  const definition = freeName(name, $defs);
  const root = `#/$defs/${definition}`;
  const {
    $defs: movedDefs,
    definitions,
    ...member
  } = mapSchemas(schema, (part) => {
    if (BOUND_TO_PLACE.some((keyword) => textOf(part[keyword]) !== undefined)) canMove = false;
    const reference = textOf(part['$ref']);
    if (reference === undefined) return part;
    references.push(reference);
    return isBelowRoot(reference) ? { ...part, $ref: root + reference.slice(1) } : part;
  });
  if (!canMove || references.some((reference) => !reference.startsWith('#'))) return undefined;
  // a definition, because OpenAI allows references to those at the root only
  const isReferred = references.some(isBelowRoot);
  const defs = { ...(isRecord(movedDefs) && movedDefs), ...(isReferred && { [definition]: member }) };
  return {
    type: 'object',
    properties: { [name]: isReferred ? { $ref: root } : member },
    required: [name],
    additionalProperties: false,
    ...((isReferred || isRecord(movedDefs)) && { $defs: defs }),
    ...(isRecord(definitions) && { definitions }),
  };
}

/** Whether a reference is to the root, or to a part of it that moves with it; anchors are found wherever they are. */
function isBelowRoot(reference: string): boolean {
  return reference === '#' || (reference.startsWith('#/') && !DEFINITION.test(reference));
}

function freeName(name: string, taken: JsonRecord): string {
  return Object.hasOwn(taken, name) ? freeName(`${name}_`, taken) : name;
}

/** Maps the schema and all that are within it, the inner ones first. */
function mapSchemas(schema: JsonRecord, map: (schema: JsonRecord) => JsonRecord): JsonRecord {
  const mapOne = (value: unknown): unknown => (isRecord(value) ? mapSchemas(value, map) : value);
  const mapped = mapMembers(schema, (value, keyword) => {
    if (BY_NAME.has(keyword)) return isRecord(value) ? mapMembers(value, mapOne) : value;
    if (!SCHEMAS.has(keyword)) return value;
    return Array.isArray(value) ? itemsOf(value).map(mapOne) : mapOne(value);
  });
  return map(mapped);
}

function mapMembers(record: JsonRecord, map: (value: unknown, name: string) => unknown): JsonRecord {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}

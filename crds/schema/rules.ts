/**
 * [P] The CEL rules of a schema (x-kubernetes-validations), evaluated without an API server. Rules that compare with the old object
 * (oldSelf) are left out: an object judged here has none.
 */
import { Environment, type ParseResult } from '@marcbachmann/cel-js';
import { fieldError, type FieldError, type FieldPath, type Segment } from './field-path.ts';
import { isJsonObject, shownJson, type Json, type JsonObject } from './json.ts';
import type { Rule, SchemaNode } from './kind-schema.ts';
import { plainRule, type CertainlyHolds } from './plain-rules.ts';

/** Texts per rule. */
const MOST_REMEMBERED = 1000;

/** Judges values by the rules of one schema; `isBlocked` tells whether the shape of what is at a path is wrong. */
export type RulesCheck = (value: Json, isBlocked: (path: FieldPath) => boolean) => FieldError[];

interface CompiledRule {
  readonly rule: Rule;
  readonly evaluate: ParseResult;
  readonly certainlyHolds: CertainlyHolds | undefined;
  /** Texts that CEL has found right by the rule: catalogs and routes name the same models again and again, and matching is dear. */
  readonly right: Set<Json>;
}

/** A schema node with its rules compiled; nodes without rules in or below them are left out. */
interface CompiledNode {
  readonly node: SchemaNode;
  readonly rules: readonly CompiledRule[];
  readonly properties: ReadonlyMap<string, CompiledNode>;
  readonly items: CompiledNode | undefined;
}

/** Prepares the rules of a schema; done once for each kind. */
export function compileRules(root: SchemaNode): RulesCheck {
  const environment = new Environment().registerVariable('self', 'dyn');
  const compiled = compileNode(root, environment);
  return (value, isBlocked) => {
    const found: Found = { path: [], errors: [], isBlocked };
    if (compiled) check(compiled, value, found);
    return found.errors;
  };
}

function compileNode(node: SchemaNode, environment: Environment): CompiledNode | undefined {
  const rules = (node['x-kubernetes-validations'] ?? [])
    .filter((rule) => !/\boldSelf\b/.test(rule.rule))
    .map((rule) => ({ rule, evaluate: environment.parse(rule.rule), certainlyHolds: plainRule(rule.rule), right: new Set<Json>() }));
  const properties = new Map<string, CompiledNode>();
  for (const [field, child] of Object.entries(node.properties ?? {})) {
    const compiled = compileNode(child, environment);
    if (compiled) properties.set(field, compiled);
  }
  const items = node.items && compileNode(node.items, environment);
  return rules.length > 0 || properties.size > 0 || items ? { node, rules, properties, items } : undefined;
}

interface Found {
  /** Of what is being looked at; one list for the whole walk. */
  readonly path: Segment[];
  readonly errors: FieldError[];
  readonly isBlocked: (path: FieldPath) => boolean;
}

/** A value as it is in JSON, with its schema; rules see it through toCel, once one of them has to be asked. */
interface Subject {
  readonly value: Json;
  readonly node: SchemaNode;
  self?: unknown;
}

function check(compiled: CompiledNode, value: Json, found: Found): void {
  if (compiled.rules.length > 0) judgeAll(compiled, value, found);
  if (Array.isArray(value)) checkItems(compiled, value, found);
  else if (isJsonObject(value)) checkFields(compiled, value, found);
}

function judgeAll({ rules, node }: CompiledNode, value: Json, found: Found): void {
  const subject: Subject = { value, node };
  for (const rule of rules) judge(rule, subject, found);
}

function checkItems({ items }: CompiledNode, value: readonly Json[], found: Found): void {
  if (items) for (const [index, item] of value.entries()) checkBelow(items, item, { found, segment: index });
}

function checkFields({ properties }: CompiledNode, value: JsonObject, found: Found): void {
  for (const [field, child] of properties) {
    const below = value[field] ?? null;
    if (below !== null) checkBelow(child, below, { found, segment: field });
  }
}

function checkBelow(compiled: CompiledNode, value: Json, { found, segment }: { readonly found: Found; readonly segment: Segment }): void {
  found.path.push(segment);
  check(compiled, value, found);
  found.path.pop();
}

function judge({ rule, evaluate, certainlyHolds, right }: CompiledRule, subject: Subject, { path, errors, isBlocked }: Found): void {
  const { value, node } = subject;
  if (certainlyHolds?.(value) || right.has(value)) return;
  try {
    subject.self ??= toCel(value, node);
    if (evaluate({ self: subject.self }) === true) remember(right, value);
    else errors.push(fieldError(placeOf(rule, path), reasonPrefix(rule, value) + rule.message));
  } catch (error) {
    // Of a value without the shape that its schema says, nothing more can be said.
    if (isBlocked(path)) return;
    errors.push(fieldError(placeOf(rule, path), `Invalid value: ${shown(value)}${error instanceof Error ? error.message : String(error)}`));
  }
}

function remember(right: Set<Json>, value: Json): void {
  if (typeof value === 'string' && right.size < MOST_REMEMBERED) right.add(value);
}

function placeOf({ fieldPath }: Rule, path: FieldPath): FieldPath {
  return fieldPath ? [...path, ...fieldPath.split('.').slice(1)] : [...path];
}

/** How an API server begins what it says of a broken rule. */
export function reasonPrefix(rule: Rule, value: Json): string {
  switch (rule.reason) {
    case 'FieldValueForbidden': return 'Forbidden: ';
    case 'FieldValueRequired': return 'Required value: ';
    default: return `Invalid value: ${shown(value)}`;
  }
}

/** An API server shows scalars only. */
function shown(value: Json): string {
  return typeof value === 'object' ? '' : `${shownJson(value)}: `;
}

/** Integers are BigInt in CEL, dates with a time are Date; everything else is as in JSON, and the same object. */
function toCel(value: Json, node: SchemaNode): unknown {
  const shape = celShapeOf(node);
  if (!shape.differs) return value;
  if (Array.isArray(value)) return node.items ? mapItems(value, node.items) : value;
  if (!isJsonObject(value)) return scalarToCel(value, node);
  const copy: Record<string, unknown> = { ...value };
  for (const [field, child] of shape.fields) if (value[field] !== undefined) copy[field] = toCel(value[field], child);
  return copy;
}

function mapItems(items: readonly Json[], node: SchemaNode): unknown[] {
  return items.map((item) => toCel(item, node));
}

/** Where in a value there may be something that CEL has a type of its own for. */
interface CelShape {
  readonly differs: boolean;
  readonly fields: readonly (readonly [string, SchemaNode])[];
}

const celShapes = new WeakMap<SchemaNode, CelShape>();

/** Maps of these schemas (additionalProperties) hold texts only. */
function celShapeOf(node: SchemaNode): CelShape {
  const known = celShapes.get(node);
  if (known) return known;
  const fields = Object.entries(node.properties ?? {}).filter(([, child]) => celShapeOf(child).differs);
  const isScalar = node.type === 'integer' || node.format === 'date-time';
  const shape = { fields, differs: isScalar || fields.length > 0 || (node.items !== undefined && celShapeOf(node.items).differs) };
  celShapes.set(node, shape);
  return shape;
}

function scalarToCel(value: Json, node: SchemaNode): unknown {
  if (node.type === 'integer' && typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  if (node.format !== 'date-time' || typeof value !== 'string') return value;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? value : time;
}

/** [P] The CEL rules of a schema (x-kubernetes-validations), evaluated without an API server. */
import { Environment, type ParseResult } from '@marcbachmann/cel-js';
import { fieldError, type FieldError, type FieldPath, type Segment } from './field-path.ts';
import { isJsonObject, redactedJson, type Json } from './json.ts';
import type { Rule, SchemaNode } from './kind-schema.ts';

/** Tells whether the shape of what is at a path is wrong. */
export type IsBlocked = (path: FieldPath) => boolean;

/**
 * Judges a value by the rules of one schema. Rules that compare with the old value (oldSelf) are asked only where
 * there is one: those of a field that is there before and after, and of none within a list.
 */
export type RulesCheck = (value: Json, isBlocked: IsBlocked, old?: Json) => FieldError[];

interface CompiledRule {
  readonly rule: Rule;
  readonly evaluate: ParseResult;
  readonly isTransition: boolean;
}

/** A schema node with its rules compiled; nodes without rules in or below them are left out. */
interface CompiledNode {
  readonly rules: readonly CompiledRule[];
  readonly properties: ReadonlyMap<string, CompiledNode>;
  readonly items: CompiledNode | undefined;
  /** Of a map. */
  readonly values: CompiledNode | undefined;
}

const environment = new Environment().registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn');

/** Compiles the rules of a schema, which takes milliseconds: do it once. */
export function compileRules(root: SchemaNode): RulesCheck {
  const compiled = compileNode(root);
  return (value, isBlocked, old) => {
    const found: Found = { path: [], errors: [], isBlocked };
    if (compiled) check(compiled, { value, self: toCel(value, root), oldSelf: old && toCel(old, root) }, found);
    return found.errors;
  };
}

function compileNode(node: SchemaNode): CompiledNode | undefined {
  const rules = (node['x-kubernetes-validations'] ?? [])
    .map((rule) => ({ rule, evaluate: environment.parse(rule.rule), isTransition: /\boldSelf\b/.test(rule.rule) }));
  const properties = compileProperties(node.properties ?? {});
  const items = node.items && compileNode(node.items);
  const values = node.additionalProperties && compileNode(node.additionalProperties);
  return rules.length > 0 || properties.size > 0 || items || values ? { rules, properties, items, values } : undefined;
}

function compileProperties(nodes: Readonly<Record<string, SchemaNode>>): Map<string, CompiledNode> {
  const properties = new Map<string, CompiledNode>();
  for (const [field, child] of Object.entries(nodes)) {
    const compiled = compileNode(child);
    if (compiled) properties.set(field, compiled);
  }
  return properties;
}

interface Found {
  readonly path: Segment[];
  readonly errors: FieldError[];
  readonly isBlocked: IsBlocked;
}

/** A value as it is in JSON and as rules see it. */
interface Subject {
  readonly value: Json;
  readonly self: unknown;
  readonly oldSelf: unknown;
}

function check(compiled: CompiledNode, subject: Subject, found: Found): void {
  for (const rule of compiled.rules) checkRule(rule, subject, found);
  const { self, oldSelf } = subject;
  for (const [segment, value, child] of membersOf(subject.value, compiled)) {
    found.path.push(segment);
    const old = typeof segment === 'string' ? memberOf(oldSelf, segment) : undefined;
    check(child, { value, self: memberOf(self, segment), oldSelf: old }, found);
    found.path.pop();
  }
}

/**
 * What is in a value that there are rules about: the items of a list, the values of a map, or the fields of an object
 * that are not null.
 */
function membersOf(value: Json, { properties, items, values }: CompiledNode): [Segment, Json, CompiledNode][] {
  if (Array.isArray(value)) return items ? value.map((item: Json, index) => [index, item, items]) : [];
  if (!isJsonObject(value)) return [];
  if (values) return Object.entries(value).map(([name, member]) => [name, member, values]);
  return [...properties].flatMap(([field, child]): [Segment, Json, CompiledNode][] => {
    const inner = value[field] ?? null;
    return inner === null ? [] : [[field, inner, child]];
  });
}

function memberOf(value: unknown, segment: Segment): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, segment) : undefined;
}

function checkRule({ rule, evaluate, isTransition }: CompiledRule, subject: Subject, found: Found): void {
  const { value, self, oldSelf } = subject;
  const { path, errors, isBlocked } = found;
  if (isTransition && oldSelf === undefined) return;
  const place = rule.fieldPath ? [...path, ...rule.fieldPath.split('.').slice(1)] : [...path];
  try {
    const holds = evaluate(isTransition ? { self, oldSelf } : { self });
    if (holds !== true) errors.push(fieldError(place, reasonPrefix(rule, value) + rule.message));
  } catch (error) {
    // Of a value without the shape that its schema says, nothing more can be said.
    if (isBlocked(path)) return;
    const words = error instanceof Error ? error.message : String(error);
    errors.push(fieldError(place, `Invalid value: ${shown(value)}${words}`));
  }
}

/** How an API server begins what it says of a broken rule. */
function reasonPrefix(rule: Rule, value: Json): string {
  switch (rule.reason) {
    case 'FieldValueForbidden': return 'Forbidden: ';
    case 'FieldValueRequired': return 'Required value: ';
    default: return `Invalid value: ${shown(value)}`;
  }
}

/** An API server shows scalars only. */
function shown(value: Json): string {
  return typeof value === 'object' ? '' : `${redactedJson(value)}: `;
}

/**
 * Integers are BigInt in CEL, dates with a time are Date; all else is as in JSON.
 */
function toCel(value: Json, node: SchemaNode): unknown {
  const { items, properties = {}, additionalProperties: values } = node;
  if (Array.isArray(value)) return items ? value.map((item: Json) => toCel(item, items)) : value;
  if (!isJsonObject(value)) return scalarToCel(value, node);
  if (values)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toCel(member, values)]));
  const copy: Record<string, unknown> = { ...value };
  for (const [field, child] of Object.entries(properties))
    if (value[field] !== undefined) copy[field] = toCel(value[field], child);
  return copy;
}

function scalarToCel(value: Json, node: SchemaNode): unknown {
  if (node.type === 'integer' && typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  if (node.format !== 'date-time' || typeof value !== 'string') return value;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? value : time;
}

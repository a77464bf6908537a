/** [P] The CEL rules of a schema (x-kubernetes-validations), evaluated without an API server. */
import { Environment, type ParseResult } from '@marcbachmann/cel-js';
import { fieldError, type FieldError, type FieldPath, type PathSegment } from './field-path.ts';
import { isJsonObject, redactedJson, type Json } from './json.ts';
import type { Rule, SchemaNode } from './kind-schema.ts';

/** Returns true if the value at a path does not have its schema's type. */
export type IsBlocked = (path: FieldPath) => boolean;

/**
 * Evaluates the rules of one schema for a value. Rules that compare with the old value (oldSelf) apply only to a field
 * that exists before and after, and never within a list.
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
  /** The node of a map's values. */
  readonly values: CompiledNode | undefined;
}

const environment = new Environment().registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn');

/** Compiles the rules of a schema. This takes milliseconds, so do it once. */
export function compileRules(root: SchemaNode): RulesCheck {
  const compiled = compileNode(root);
  return (value, isBlocked, old) => {
    const found: Found = { path: [], errors: [], isBlocked };
    if (compiled) check(compiled, { value, self: toCel(value, root), oldSelf: old && toCel(old, root) }, found);
    return found.errors;
  };
}

function compileNode(node: SchemaNode): CompiledNode | undefined {
  const rules = (node['x-kubernetes-validations'] ?? []).map((rule) => ({
    rule,
    evaluate: environment.parse(rule.rule),
    isTransition: /\boldSelf\b/.test(rule.rule),
  }));
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
  readonly path: PathSegment[];
  readonly errors: FieldError[];
  readonly isBlocked: IsBlocked;
}

/** A value as in JSON, and as rules see it. */
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
 * The members of a value that have rules: items of a list, values of a map, or fields of an object that are not null.
 */
function membersOf(value: Json, { properties, items, values }: CompiledNode): [PathSegment, Json, CompiledNode][] {
  if (Array.isArray(value)) return items ? value.map((item: Json, index) => [index, item, items]) : [];
  if (!isJsonObject(value)) return [];
  if (values) return Object.entries(value).map(([name, member]) => [name, member, values]);
  return [...properties].flatMap(([field, child]): [PathSegment, Json, CompiledNode][] => {
    const inner = value[field] ?? null;
    return inner === null ? [] : [[field, inner, child]];
  });
}

function memberOf(value: unknown, segment: PathSegment): unknown {
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
    // a value without its schema's type has been reported already
    if (isBlocked(path)) return;
    const words = error instanceof Error ? error.message : String(error);
    errors.push(fieldError(place, `Invalid value: ${shown(value)}${words}`));
  }
}

/** The prefix of an API server's message for a broken rule. */
function reasonPrefix(rule: Rule, value: Json): string {
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return 'Forbidden: ';
    case 'FieldValueRequired':
      return 'Required value: ';
    default:
      return `Invalid value: ${shown(value)}`;
  }
}

/** Formats a scalar for a message; an API server shows no other values. */
function shown(value: Json): string {
  return typeof value === 'object' ? '' : `${redactedJson(value)}: `;
}

/** Converts JSON for CEL: integers become BigInt, dates with a time become Date. */
function toCel(value: Json, node: SchemaNode): unknown {
  const { items, properties = {}, additionalProperties: values } = node;
  if (Array.isArray(value)) return items ? value.map((item: Json) => toCel(item, items)) : value;
  if (!isJsonObject(value)) return scalarToCel(value, node);
  if (values) return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toCel(member, values)]));
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

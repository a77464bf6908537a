/**
 * [P] The CEL rules of a schema (x-kubernetes-validations), evaluated without an API server. Rules that compare with the old object
 * (oldSelf) are left out: an object judged here has none.
 */
import { Environment, type ParseResult } from '@marcbachmann/cel-js';
import { fieldError, type FieldError, type FieldPath } from './field-path.ts';
import { isJsonObject, shownJson, type Json } from './json.ts';
import type { Rule, SchemaNode } from './kind-schema.ts';

/** Judges values by the rules of one schema; `isBlocked` tells whether the shape of what is at a path is wrong. */
export type RulesCheck = (value: Json, isBlocked: (path: FieldPath) => boolean) => FieldError[];

interface CompiledRule {
  readonly rule: Rule;
  readonly evaluate: ParseResult;
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
  return (value, isBlocked) => (compiled ? check(compiled, { value, path: [], isBlocked }) : []);
}

function compileNode(node: SchemaNode, environment: Environment): CompiledNode | undefined {
  const rules = (node['x-kubernetes-validations'] ?? [])
    .filter((rule) => !/\boldSelf\b/.test(rule.rule))
    .map((rule) => ({ rule, evaluate: environment.parse(rule.rule) }));
  const properties = new Map<string, CompiledNode>();
  for (const [field, child] of Object.entries(node.properties ?? {})) {
    const compiled = compileNode(child, environment);
    if (compiled) properties.set(field, compiled);
  }
  const items = node.items && compileNode(node.items, environment);
  return rules.length > 0 || properties.size > 0 || items ? { node, rules, properties, items } : undefined;
}

interface Subject {
  readonly value: Json;
  readonly path: FieldPath;
  readonly isBlocked: (path: FieldPath) => boolean;
}

function check(compiled: CompiledNode, subject: Subject): FieldError[] {
  const { value, path, isBlocked } = subject;
  const { items, rules } = compiled;
  const self = rules.length > 0 ? toCel(value, compiled.node) : undefined;
  const own = rules.flatMap((rule) => judge(rule, self, subject));
  if (Array.isArray(value) && items) {
    return [...own, ...value.flatMap((item: Json, index) => check(items, { value: item, path: [...path, index], isBlocked }))];
  }
  if (!isJsonObject(value)) return own;
  const below = [...compiled.properties].flatMap(([field, child]) => {
    const childValue = value[field];
    if (childValue === undefined || childValue === null) return [];
    return check(child, { value: childValue, path: [...path, field], isBlocked });
  });
  return [...own, ...below];
}

function judge({ rule, evaluate }: CompiledRule, self: unknown, { value, path, isBlocked }: Subject): FieldError[] {
  const segments = rule.fieldPath ? [...path, ...rule.fieldPath.split('.').slice(1)] : path;
  try {
    return evaluate({ self }) === true ? [] : [fieldError(segments, reasonPrefix(rule, value) + rule.message)];
  } catch (error) {
    // Of a value without the shape that its schema says, nothing more can be said.
    return isBlocked(path) ? [] : [fieldError(segments, `Invalid value: ${shown(value)}${error instanceof Error ? error.message : String(error)}`)];
  }
}

function reasonPrefix(rule: Rule, value: Json): string {
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

/** Integers are BigInt in CEL, dates with a time are Date; everything else is as in JSON. */
function toCel(value: Json, node: SchemaNode | undefined): unknown {
  if (Array.isArray(value)) return value.map((item: Json) => toCel(item, node?.items));
  if (isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([field, child]) => [field, toCel(child, node?.properties?.[field] ?? node?.additionalProperties)]));
  }
  return scalarToCel(value, node);
}

function scalarToCel(value: Json, node: SchemaNode | undefined): unknown {
  if (node?.type === 'integer' && typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  if (node?.format !== 'date-time' || typeof value !== 'string') return value;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? value : time;
}

/**
 * [P] The rules about a change (oldSelf): what may not be other than it was. An API server asks them where a field is there before
 * and after; in the schemas of this API they are about single fields, none within a list.
 */
import { Environment, type ParseResult } from '@marcbachmann/cel-js';
import { normalise } from './defaults.ts';
import { fieldError, type FieldError, type FieldPath } from './field-path.ts';
import { isJsonObject, type Json } from './json.ts';
import type { KindSchema, Rule, SchemaNode } from './kind-schema.ts';
import { reasonPrefix } from './rules.ts';

interface Transition {
  readonly path: FieldPath;
  readonly rule: Rule;
  readonly holds: ParseResult;
}

const compiled = new WeakMap<KindSchema, readonly Transition[]>();

/** What an API server would say to the second object in the place of the first; both are right in themselves. */
export function transitionErrors(schema: KindSchema, before: object, after: object): FieldError[] {
  const [old, now] = [before, after].map((object) => normalise(JSON.parse(JSON.stringify(object)), schema.root).object);
  return transitionsOf(schema).flatMap(({ path, rule, holds }) => {
    const [self, oldSelf] = [valueAt(now, path), valueAt(old, path)];
    if (self === undefined || oldSelf === undefined || holds({ self, oldSelf }) === true) return [];
    return [fieldError(path, reasonPrefix(rule, self) + rule.message)];
  });
}

function transitionsOf(schema: KindSchema): readonly Transition[] {
  const known = compiled.get(schema);
  if (known) return known;
  const environment = new Environment().registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn');
  const found = [...transitionsBelow(schema.root, [], environment)];
  compiled.set(schema, found);
  return found;
}

function* transitionsBelow(node: SchemaNode, path: FieldPath, environment: Environment): Generator<Transition> {
  for (const rule of node['x-kubernetes-validations'] ?? []) if (/\boldSelf\b/.test(rule.rule)) yield { path, rule, holds: environment.parse(rule.rule) };
  for (const [field, child] of Object.entries(node.properties ?? {})) yield* transitionsBelow(child, [...path, field], environment);
}

function valueAt(value: Json | undefined, path: FieldPath): Json | undefined {
  let found = value;
  for (const segment of path) found = isJsonObject(found) ? found[segment] : undefined;
  return found;
}

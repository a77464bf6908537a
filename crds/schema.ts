/**
 * [P] The verdict of a Kubernetes API server without one: unknown fields, defaults, types and bounds, unique keys, CEL rules and
 * metadata, all from the same CustomResourceDefinitions, every mistake at once. test/crds puts the same manifests to this and to a
 * real API server. Rules about a change (oldSelf) are the server's alone.
 */
import { normalise } from './defaults.ts';
import { isWithin, type FieldError, type FieldPath } from './field-path.ts';
import type { JsonObject } from './json.ts';
import type { KindSchema } from './kind-schema.ts';
import { duplicateErrors } from './list-keys.ts';
import { identityErrors } from './object-meta.ts';
import { compileRules, type RulesCheck } from './rules.ts';
import { compileStructure, type StructureCheck } from './structure.ts';

export interface Admission {
  /** With defaults, without unknown fields, and without a status, which is not its author's to write. */
  readonly object: JsonObject;
  /** Empty: the object would be accepted. */
  readonly errors: readonly FieldError[];
}

interface Checks {
  readonly structure: StructureCheck;
  readonly rules: RulesCheck;
}

/** Compiling is dear and the same every time. */
const compiled = new WeakMap<KindSchema, Checks>();

/** What an API server would say to an object that somebody creates, with strict field validation. */
export function admit(schema: KindSchema, object: JsonObject): Admission {
  const { object: { status: _, ...normalised }, errors: unknown } = normalise(object, schema.root);
  const checks = checksOf(schema);
  const shape = [...identityErrors(object, schema), ...checks.structure(normalised)];
  const blocking = shape.filter((error) => error.blocksRules);
  const isBlocked = (path: FieldPath): boolean => blocking.some((error) => isWithin(error.segments, path));
  const rules = checks.rules(normalised, isBlocked);
  return { object: normalised, errors: [...unknown, ...shape, ...duplicateErrors(normalised, schema.root), ...rules] };
}

function checksOf(schema: KindSchema): Checks {
  const known = compiled.get(schema);
  if (known) return known;
  const checks = { structure: compileStructure(schema.root), rules: compileRules(schema.root) };
  compiled.set(schema, checks);
  return checks;
}

/**
 * [P] Validates objects as a Kubernetes API server does: unknown fields, defaults, types and bounds, unique keys, CEL
 * rules and metadata, all from the same CustomResourceDefinitions, with every error at once. test/unit/crds compares
 * the result with a real API server's.
 */
import { normalise } from './defaults.ts';
import { isWithin, type FieldError } from './field-path.ts';
import type { JsonObject } from './json.ts';
import type { KindSchema } from './kind-schema.ts';
import { duplicateErrors } from './list-keys.ts';
import { identityErrors } from './object-meta.ts';
import { compileRules, type IsBlocked, type RulesCheck } from './rules.ts';
import { compileStructure, type StructureCheck } from './structure.ts';

export interface AdmissionResult {
  /** The object with defaults, and without unknown fields and status, which authors do not write. */
  readonly object: JsonObject;
  /** Empty if the object would be accepted. */
  readonly errors: readonly FieldError[];
}

interface Checks {
  readonly structure: StructureCheck;
  readonly rules: RulesCheck;
}

const compiled = new WeakMap<KindSchema, Checks>();

/**
 * Returns what an API server with strict field validation would say to an object that is created, or that replaces
 * `old`, which must be valid itself.
 */
export function admit(schema: KindSchema, object: JsonObject, old?: JsonObject): AdmissionResult {
  const { structure, rules } = checksOf(schema);
  const {
    object: { status: _, ...normalised },
    errors: unknown,
  } = normalise(object, schema.root);
  const shape = [...identityErrors(object, schema), ...structure(normalised)];
  const broken = rules(normalised, blockedBy(shape), old && normalise(old, schema.root).object);
  return { object: normalised, errors: [...unknown, ...shape, ...duplicateErrors(normalised, schema.root), ...broken] };
}

/**
 * What an API server would say to a change of a valid object into another valid one: the rules that compare with the
 * old values.
 */
export function changeErrors(schema: KindSchema, object: JsonObject, old: JsonObject): readonly FieldError[] {
  return checksOf(schema).rules(object, () => false, old);
}

function blockedBy(shape: readonly FieldError[]): IsBlocked {
  const blocking = shape.filter((error) => error.blocksRules);
  return (path) => blocking.some((error) => isWithin(error.segments, path));
}

function checksOf(schema: KindSchema): Checks {
  let checks = compiled.get(schema);
  if (!checks) {
    checks = { structure: compileStructure(schema.root), rules: compileRules(schema.root) };
    compiled.set(schema, checks);
  }
  return checks;
}

/**
 * [P] The verdict of a Kubernetes API server without one: unknown fields, defaults, types and bounds, unique keys, CEL rules and
 * metadata, all from the same CustomResourceDefinitions, every mistake at once. test/crds puts the same manifests to this and to a
 * real API server. Rules about a change (oldSelf) are the server's alone.
 */
import { normalise } from './defaults.ts';
import { isWithin, type FieldError, type FieldPath } from './field-path.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { KindSchema } from './kind-schema.ts';
import { duplicateErrors } from './list-keys.ts';
import { identityErrors, metadataErrors } from './object-meta.ts';
import { compileRules, type RulesCheck } from './rules.ts';
import { structureCheck, type StructureCheck } from './structure.ts';

export interface Admission {
  /** With defaults, without unknown fields, and without a status, which is not its author's to write. */
  readonly object: JsonObject;
  /** Empty: the object would be accepted. */
  readonly errors: readonly FieldError[];
}

interface Checks {
  readonly structure: StructureCheck;
  readonly rules: RulesCheck;
  /** The rules of the whole object only, the one place from which rules see metadata. */
  readonly objectRules: RulesCheck;
  /** What was found right, without its metadata and with defaults, by its text. */
  readonly right: Map<string, JsonObject>;
}

/** Compiling is dear and the same every time. */
const compiled = new WeakMap<KindSchema, Checks>();
/** Per kind. Thousands of keys differ in little but their names: what they share is judged once, and is one object. */
const MOST_REMEMBERED = 1000;
/** What JSON writes for several things: YAML's .inf and .nan are null to it. */
const AMBIGUOUS = /null/;

/** What an API server would say to an object that somebody creates, with strict field validation. */
export function admit(schema: KindSchema, object: JsonObject): Admission {
  const { metadata, ...content } = object;
  const checks = checksOf(schema);
  const text = JSON.stringify(content);
  const known = checks.right.get(text);
  if (known && isJsonObject(metadata)) return admitMetadata({ ...known, metadata }, checks);
  const admission = admitWhole(schema, object, checks);
  if (admission.errors.length === 0 && checks.right.size < MOST_REMEMBERED && !AMBIGUOUS.test(text)) {
    const { metadata: _, ...right } = admission.object;
    checks.right.set(text, right);
  }
  return admission;
}

/** The same of an object of which all but the metadata is as it was admitted before, without mistakes. */
export function admitKnown(schema: KindSchema, object: JsonObject): Admission {
  return admitMetadata(object, checksOf(schema));
}

function admitWhole(schema: KindSchema, object: JsonObject, checks: Checks): Admission {
  const { object: { status: _, ...normalised }, errors: unknown } = normalise(object, schema.root);
  const shape = [...identityErrors(object, schema), ...checks.structure(normalised)];
  const rules = checks.rules(normalised, blockedBy(shape));
  return { object: normalised, errors: [...unknown, ...shape, ...duplicateErrors(normalised, schema.root), ...rules] };
}

/** Of an object of which all else is known to be right. */
function admitMetadata(object: JsonObject, { objectRules }: Checks): Admission {
  const shape = metadataErrors(object['metadata']);
  return { object, errors: [...shape, ...objectRules(object, blockedBy(shape))] };
}

function blockedBy(shape: readonly FieldError[]): (path: FieldPath) => boolean {
  const blocking = shape.filter((error) => error.blocksRules);
  return blocking.length === 0 ? notBlocked : (path) => blocking.some((error) => isWithin(error.segments, path));
}

function notBlocked(): boolean {
  return false;
}

function checksOf(schema: KindSchema): Checks {
  const known = compiled.get(schema);
  if (known) return known;
  const { root } = schema;
  const { 'x-kubernetes-validations': own = [] } = root;
  const checks: Checks = {
    structure: structureCheck(schema), rules: compileRules(root), objectRules: compileRules({ type: 'object', 'x-kubernetes-validations': own }), right: new Map(),
  };
  compiled.set(schema, checks);
  return checks;
}

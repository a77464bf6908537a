/**
 * [P] Validates an object from the API server by the current schema. The server may have admitted it by an older or
 * newer schema, so missing defaults are filled in, unknown fields are ignored, and an invalid object is excluded, so
 * that it affects no other.
 */
import { isJsonObject } from '#crds/json.ts';
import type { JsonObject } from '#crds/json.ts';
import type { KindSchema } from '#crds/kind-schema.ts';
import { admit } from '#crds/schema.ts';
import type { Resource } from '#crds/types.gen.ts';
import type { AdmitObject } from '../../store/live-objects.ts';

const UNKNOWN = 'unknown field';

/** Creates the validator; `kinds` are by name. */
export function admitObjects(kinds: ReadonlyMap<string, KindSchema>): AdmitObject {
  return (object) => {
    const schema = kinds.get(object.kind);
    if (!schema) return { object, faults: [] };
    const {
      apiVersion,
      kind,
      metadata: { name, namespace },
    } = object;
    const {
      object: { spec },
      errors,
    } = admit(schema, { apiVersion, kind, metadata: { name, namespace }, ...specOf(object) });
    const faults = errors
      .filter(({ message }) => message !== UNKNOWN)
      .map(({ path, message }) => `${path}: ${message}`);
    const judged: unknown = { ...object, spec: spec ?? {} };
    if (isAdmitted(judged, faults)) return { object: judged, faults };
    const gatewayNamespace = isJsonObject(spec) ? spec['gatewayNamespace'] : undefined;
    return { object, faults, ...(typeof gatewayNamespace === 'string' ? { gatewayNamespace } : {}) };
  };
}

function specOf(object: { readonly spec: unknown }): JsonObject {
  const { spec } = object;
  return isJsonObject(spec) ? { spec } : {};
}

/** The generated types match the schema, so a spec without faults has its type. */
function isAdmitted(_object: unknown, faults: readonly string[]): _object is Resource {
  return faults.length === 0;
}

/** What the API server would refuse in an object, told before anything is sent, so that a form shows all its faults. */
import type { JsonObject } from '#crds/json.ts';
import { formatPath } from '#crds/field-path.ts';
import type { KindSchema } from '#crds/kind-schema.ts';
import { loadApiKindsSync } from '#crds/load.ts';
import { admit } from '#crds/schema.ts';
import { API_VERSION } from '#crds/types.gen.ts';
import type { Kind } from '#crds/types.gen.ts';
import type { FieldError, ObjectRef } from './access/access.ts';

let schemas: ReadonlyMap<string, KindSchema> | undefined;

/** The faults of a new object by the schema and rules of its CustomResourceDefinition, in the API's words. */
export function schemaFaults(kind: Kind, { namespace, name }: ObjectRef, spec: object): FieldError[] {
  schemas ??= loadApiKindsSync();
  const schema = schemas.get(kind);
  if (!schema) throw new Error(`no schema of ${kind}`);
  const object = { apiVersion: API_VERSION, kind, metadata: { namespace, name }, spec: spec as JsonObject };
  return admit(schema, object).errors.map(({ segments, message }) => ({ path: formatPath(segments), message }));
}

/** [P] Checks an object as the API server would before it is sent, so that a form shows all errors at once. */
import { isJsonObject, toJson } from '#crds/json.ts';
import { formatPath } from '#crds/field-path.ts';
import { admit } from '#crds/schema.ts';
import { API_VERSION } from '#crds/types.gen.ts';
import type { Kind } from '#crds/types.gen.ts';
import type { ApiFieldError, ObjectRef } from '../access/access.ts';
import type { Schemas } from '../route.ts';

/** The faults of a new object by the schema and rules of its CustomResourceDefinition, in the API's words. */
export function schemaFaults(
  schemas: Schemas,
  kind: Kind,
  { namespace, name, spec }: ObjectRef & { readonly spec: object },
): ApiFieldError[] {
  const schema = schemas.get(kind);
  if (!schema) throw new Error(`no schema of ${kind}`);
  const object = toJson({ apiVersion: API_VERSION, kind, metadata: { namespace, name }, spec });
  if (!isJsonObject(object)) throw new Error('an object is not JSON');
  return admit(schema, object).errors.map(({ segments, message }) => ({ path: formatPath(segments), message }));
}

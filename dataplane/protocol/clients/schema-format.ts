/** A response format by a JSON schema, as chat completions and Responses have it. */
import type { ResponseFormat } from '../conversation/request.ts';
import { isRecord, textOf } from '../fields.ts';
import { malformed } from '../unsupported.ts';

interface SchemaFields {
  readonly name?: unknown;
  readonly schema?: unknown;
  readonly strict?: unknown;
  readonly description?: unknown;
}

/** `param`: the path of the object with these fields. Throws RequestFault without a schema. */
export function schemaFormat({ name, schema, strict, description }: SchemaFields, param: string): ResponseFormat {
  if (!isRecord(schema)) throw malformed(`${param}.schema`, 'a JSON schema');
  return {
    type: 'Schema',
    schema,
    name: textOf(name),
    description: textOf(description),
    strict: typeof strict === 'boolean' ? strict : undefined,
  };
}

/** The format of a response, for providers that hold some models to a schema and take no other format. */
import type { ModelCapabilities } from '../capabilities.ts';
import { askForFormat, isObjectFormat } from '../conversation/formats.ts';
import type { Settings, TextPart } from '../conversation/request.ts';
import type { JsonRecord } from '../fields.ts';
import { anthropicSchema } from '../json-schemas.ts';

export interface SchemaFormat {
  /** The schema that the response is held to; absent: to none. */
  readonly schema?: JsonRecord;
  /** Paragraphs for the system prompt. */
  readonly instructions: readonly TextPart[];
}

/** Some models are held to the schema of an object; any other format is asked for in words. */
export function schemaFormat(
  setting: Settings['responseFormat'],
  { strictSchemas }: Pick<ModelCapabilities, 'strictSchemas'>,
): SchemaFormat {
  if (!setting) return { instructions: [] };
  const { value: given, path } = setting;
  if (given.type !== 'Schema' || !isObjectFormat(given) || !strictSchemas)
    return { instructions: [{ type: 'Text', text: askForFormat(given), path }] };
  return { schema: anthropicSchema(given.schema), instructions: [] };
}

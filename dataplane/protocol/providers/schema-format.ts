/** The format of a response, for providers that hold some models to a schema and take no other format. */
import type { ModelCapabilities } from '../capabilities.ts';
import { askForFormat } from '../conversation/formats.ts';
import { asObjectFormat } from '../conversation/held-value.ts';
import type { Settings, TextPart } from '../conversation/request.ts';
import type { HeldValue } from '../converter.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import type { JsonRecord } from '../fields.ts';
import { anthropicSchema } from '../json-schemas.ts';

export interface SchemaFormat {
  /** The schema that the response is held to; absent: to none. */
  readonly schema?: JsonRecord;
  /** What the schema's object holds of what the client asked for; absent: it is that. */
  readonly heldValue?: HeldValue | undefined;
  /** Paragraphs for the system prompt. */
  readonly instructions: readonly TextPart[];
}

/** Some models are held to the schema of an object; any other format is asked for in words, and named. */
export function schemaFormat(
  setting: Settings['responseFormat'],
  { strictSchemas }: Pick<ModelCapabilities, 'strictSchemas'>,
  dropped: DroppedFields,
): SchemaFormat {
  if (!setting) return { instructions: [] };
  const { value: given, path } = setting;
  const object = strictSchemas ? asObjectFormat(given) : undefined;
  if (object) return { schema: anthropicSchema(object.format.schema), heldValue: object.held, instructions: [] };
  dropped.add(path);
  return { instructions: [{ type: 'Text', text: askForFormat(given), path }] };
}

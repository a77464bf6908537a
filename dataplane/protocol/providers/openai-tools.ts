/** Writes tools as functions of OpenAI's protocol. */
import type { ModelCapabilities } from '../capabilities.ts';
import type { Tool } from '../conversation/request.ts';
import { toolDescription } from '../conversation/texts.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import type { JsonRecord } from '../fields.ts';
import { openAiStrictSchema, toolSchema } from '../json-schemas.ts';
import { shortenDescription } from '../tool-descriptions.ts';
import type { ToolNames } from '../tool-ids.ts';

/** The API's limit. */
export const MAX_NAME_LENGTH = 64;

export interface WrittenTools {
  /** Members of the request. */
  readonly members: JsonRecord;
  /** Descriptions that are too long for a tool, as paragraphs for the system prompt. */
  readonly paragraphs: readonly string[];
}

export interface ToolsContext {
  readonly names: ToolNames;
  readonly dropped: DroppedFields;
  readonly capabilities: ModelCapabilities;
}

/** The members of a function; `paragraphs` takes a description that is too long. */
export function writeFunction(tool: Tool, paragraphs: string[], context: ToolsContext): JsonRecord {
  return {
    ...describeTool(tool, paragraphs, context),
    ...writeSchema(tool, context.capabilities.strictSchemas, context.dropped),
  };
}

export function describeTool(tool: Tool, paragraphs: string[], { names, capabilities }: ToolsContext): JsonRecord {
  const { toolDescriptionLength: limit } = capabilities;
  const name = names.send(tool.name);
  const description = toolDescription(tool);
  return {
    name,
    description: description === undefined ? undefined : shortenDescription({ name, description }, limit, paragraphs),
  };
}

function writeSchema({ schema, strict }: Tool, strictSchemas: boolean, dropped: DroppedFields): JsonRecord {
  const parameters = toolSchema(schema);
  const held = strict?.value === true && strictSchemas ? openAiStrictSchema(parameters) : undefined;
  if (held) return { parameters: held, strict: true };
  if (strict?.value === true) dropped.add(strict.path);
  return { parameters, strict: strict?.value === false && strictSchemas ? false : undefined };
}

/** Writes tools as functions, and the choice among them. */
import type { ModelCapabilities } from '../../capabilities.ts';
import type { Settings, Tool } from '../../conversation/request.ts';
import { keptValue } from '../../conversation/take.ts';
import { toolDescription } from '../../conversation/texts.ts';
import { allowedTools, forcedTool } from '../../conversation/tool-choice.ts';
import type { DroppedFields } from '../../dropped-fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { openAiStrictSchema, toolSchema } from '../../json-schemas.ts';
import { shortenDescription } from '../../tool-descriptions.ts';
import type { ToolNames } from '../../tool-ids.ts';

export interface WrittenTools {
  /** Members of the request. */
  readonly members: JsonRecord;
  /** Descriptions that are too long for a tool, as paragraphs for the system message. */
  readonly paragraphs: readonly string[];
}

export interface ToolsContext {
  readonly names: ToolNames;
  readonly dropped: DroppedFields;
  readonly capabilities: ModelCapabilities;
}

/** A choice needs tools. */
export function writeTools(given: readonly Tool[], settings: Settings, context: ToolsContext): WrittenTools {
  const { choice, tools } = chooseTools(given, settings, context);
  if (tools.length === 0) return { members: {}, paragraphs: [] };
  const paragraphs: string[] = [];
  const parallel = keptValue(settings.parallelToolCalls, context.capabilities.parallelTools, context.dropped, true);
  return {
    members: {
      tools: tools.map((tool) => ({ type: 'function', function: writeTool(tool, paragraphs, context) })),
      tool_choice: choice,
      parallel_tool_calls: parallel === false ? false : undefined,
    },
    paragraphs,
  };
}

function writeTool(tool: Tool, paragraphs: string[], { names, dropped, capabilities }: ToolsContext): JsonRecord {
  const { toolDescriptionLength: limit, strictSchemas } = capabilities;
  const name = String(names.send(tool.name));
  const description = toolDescription(tool);
  return {
    name,
    description: description === undefined ? undefined : shortenDescription({ name, description }, limit, paragraphs),
    ...writeSchema(tool, strictSchemas, dropped),
  };
}

function writeSchema({ schema, strict }: Tool, strictSchemas: boolean, dropped: DroppedFields): JsonRecord {
  const parameters = toolSchema(schema);
  const held = strict?.value === true && strictSchemas ? openAiStrictSchema(parameters) : undefined;
  if (held) return { parameters: held, strict: true };
  if (strict?.value === true) dropped.add(strict.path);
  return { parameters, strict: strict?.value === false && strictSchemas ? false : undefined };
}

interface ChosenTools {
  /** Undefined: the default. */
  readonly choice: unknown;
  readonly tools: readonly Tool[];
}

/** One tool can be named in the choice; where several may be called, the others are left out. */
function chooseTools(tools: readonly Tool[], { toolChoice }: Settings, { names }: ToolsContext): ChosenTools {
  if (!toolChoice) return { choice: undefined, tools };
  const { value } = toolChoice;
  const forced = forcedTool(value);
  const choice =
    forced === undefined
      ? { Auto: 'auto', None: 'none', Required: 'required' }[value.mode]
      : { type: 'function', function: { name: names.send(forced) } };
  return { choice, tools: allowedTools(tools, value) };
}

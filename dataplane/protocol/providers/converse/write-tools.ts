/** Writes tools as the `toolConfig` of Converse, which a conversation needs as soon as it has called a tool. */
import type { Settings, Tool, ToolChoice } from '../../conversation/request.ts';
import { keptValue } from '../../conversation/take.ts';
import { toolDescription } from '../../conversation/texts.ts';
import { allowedTools, forcedTool } from '../../conversation/tool-choice.ts';
import type { DroppedFields } from '../../dropped-fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { anthropicSchema, toolSchema } from '../../json-schemas.ts';
import type { ToolNames } from '../../tool-ids.ts';
import type { CachePoints } from './write-messages.ts';

export interface ToolsContext {
  readonly names: ToolNames;
  readonly caches: CachePoints;
  readonly dropped: DroppedFields;
  /** Whether the model can be held to the schemas of tools. */
  readonly strictSchemas: boolean;
  /** The names of the tools that the conversation has called, as they are sent. */
  readonly calledTools: ReadonlySet<string>;
}

/** Undefined: there are no tools. */
export function writeTools(
  tools: readonly Tool[],
  { toolChoice }: Settings,
  context: ToolsContext,
): JsonRecord | undefined {
  const { calledTools, dropped } = context;
  const choice = toolChoice?.value;
  if (choice?.mode === 'None' && calledTools.size === 0) return undefined;
  const declared = allowedTools(tools, choice).flatMap((tool) => writeTool(tool, context));
  if (declared.length === 0) return writeCalledTools(calledTools);
  if (toolChoice && choice?.mode === 'None') dropped.add(toolChoice.path);
  return { tools: declared, toolChoice: writeChoice(choice, context) };
}

/** The tools of a conversation that declares none any more. */
function writeCalledTools(called: ReadonlySet<string>): JsonRecord | undefined {
  if (called.size === 0) return undefined;
  return { tools: [...called].map((name) => toolSpec({ name, schema: undefined })), toolChoice: undefined };
}

function writeTool(tool: Tool, { names, caches, dropped, strictSchemas }: ToolsContext): readonly JsonRecord[] {
  const strict = keptValue(tool.strict, strictSchemas, dropped, false);
  const spec = toolSpec({
    name: names.send(tool.name),
    description: toolDescription(tool),
    schema: strict === true ? anthropicSchema(toolSchema(tool.schema)) : tool.schema,
    strict: strict === true ? true : undefined,
  });
  return [spec, ...caches.afterTool(tool.cache)];
}

interface ToolSpec {
  readonly name: unknown;
  readonly description?: string | undefined;
  readonly schema: JsonRecord | undefined;
  readonly strict?: true | undefined;
}

function toolSpec({ schema, ...rest }: ToolSpec): JsonRecord {
  return { toolSpec: { ...rest, inputSchema: { json: toolSchema(schema) } } };
}

/** `auto` is the default, and is not sent: models without tool choice refuse the field. */
function writeChoice(choice: ToolChoice | undefined, { names }: ToolsContext): JsonRecord | undefined {
  if (choice?.mode !== 'Required') return undefined;
  const name = forcedTool(choice);
  return name === undefined ? { any: {} } : { tool: { name: names.send(name) } };
}

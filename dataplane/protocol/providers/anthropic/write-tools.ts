/** Writes tools, and the choice among them. A conversation that has called a tool needs the tool's declaration. */
import type { ModelCapabilities } from '../../capabilities.ts';
import type { Settings, Tool, ToolChoice, Turn } from '../../conversation/request.ts';
import { keptValue } from '../../conversation/take.ts';
import { allowedTools, forcedTool } from '../../conversation/tool-choice.ts';
import type { DroppedFields } from '../../dropped-fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { anthropicSchema, toolSchema } from '../../json-schemas.ts';
import type { ToolNames } from '../../tool-ids.ts';
import { withCache } from './write-parts.ts';

export interface ToolsContext {
  readonly names: ToolNames;
  readonly dropped: DroppedFields;
  readonly capabilities: Pick<ModelCapabilities, 'strictSchemas' | 'parallelTools'>;
  readonly turns: readonly Turn[];
}

export interface WrittenTools {
  /** Undefined: there are none. */
  readonly tools: readonly JsonRecord[] | undefined;
  /** Undefined: the default. */
  readonly choice: JsonRecord | undefined;
}

export function writeTools(given: readonly Tool[], settings: Settings, context: ToolsContext): WrittenTools {
  const allowed = allowedTools(given, settings.toolChoice?.value);
  if (allowed.length > 0)
    return { tools: allowed.map((tool) => writeTool(tool, context)), choice: writeChoice(settings, context) };
  const called = calledTools(context);
  return called.length > 0 ? { tools: called, choice: { type: 'none' } } : { tools: undefined, choice: undefined };
}

function writeTool(tool: Tool, { names, dropped, capabilities }: ToolsContext): JsonRecord {
  const strict = keptValue(tool.strict, capabilities.strictSchemas, dropped, false);
  const schema = toolSchema(tool.schema);
  const written = {
    name: names.send(tool.name),
    description: tool.description,
    input_schema: strict === true ? anthropicSchema(schema) : schema,
    strict,
    ...(tool.examples.length > 0 && { input_examples: tool.examples }),
  };
  return withCache(written, tool.cache);
}

/** The tools of a conversation that declares none any more. */
function calledTools({ turns, names }: ToolsContext): readonly JsonRecord[] {
  const parts = turns.flatMap((turn) => (turn.role === 'Assistant' ? turn.parts : []));
  const called = new Set(parts.flatMap((part) => (part.type === 'ToolCall' ? [names.send(part.name)] : [])));
  return [...called].map((name) => ({ name, input_schema: toolSchema(undefined) }));
}

const MODES: Readonly<Record<ToolChoice['mode'], string>> = { Auto: 'auto', None: 'none', Required: 'any' };

function writeChoice(
  { toolChoice, parallelToolCalls }: Settings,
  { names, dropped, capabilities }: ToolsContext,
): JsonRecord | undefined {
  const parallel = keptValue(parallelToolCalls, capabilities.parallelTools, dropped, true);
  const forced = forcedTool(toolChoice?.value);
  const choice =
    forced === undefined
      ? toolChoice && { type: MODES[toolChoice.value.mode] }
      : { type: 'tool', name: names.send(forced) };
  if (parallel !== false || toolChoice?.value.mode === 'None') return choice;
  return { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

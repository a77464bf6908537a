/** Writes tools as functions, and the choice among them. */
import type { Settings, Tool } from '../../conversation/request.ts';
import { keptValue } from '../../conversation/take.ts';
import { allowedTools, forcedTool } from '../../conversation/tool-choice.ts';
import { writeFunction } from '../openai-tools.ts';
import type { ToolsContext, WrittenTools } from '../openai-tools.ts';

/** A choice needs tools. */
export function writeTools(given: readonly Tool[], settings: Settings, context: ToolsContext): WrittenTools {
  const { choice, tools } = chooseTools(given, settings, context);
  if (tools.length === 0) return { members: {}, paragraphs: [] };
  const paragraphs: string[] = [];
  const parallel = keptValue(settings.parallelToolCalls, context.capabilities.parallelTools, context.dropped, true);
  return {
    members: {
      tools: tools.map((tool) => ({ type: 'function', function: writeFunction(tool, paragraphs, context) })),
      tool_choice: choice,
      parallel_tool_calls: parallel === false ? false : undefined,
    },
    paragraphs,
  };
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

/** Writes tools as functions, and the choice among them. */
import type { Settings, Tool } from '../../conversation/request.ts';
import { keptValue } from '../../conversation/take.ts';
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
  const { mode, names: allowed } = toolChoice.value;
  const [only] = allowed ?? [];
  if (mode === 'Required' && allowed?.length === 1)
    return { choice: { type: 'function', function: { name: names.send(only) } }, tools };
  const choice = { Auto: 'auto', None: 'none', Required: 'required' }[mode];
  return { choice, tools: allowed ? tools.filter(({ name }) => allowed.includes(name)) : tools };
}

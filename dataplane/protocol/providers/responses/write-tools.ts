/** Writes tools, and the choice among them. */
import type { Settings, Tool, ToolChoice } from '../../conversation/request.ts';
import { keptValue } from '../../conversation/take.ts';
import type { JsonRecord } from '../../fields.ts';
import { describeTool, writeFunction } from '../openai-tools.ts';
import type { ToolsContext, WrittenTools } from '../openai-tools.ts';

/** A choice needs tools. */
export function writeTools(tools: readonly Tool[], settings: Settings, context: ToolsContext): WrittenTools {
  if (tools.length === 0) return { members: {}, paragraphs: [] };
  const paragraphs: string[] = [];
  const { capabilities, dropped } = context;
  const parallel = keptValue(settings.parallelToolCalls, capabilities.parallelTools, dropped, true);
  const choice = settings.toolChoice?.value;
  return {
    members: {
      tools: tools.map((tool) => writeTool(tool, paragraphs, context)),
      tool_choice: choice && writeChoice(choice, tools, context),
      parallel_tool_calls: parallel === false ? false : undefined,
    },
    paragraphs,
  };
}

/** A function without `strict` is strict. */
function writeTool(tool: Tool, paragraphs: string[], context: ToolsContext): JsonRecord {
  if (tool.takesText) return { type: 'custom', ...describeTool(tool, paragraphs, context) };
  const { strict = false, ...definition } = writeFunction(tool, paragraphs, context);
  return { type: 'function', ...definition, strict };
}

function writeChoice({ mode, names }: ToolChoice, tools: readonly Tool[], context: ToolsContext): unknown {
  const word = { Auto: 'auto', None: 'none', Required: 'required' }[mode];
  if (names === undefined || mode === 'None') return word;
  const chosen = names.map((name) => reference(name, tools, context));
  const [only] = chosen;
  return mode === 'Required' && chosen.length === 1 ? only : { type: 'allowed_tools', mode: word, tools: chosen };
}

function reference(name: string, tools: readonly Tool[], { names }: ToolsContext): JsonRecord {
  const takesText = tools.some((tool) => tool.name === name && tool.takesText);
  return { type: takesText ? 'custom' : 'function', name: names.send(name) };
}

/** Reads the tools of a messages request, and the choice among them. */
import { isCustomTool, isServerTool } from '../../anthropic/tool-types.ts';
import type { Settings, Tool, ToolChoice } from '../../conversation/request.ts';
import { readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, itemsOf, readRecords, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { toolParam } from '../../provider-tools.ts';
import { malformed } from '../../unsupported.ts';
import { cacheMark } from '../cache-mark.ts';
import type { BlockContext } from './read-parts.ts';
import { TOOL, TOOL_CHOICE } from './table.ts';

export interface ReadTools {
  readonly tools: readonly Tool[];
  readonly choice: Pick<Settings, 'toolChoice' | 'parallelToolCalls'>;
}

export function readTools(value: unknown, choice: unknown, context: BlockContext): ReadTools {
  const left = new Set<unknown>();
  const tools = readRecords(value, 'tools').flatMap((tool, index) => {
    const path = `tools[${index}]`;
    const isOwn = isClientTool(tool, path, context);
    if (isOwn) return [readTool(tool, path, context.unread)];
    left.add(tool['name']);
    return [];
  });
  return { tools, choice: readChoice(choice, left, context.unread) };
}

/** Whether the client runs the tool and describes it itself; any other is listed as unread. */
function isClientTool(tool: JsonRecord, path: string, { providerTools, unread }: BlockContext): boolean {
  if (isCustomTool(tool['type'])) return true;
  if (!isServerTool(tool))
    unread.push({ path: `${path}.type`, handling: 'Refused', why: "its description is Anthropic's own" });
  else if (providerTools === 'Refuse')
    unread.push({ path: `${path}.type`, handling: 'Refused', why: 'it runs no such tool' });
  else unread.push({ path: toolParam(path, tool), handling: 'Omitted', why: undefined });
  return false;
}

function readTool(tool: JsonRecord, path: string, unread: UnreadField[]): Tool {
  const fields = readFields(TOOL, tool, { param: path, unread });
  const { strict, input_schema: schema } = fields;
  return {
    name: stringOf(fields.name),
    description: textOf(fields.description),
    schema: isRecord(schema) ? schema : undefined,
    strict: typeof strict === 'boolean' ? { value: strict, path: `${path}.strict` } : undefined,
    examples: itemsOf(fields.input_examples),
    cache: cacheMark(fields.cache_control),
    takesText: false,
    path,
  };
}

const MODES: Readonly<Record<string, ToolChoice['mode']>> = { auto: 'Auto', none: 'None', any: 'Required' };

/** `left`: the names of tools that were left out, which cannot be chosen. */
function readChoice(choice: unknown, left: ReadonlySet<unknown>, unread: UnreadField[]): ReadTools['choice'] {
  if (!isGiven(choice)) return {};
  const path = 'tool_choice';
  if (!isRecord(choice)) throw malformed(path, 'an object');
  const fields = readFields(TOOL_CHOICE, choice, { param: path, unread });
  const parallel =
    fields.disable_parallel_tool_use === true
      ? { parallelToolCalls: { value: false, path: `${path}.disable_parallel_tool_use` } }
      : {};
  const chosen = choiceOf(stringOf(fields.type), fields.name);
  if (!chosen) unread.push({ path, handling: 'Refused', why: undefined });
  else if (!chosen.names || !left.has(fields.name)) return { toolChoice: { value: chosen, path }, ...parallel };
  else unread.push({ path, handling: 'Omitted', why: undefined });
  return parallel;
}

/** Undefined: the choice is none that the protocol has. */
function choiceOf(type: string, name: unknown): ToolChoice | undefined {
  if (type === 'tool') return { mode: 'Required', names: [stringOf(name)] };
  const mode = MODES[type];
  return mode && { mode, names: undefined };
}

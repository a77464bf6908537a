/**
 * Converts Anthropic's tools and tool choices to OpenAI's.
 */
import { isCustomTool } from '../anthropic/tool-types.ts';
import { readObject } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import type { ToolNames } from '../tool-ids.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { location } from './blocks.ts';
import { CHOICES, TOOL, TOOL_CHOICE } from './table.ts';

export interface ConvertedTools {
  readonly tools: readonly JsonRecord[] | undefined;
  readonly tool_choice: unknown;
  readonly parallel_tool_calls: false | undefined;
}

const NO_CHOICE = { tool_choice: undefined, parallel_tool_calls: undefined };

/** Throws RequestFault for a tool that the client does not define itself. */
export function convertTools(value: unknown, choice: unknown, names: ToolNames): ConvertedTools {
  const tools = readRecords(value, 'tools').map((tool, index) => convertTool(tool, `tools[${index}]`, names));
  return tools.length > 0 ? { tools, ...convertChoice(choice, names) } : { tools: undefined, ...NO_CHOICE };
}

function convertTool(tool: JsonRecord, param: string, names: ToolNames): JsonRecord {
  if (!isCustomTool(tool['type'])) throw unsupported(`${param}.type`, 'OpenAI', 'its description is Anthropic\'s own');
  const {
    name, description, input_schema: schema, strict, input_examples: examples,
  } = readObject(TOOL, tool, location(param));
  return {
    type: 'function',
    function: {
      name: names.send(name),
      description: describe(textOf(description), itemsOf(examples)),
      parameters: isRecord(schema) ? schema : { type: 'object', properties: {} },
      strict: typeof strict === 'boolean' ? strict : undefined,
    },
  };
}

function describe(description: string | undefined, examples: readonly unknown[]): string | undefined {
  if (examples.length === 0) return description;
  const lines = ['Examples of input:', ...examples.map(writeJson)].join('\n');
  return description === undefined ? lines : `${description}\n\n${lines}`;
}

function convertChoice(choice: unknown, names: ToolNames): Omit<ConvertedTools, 'tools'> {
  if (!isGiven(choice)) return NO_CHOICE;
  if (!isRecord(choice)) throw malformed('tool_choice', 'an object');
  const { type, name, disable_parallel_tool_use: single } = readObject(TOOL_CHOICE, choice, location('tool_choice'));
  const kind = CHOICES.values.get(stringOf(type));
  if (kind === undefined) throw unsupported('tool_choice', 'OpenAI');
  return {
    tool_choice: type === 'tool' ? { type: 'function', function: { name: names.send(name) } } : kind,
    parallel_tool_calls: single === true ? false : undefined,
  };
}

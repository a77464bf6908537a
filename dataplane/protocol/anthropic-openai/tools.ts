/**
 * Anthropic's tools and choices as OpenAI's.
 */
import { isCustomTool } from '../anthropic/tool-types.ts';
import { isGiven, isRecord, readRecords, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { unsupported } from '../unsupported.ts';

/** Undefined: no tools. Throws RequestFault for one that is not the client's own. */
export function convertTools(value: unknown): readonly JsonRecord[] | undefined {
  const tools = readRecords(value, 'tools').map((tool, index) => convertTool(tool, `tools[${index}]`));
  return tools.length > 0 ? tools : undefined;
}

function convertTool(tool: JsonRecord, param: string): JsonRecord {
  if (!isCustomTool(tool['type'])) throw unsupported(`${param}.type`, 'OpenAI');
  return {
    type: 'function',
    function: {
      name: tool['name'],
      description: textOf(tool['description']),
      parameters: isRecord(tool['input_schema']) ? tool['input_schema'] : { type: 'object', properties: {} },
      strict: typeof tool['strict'] === 'boolean' ? tool['strict'] : undefined,
    },
  };
}

/** Undefined: the default. */
export function convertToolChoice(choice: unknown): unknown {
  if (!isGiven(choice)) return undefined;
  switch (isRecord(choice) ? choice['type'] : undefined) {
    case 'auto': return 'auto';
    case 'any': return 'required';
    case 'none': return 'none';
    case 'tool': return { type: 'function', function: { name: isRecord(choice) ? choice['name'] : undefined } };
    default: throw unsupported('tool_choice', 'OpenAI');
  }
}

export function parallelToolCalls(choice: unknown): false | undefined {
  return isRecord(choice) && choice['disable_parallel_tool_use'] === true ? false : undefined;
}

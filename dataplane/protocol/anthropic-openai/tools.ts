/**
 * Converts Anthropic's tools and tool choices to OpenAI's.
 */
import { describeTool, isLeftOut, requireCustomTool } from '../anthropic/converted-tools.ts';
import type { ModelCapabilities } from '../capabilities.ts';
import type { RequestPlan } from '../converter.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { readObject } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { openAiStrictSchema, toolSchema } from '../json-schemas.ts';
import { shortenDescription } from '../tool-descriptions.ts';
import type { ToolNames } from '../tool-ids.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { location } from './blocks.ts';
import { CHOICES, TOOL, TOOL_CHOICE } from './table.ts';

export interface ConvertedTools {
  readonly tools: readonly JsonRecord[] | undefined;
  readonly tool_choice: unknown;
  readonly parallel_tool_calls: false | undefined;
  /** Descriptions that are too long for a tool, as paragraphs for the system message. */
  readonly overflow: readonly string[];
}

export interface ToolOptions {
  readonly names: ToolNames;
  readonly dropped: DroppedFields;
  readonly capabilities: ModelCapabilities;
  readonly providerTools: RequestPlan['providerTools'];
}

const NO_TOOLS: ConvertedTools = {
  tools: undefined,
  tool_choice: undefined,
  parallel_tool_calls: undefined,
  overflow: [],
};

const NO_CHOICE = { tool_choice: undefined, parallel_tool_calls: undefined };

interface ToolRequest {
  readonly tools: unknown;
  readonly tool_choice: unknown;
}

/** Throws RequestFault for a tool that Anthropic defines and the client runs. */
export function convertTools({ tools: value, tool_choice: choice }: ToolRequest, options: ToolOptions): ConvertedTools {
  const overflow: string[] = [];
  const left = new Set<unknown>();
  const tools = readRecords(value, 'tools').flatMap((tool, index) => {
    if (isLeftOut(tool, location(`tools[${index}]`), { ...options, why: 'the provider runs no such tool' })) {
      left.add(tool['name']);
      return [];
    }
    const definition = convertTool(tool, `tools[${index}]`, options);
    const short = shortened(definition, options.capabilities.toolDescriptionLength, overflow);
    return [{ type: 'function', function: { ...definition, ...short } }];
  });
  const possible = isRecord(choice) && choice['type'] === 'tool' && left.has(choice['name']) ? undefined : choice;
  if (possible !== choice) options.dropped.add('tool_choice');
  return tools.length > 0 ? { tools, ...convertChoice(possible, options), overflow } : NO_TOOLS;
}

function convertTool(tool: JsonRecord, param: string, { names, dropped, capabilities }: ToolOptions): JsonRecord {
  requireCustomTool(tool, location(param));
  const {
    name,
    description,
    input_schema: schema,
    strict,
    input_examples: examples,
  } = readObject(TOOL, tool, location(param));
  const parameters = toolSchema(schema);
  const strictParameters = strict === true && capabilities.strictSchemas ? openAiStrictSchema(parameters) : undefined;
  if (strict === true && !strictParameters) dropped.add(`${param}.strict`);
  return {
    name: names.send(name),
    description: describeTool(textOf(description), itemsOf(examples)),
    parameters: strictParameters ?? parameters,
    strict: strictParameters ? true : strict === false && capabilities.strictSchemas ? false : undefined,
  };
}

/** The description, if the model's limit makes it shorter. */
function shortened({ name, description }: JsonRecord, limit: number, overflow: string[]): JsonRecord {
  const text = stringOf(description);
  const short = shortenDescription({ name: stringOf(name), description: text }, limit, overflow);
  return short === text ? {} : { description: short };
}

function convertChoice(
  choice: unknown,
  { names, dropped, capabilities }: ToolOptions,
): Pick<ConvertedTools, 'tool_choice' | 'parallel_tool_calls'> {
  if (!isGiven(choice)) return NO_CHOICE;
  if (!isRecord(choice)) throw malformed('tool_choice', 'an object');
  const { type, name, disable_parallel_tool_use: single } = readObject(TOOL_CHOICE, choice, location('tool_choice'));
  const kind = CHOICES.values.get(stringOf(type));
  if (kind === undefined) throw unsupported('tool_choice', 'OpenAI');
  const parallel = single === true ? false : undefined;
  return {
    tool_choice: type === 'tool' ? { type: 'function', function: { name: names.send(name) } } : kind,
    parallel_tool_calls: dropped.keepIf(capabilities.parallelTools, 'tool_choice.disable_parallel_tool_use', parallel),
  };
}

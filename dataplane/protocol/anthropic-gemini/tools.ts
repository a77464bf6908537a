/**
 * Converts Anthropic's tools and tool choices to Gemini's function declarations and their `toolConfig`.
 */
import { describeTool, isLeftOut, requireCustomTool } from '../anthropic/converted-tools.ts';
import { readObject } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { toolSchema } from '../json-schemas.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { location } from './blocks.ts';
import type { ConversionContext } from './messages.ts';
import { TOOL, TOOL_CHOICE } from './table.ts';

interface ToolRequest {
  readonly tools: unknown;
  readonly tool_choice: unknown;
}

interface ConvertedTools {
  readonly tools?: readonly JsonRecord[];
  readonly toolConfig?: JsonRecord;
}

/** Without tools both are absent. Throws RequestFault for a tool that Anthropic defines and the client runs. */
export function convertTools(
  { tools: value, tool_choice: choice }: ToolRequest,
  context: ConversionContext,
): ConvertedTools {
  const left = new Set<unknown>();
  const given = readRecords(value, 'tools').filter((tool, index) => {
    if (!isLeftOut(tool, location(`tools[${index}]`), { ...context, why: 'it runs no such tool' })) return true;
    left.add(tool['name']);
    return false;
  });
  const declarations = given.map((tool, index) => convertTool(tool, `tools[${index}]`, context));
  const config = convertChoice(choice, left, context);
  if (declarations.length === 0) return {};
  const strict = context.capabilities.strictSchemas && given.some((tool) => tool['strict'] === true);
  const calling = config ?? (strict ? { mode: 'VALIDATED' } : undefined);
  return {
    tools: [{ functionDeclarations: declarations }],
    ...(calling && { toolConfig: { functionCallingConfig: calling } }),
  };
}

function convertTool(tool: JsonRecord, param: string, { names }: ConversionContext): JsonRecord {
  requireCustomTool(tool, location(param));
  const { name, description, input_schema: schema, input_examples: examples } = readObject(TOOL, tool, location(param));
  const { $schema: _dialect, ...parameters } = toolSchema(schema);
  return {
    name: names.send(name),
    description: describeTool(textOf(description), itemsOf(examples)),
    parametersJsonSchema: parameters,
  };
}

/** Undefined: the model chooses, which is the default. */
function convertChoice(
  choice: unknown,
  left: ReadonlySet<unknown>,
  { names, dropped }: ConversionContext,
): JsonRecord | undefined {
  if (!isGiven(choice)) return undefined;
  if (!isRecord(choice)) throw malformed('tool_choice', 'an object');
  const { type, name } = readObject(TOOL_CHOICE, choice, { ...location('tool_choice'), dropped });
  switch (stringOf(type)) {
    case 'auto':
      return undefined;
    case 'none':
      return { mode: 'NONE' };
    case 'any':
      return { mode: 'ANY' };
    case 'tool':
      if (!left.has(name)) return { mode: 'ANY', allowedFunctionNames: [names.send(name)] };
      dropped.add('tool_choice');
      return undefined;
    default:
      throw unsupported('tool_choice', 'Gemini');
  }
}

/**
 * Converts Anthropic's tools and tool choices to the `toolConfig` of Converse, which a conversation needs as soon as it
 * has called a tool.
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

/** Undefined: there are no tools. Throws RequestFault for a tool that Anthropic defines and the client runs. */
export function convertTools(
  { tools: value, tool_choice: choice }: ToolRequest,
  called: ReadonlySet<string>,
  context: ConversionContext,
): JsonRecord | undefined {
  const left = new Set<unknown>();
  const tools = readRecords(value, 'tools').flatMap((tool, index) => {
    const param = `tools[${index}]`;
    if (!isLeftOut(tool, location(param), { ...context, why: 'it runs no such tool' }))
      return convertTool(tool, param, context);
    left.add(tool['name']);
    return [];
  });
  const { isNone, toolChoice } = convertChoice(choice, left, context);
  if (isNone && called.size === 0) return undefined;
  const sent = tools.length > 0 ? tools : [...called].map((name) => toolSpec({ name, schema: {} }));
  if (sent.length === 0) return undefined;
  if (isNone && tools.length > 0) context.dropped.add('tool_choice');
  return { tools: sent, toolChoice: tools.length > 0 ? toolChoice : undefined };
}

function convertTool(tool: JsonRecord, param: string, context: ConversionContext): readonly JsonRecord[] {
  const { names, dropped, capabilities, caches } = context;
  requireCustomTool(tool, location(param));
  const {
    name,
    description,
    input_schema: schema,
    strict,
    input_examples: examples,
    cache_control: control,
  } = readObject(TOOL, tool, location(param));
  const isStrict = dropped.keepIf(capabilities.strictSchemas, `${param}.strict`, strict === true ? true : undefined);
  const spec = toolSpec({
    name: names.send(name),
    description: describeTool(textOf(description), itemsOf(examples)),
    schema,
    strict: isStrict,
  });
  return [spec, ...caches.afterTool(control)];
}

interface ToolSpec {
  readonly name: unknown;
  readonly description?: string | undefined;
  readonly schema: unknown;
  readonly strict?: true | undefined;
}

function toolSpec({ schema, ...rest }: ToolSpec): JsonRecord {
  return { toolSpec: { ...rest, inputSchema: { json: toolSchema(schema) } } };
}

interface Choice {
  readonly isNone: boolean;
  readonly toolChoice?: JsonRecord;
}

/** `auto` is the default, and is not sent: models without tool choice refuse the field. */
function convertChoice(choice: unknown, left: ReadonlySet<unknown>, { names, dropped }: ConversionContext): Choice {
  if (!isGiven(choice)) return { isNone: false };
  if (!isRecord(choice)) throw malformed('tool_choice', 'an object');
  const { type, name } = readObject(TOOL_CHOICE, choice, { ...location('tool_choice'), dropped });
  switch (stringOf(type)) {
    case 'auto':
      return { isNone: false };
    case 'none':
      return { isNone: true };
    case 'any':
      return { isNone: false, toolChoice: { any: {} } };
    case 'tool':
      if (!left.has(name)) return { isNone: false, toolChoice: { tool: { name: names.send(name) } } };
      dropped.add('tool_choice');
      return { isNone: false };
    default:
      throw unsupported('tool_choice', 'Converse');
  }
}

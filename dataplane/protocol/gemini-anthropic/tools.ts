/**
 * Converts Google's tools and function calling modes to Anthropic's.
 */
import type { RequestPlan } from '../converter.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { readObject } from '../field-table.ts';
import type { FieldLocation } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { toolSchema } from '../json-schemas.ts';
import type { ToolNames } from '../tool-ids.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { toJsonSchema } from './schemas.ts';
import { CALLING_CONFIG, FUNCTION, MODES, TOOL, TOOL_CONFIG } from './table.ts';

export interface ToolsContext {
  readonly upstream: string;
  readonly names: ToolNames;
  readonly dropped: DroppedFields;
  readonly plan: Pick<RequestPlan, 'providerTools'>;
}

export interface ConvertedTools {
  /** Undefined: none. */
  readonly tools: readonly JsonRecord[] | undefined;
  /** The paths of the declarations that became the tools. */
  readonly params: readonly string[];
  readonly choice: JsonRecord | undefined;
}

/** Throws RequestFault for a tool without a counterpart. */
export function convertTools(tools: unknown, config: unknown, context: ToolsContext): ConvertedTools {
  const { mode, allowed } = readCalling(config, context);
  const declared = readRecords(tools, 'tools')
    .flatMap((tool, index) => declarationsOf(tool, `tools[${index}]`, context))
    .filter(({ declaration: { name } }) => !allowed || allowed.includes(name));
  if (declared.length === 0) return { tools: undefined, params: [], choice: undefined };
  const [only] = allowed ?? [];
  const choice =
    mode === 'any' && allowed?.length === 1
      ? { type: 'tool', name: context.names.send(only) }
      : mode === undefined
        ? undefined
        : { type: mode };
  return {
    tools: declared.map(({ declaration, param }) => convertFunction(declaration, param, context)),
    params: declared.map(({ param }) => param),
    choice,
  };
}

interface Calling {
  /** In Anthropic's terms; undefined: the default. */
  readonly mode: string | undefined;
  /** Undefined: all functions. */
  readonly allowed: readonly unknown[] | undefined;
}

function readCalling(config: unknown, { upstream, dropped }: ToolsContext): Calling {
  if (!isGiven(config)) return { mode: undefined, allowed: undefined };
  if (!isRecord(config)) throw malformed('toolConfig', 'an object');
  const { functionCallingConfig: calling } = readObject(TOOL_CONFIG, config, {
    param: 'toolConfig',
    upstream,
    dropped,
  });
  if (!isRecord(calling)) return { mode: undefined, allowed: undefined };
  const location: FieldLocation = { param: 'toolConfig.functionCallingConfig', upstream, dropped };
  const { mode: given, allowedFunctionNames } = readObject(CALLING_CONFIG, calling, location);
  const mode = isGiven(given) ? MODES.values.get(stringOf(given).toUpperCase()) : undefined;
  if (isGiven(given) && mode === undefined) throw unsupported(`${location.param}.mode`, upstream);
  const allowed = itemsOf(allowedFunctionNames);
  return { mode: given === 'MODE_UNSPECIFIED' ? undefined : mode, allowed: allowed.length > 0 ? allowed : undefined };
}

interface Declared {
  readonly declaration: JsonRecord;
  readonly param: string;
}

/** Leaves out and names the tools that Google runs. */
function declarationsOf(tool: JsonRecord, param: string, context: ToolsContext): readonly Declared[] {
  const {
    upstream,
    dropped,
    plan: { providerTools },
  } = context;
  const own = Object.keys(tool).find((name) => isGiven(tool[name]) && TOOL.fields.get(name)?.action === 'Omitted');
  if (own !== undefined && providerTools === 'Refuse')
    throw unsupported(`${param}.${own}`, upstream, 'the provider runs no such tool');
  const { functionDeclarations } = readObject(TOOL, tool, { param, upstream, dropped });
  return readRecords(functionDeclarations, `${param}.functionDeclarations`).map((declaration, index) => ({
    declaration,
    param: `${param}.functionDeclarations[${index}]`,
  }));
}

function convertFunction(declaration: JsonRecord, param: string, { upstream, names }: ToolsContext): JsonRecord {
  const { name, description, parameters, parametersJsonSchema } = readObject(FUNCTION, declaration, {
    param,
    upstream,
  });
  const schema = isRecord(parametersJsonSchema)
    ? parametersJsonSchema
    : isRecord(parameters)
      ? toJsonSchema(parameters)
      : {};
  return { name: names.send(name), description: textOf(description), input_schema: toolSchema(schema) };
}

/** Reads Google's tools, and the mode of calling them. */
import type { Located, Tool, ToolChoice } from '../../conversation/request.ts';
import { readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, itemsOf, readRecords, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { malformed } from '../../unsupported.ts';
import type { ContentsContext } from './read-contents.ts';
import { toJsonSchema } from './schemas.ts';
import { CALLING_CONFIG, FUNCTION, TOOL, TOOL_CONFIG } from './table.ts';

export function readTools(value: unknown, context: ContentsContext): readonly Tool[] {
  return readRecords(value, 'tools').flatMap((tool, index) => readTool(tool, `tools[${index}]`, context));
}

/** Tools that Google runs are listed. */
function readTool(tool: JsonRecord, path: string, { unread, providerTools }: ContentsContext): readonly Tool[] {
  const found: UnreadField[] = [];
  const { functionDeclarations } = readFields(TOOL, tool, { param: path, unread: found });
  const isRefused = providerTools === 'Refuse';
  unread.push(...found.map((field) => (isRefused ? { ...field, handling: 'Refused' as const } : field)));
  const param = `${path}.functionDeclarations`;
  return readRecords(functionDeclarations, param).map((declaration, index) =>
    readFunction(declaration, `${param}[${index}]`, unread),
  );
}

function readFunction(declaration: JsonRecord, path: string, unread: UnreadField[]): Tool {
  const { name, description, parameters, parametersJsonSchema } = readFields(FUNCTION, declaration, {
    param: path,
    unread,
  });
  return {
    name: stringOf(name),
    description: textOf(description),
    schema: schemaOf(parametersJsonSchema, parameters),
    strict: undefined,
    examples: [],
    cache: undefined,
    takesText: false,
    path,
  };
}

function schemaOf(jsonSchema: unknown, openApi: unknown): JsonRecord | undefined {
  if (isRecord(jsonSchema)) return jsonSchema;
  return isRecord(openApi) ? toJsonSchema(openApi) : undefined;
}

const MODES: Readonly<Record<string, ToolChoice['mode']>> = {
  MODE_UNSPECIFIED: 'Auto',
  AUTO: 'Auto',
  VALIDATED: 'Auto',
  ANY: 'Required',
  NONE: 'None',
};

/** Undefined: the default. */
export function readChoice(config: unknown, { unread }: ContentsContext): Located<ToolChoice> | undefined {
  if (!isGiven(config)) return undefined;
  if (!isRecord(config)) throw malformed('toolConfig', 'an object');
  const { functionCallingConfig: calling } = readFields(TOOL_CONFIG, config, { param: 'toolConfig', unread });
  if (!isRecord(calling)) return undefined;
  const path = 'toolConfig.functionCallingConfig';
  const { mode: given, allowedFunctionNames } = readFields(CALLING_CONFIG, calling, { param: path, unread });
  const mode = isGiven(given) ? MODES[stringOf(given).toUpperCase()] : 'Auto';
  if (mode === undefined) {
    unread.push({ path: `${path}.mode`, handling: 'Refused', why: undefined });
    return undefined;
  }
  const names = itemsOf(allowedFunctionNames).filter((name) => typeof name === 'string');
  if (mode === 'Auto' && names.length === 0) return undefined;
  return { value: { mode, names: names.length > 0 ? names : undefined }, path };
}

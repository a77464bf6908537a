/** Reads tools, older functions, and the choice among them. */
import type { ConversionNotes } from '../../converter.ts';
import type { Settings, Tool, ToolChoice } from '../../conversation/request.ts';
import { kindOf, readFields } from '../../field-table.ts';
import type { ReadPlace, UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, itemsOf, readRecords, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { isClientTool } from '../../openai/facts.ts';
import { toolParam } from '../../provider-tools.ts';
import { malformed } from '../../unsupported.ts';
import { cacheMark } from '../cache-mark.ts';
import type { ReadContext } from '../client.ts';
import { CHOICES, CUSTOM_TOOL, FUNCTION, TOOL, TOOLS } from './table.ts';
import type { ChatRequest } from './table.ts';

/** The arguments of a tool that takes one text. */
const TEXT_INPUT = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};

export interface ToolsContext extends Pick<ReadContext, 'providerTools'> {
  readonly unread: UnreadField[];
}

export interface ReadTools {
  readonly tools: readonly Tool[];
  readonly choice: Pick<Settings, 'toolChoice' | 'parallelToolCalls'>;
  /** What the response's writer has to know of the tools. */
  readonly notes: ConversionNotes;
}

/** Throws RequestFault for a tool that is malformed. */
export function readTools(request: ChatRequest, context: ToolsContext): ReadTools {
  const { unread } = context;
  const functions = readRecords(request.functions, 'functions').map((definition, index) =>
    readFunction(definition, { param: `functions[${index}]`, unread }),
  );
  const current = readRecords(request.tools, 'tools').flatMap((tool, index) =>
    readTool(tool, `tools[${index}]`, context),
  );
  const isLegacy = functions.length > 0 && itemsOf(request.tools).length === 0;
  const tools = [...current, ...functions];
  const custom = new Set(tools.filter(({ takesText }) => takesText).map(({ name }) => name));
  return {
    tools,
    choice: tools.length === 0 ? {} : readChoices(request, isLegacy, unread),
    notes: { ...(custom.size > 0 && { customTools: custom }), ...(isLegacy && { legacyFunctions: true }) },
  };
}

/** A tool that the provider would have to run is listed as unread. */
function readTool(tool: JsonRecord, param: string, { providerTools, unread }: ToolsContext): readonly Tool[] {
  if (providerTools === 'Drop' && !isClientTool(tool)) {
    unread.push({ path: toolParam(param, tool), handling: 'Omitted', why: undefined });
    return [];
  }
  const kind = kindOf(TOOLS, tool['type'] ?? 'function', { param: `${param}.type`, unread });
  if (!kind) return [];
  const { function: definition, custom, cache_control: control } = readFields(TOOL, tool, { param, unread });
  const cache = cacheMark(control);
  if (kind === 'custom') return [{ ...readCustom(custom, { param: `${param}.custom`, unread }), cache }];
  if (!isRecord(definition)) throw malformed(`${param}.function`, 'an object');
  const read = readFunction(definition, { param: `${param}.function`, unread });
  return [{ ...read, cache: cache ?? read.cache }];
}

function readFunction(definition: JsonRecord, { param, unread }: ReadPlace): Tool {
  const fields = readFields(FUNCTION, definition, { param, unread });
  const { strict, parameters } = fields;
  return {
    name: stringOf(fields.name),
    description: textOf(fields.description),
    schema: isRecord(parameters) ? parameters : undefined,
    strict: typeof strict === 'boolean' ? { value: strict, path: `${param}.strict` } : undefined,
    examples: [],
    cache: cacheMark(fields.cache_control),
    takesText: false,
    path: param,
  };
}

function readCustom(custom: unknown, { param, unread }: ReadPlace): Tool {
  if (!isRecord(custom)) throw malformed(param, 'an object');
  const { name, description } = readFields(CUSTOM_TOOL, custom, { param, unread });
  return {
    name: stringOf(name),
    description: textOf(description),
    schema: TEXT_INPUT,
    strict: undefined,
    examples: [],
    cache: undefined,
    takesText: true,
    path: param,
  };
}

/** A function_call holds one call, and without calls it does not matter how many there may be. */
function readChoices(request: ChatRequest, isLegacy: boolean, unread: UnreadField[]): ReadTools['choice'] {
  const path = isLegacy && !isGiven(request.tool_choice) ? 'function_call' : 'tool_choice';
  const value = readChoice(request[path], path, unread);
  const chosen = value ? { toolChoice: { value, path } } : {};
  if (value?.mode === 'None') return chosen;
  if (isLegacy) return { ...chosen, parallelToolCalls: { value: false, path: 'functions (one call)' } };
  const { parallel_tool_calls: parallel } = request;
  return typeof parallel === 'boolean'
    ? { ...chosen, parallelToolCalls: { value: parallel, path: 'parallel_tool_calls' } }
    : chosen;
}

/** Undefined: the default. */
function readChoice(choice: unknown, path: string, unread: UnreadField[]): ToolChoice | undefined {
  if (!isGiven(choice)) return undefined;
  const name = path === 'function_call' && isRecord(choice) ? choice['name'] : nameIn(choice);
  if (isGiven(name)) return { mode: 'Required', names: [stringOf(name)] };
  const allowed = allowedIn(choice);
  const mode = modeOf(allowed ? allowed['mode'] : choice);
  if (!mode) unread.push({ path, handling: 'Refused', why: undefined });
  return mode && { mode, names: allowed && itemsOf(allowed['tools']).map((tool) => stringOf(nameIn(tool))) };
}

/** The tools of a choice among some of them. */
function allowedIn(choice: unknown): JsonRecord | undefined {
  const allowed = isRecord(choice) && choice['type'] === 'allowed_tools' ? choice['allowed_tools'] : undefined;
  return isRecord(allowed) ? allowed : undefined;
}

function modeOf(word: unknown): ToolChoice['mode'] | undefined {
  const mode = CHOICES.values.get(stringOf(word));
  return mode === 'Auto' || mode === 'None' || mode === 'Required' ? mode : undefined;
}

/** The name of the tool that a choice is about. */
function nameIn(choice: unknown): unknown {
  if (!isRecord(choice)) return undefined;
  const named = choice['type'] === 'custom' ? choice['custom'] : choice['function'];
  return isRecord(named) ? named['name'] : undefined;
}

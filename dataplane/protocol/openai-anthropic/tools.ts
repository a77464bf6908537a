/**
 * Converts OpenAI's tools, tool choices and tool calls to Anthropic's.
 */
import type { ModelCapabilities } from '../capabilities.ts';
import type { ConversionNotes, RequestPlan } from '../converter.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { readKind, readObject } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { checkSize } from '../json-scan.ts';
import { anthropicSchema, toolSchema } from '../json-schemas.ts';
import { parseLossless } from '../json-value.ts';
import { isClientTool } from '../openai/facts.ts';
import { toolParam } from '../provider-tools.ts';
import { ToolNames, toToolUseId } from '../tool-ids.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { cacheOf } from './cache-control.ts';
import { location } from './parts.ts';
import { CHOICES, CUSTOM_CALL, CUSTOM_TOOL, FUNCTION, FUNCTION_CALL, TOOL, TOOL_CALL, TOOLS } from './table.ts';

/** The API's limit. */
const MAX_NAME_LENGTH = 128;
/** Wraps a custom tool's text. */
const TEXT_INPUT = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};

export interface ToolOptions {
  readonly dropped: DroppedFields;
  readonly capabilities: Pick<ModelCapabilities, 'strictSchemas'>;
  readonly providerTools: RequestPlan['providerTools'];
}

/** The tools of one request, and notes on them for the conversion of the response. */
export class RequestTools {
  readonly #options: ToolOptions;
  readonly #names = new ToolNames(MAX_NAME_LENGTH);
  readonly #custom = new Set<string>();
  #legacy = false;

  constructor(options: ToolOptions) {
    this.#options = options;
  }

  get notes(): ConversionNotes | undefined {
    const toolNames = this.#names.original;
    if (!toolNames && this.#custom.size === 0 && !this.#legacy) return undefined;
    return {
      ...(toolNames ? { toolNames } : {}),
      ...(this.#custom.size > 0 ? { customTools: this.#custom } : {}),
      ...(this.#legacy ? { legacyFunctions: true } : {}),
    };
  }

  /** Undefined: none. `choice` may exclude some. Throws RequestFault for a tool without a counterpart. */
  convertTools(tools: unknown, functions: unknown, choice: unknown): readonly JsonRecord[] | undefined {
    const legacy = readRecords(functions, 'functions').map((definition, index) =>
      this.#convertFunction(definition, `functions[${index}]`),
    );
    this.#legacy = legacy.length > 0 && itemsOf(tools).length === 0;
    const allowed = allowedNames(choice);
    const current = readRecords(tools, 'tools')
      .map((tool, index) => ({ name: namedIn(tool)?.['name'], converted: this.#convertTool(tool, `tools[${index}]`) }))
      .filter(({ name }) => allowed?.has(name) !== false)
      .map(({ converted }) => converted)
      .filter((converted) => converted !== undefined);
    const all = [...current, ...legacy];
    return all.length > 0 ? all : undefined;
  }

  /** Undefined: the default. `functionCall` is the choice among `functions`. */
  convertChoice(choice: unknown, functionCall: unknown, parallel: unknown): JsonRecord | undefined {
    const converted =
      this.#legacy && !isGiven(choice) ? this.#convertFunctionCall(functionCall) : this.#convertToolChoice(choice);
    // a function_call holds one call only
    if ((parallel !== false && !this.#legacy) || converted?.['type'] === 'none') return converted;
    return { ...(converted ?? { type: 'auto' }), disable_parallel_tool_use: true };
  }

  convertCalls(value: unknown, param: string): JsonRecord[] {
    return readRecords(value, param).map((call, index) => this.#convertCall(call, `${param}[${index}]`));
  }

  /** A function_call has no id; the caller makes one. */
  convertFunctionCall(called: unknown, id: string, param: string): JsonRecord {
    if (!isRecord(called)) throw malformed(param, 'an object');
    const { name, arguments: text } = readObject(FUNCTION_CALL, called, location(param));
    return { type: 'tool_use', id, name: this.#names.send(name), input: parseArguments(text) };
  }

  /** Undefined: the provider would have to run it. */
  #convertTool(tool: JsonRecord, param: string): JsonRecord | undefined {
    const { providerTools, dropped } = this.#options;
    if (providerTools === 'Drop' && !isClientTool(tool)) {
      dropped.add(toolParam(param, tool));
      return undefined;
    }
    const kind = readKind(TOOLS, tool['type'] ?? 'function', location(`${param}.type`));
    const { function: definition, custom, cache_control: control } = readObject(TOOL, tool, location(param));
    if (kind === 'custom') return { ...this.#convertCustom(custom, `${param}.custom`), ...cacheOf(control) };
    if (!isRecord(definition)) throw malformed(`${param}.function`, 'an object');
    return {
      ...this.#convertFunction(definition, `${param}.function`),
      ...cacheOf(control ?? definition['cache_control']),
    };
  }

  #convertFunction(definition: JsonRecord, param: string): JsonRecord {
    const { name, description, parameters, strict } = readObject(FUNCTION, definition, location(param));
    const schema = toolSchema(parameters);
    const {
      dropped,
      capabilities: { strictSchemas },
    } = this.#options;
    const isStrict = dropped.keepIf(strictSchemas, `${param}.strict`, strict === true, false);
    return {
      name: this.#names.send(name),
      description: textOf(description),
      input_schema: isStrict === true ? anthropicSchema(schema) : schema,
      strict: typeof strict === 'boolean' ? isStrict : undefined,
    };
  }

  #convertCustom(custom: unknown, param: string): JsonRecord {
    if (!isRecord(custom)) throw malformed(param, 'an object');
    const { name, description } = readObject(CUSTOM_TOOL, custom, location(param));
    const sent = this.#names.send(name);
    if (typeof sent === 'string') this.#custom.add(sent);
    return { name: sent, description: textOf(description), input_schema: TEXT_INPUT };
  }

  #convertToolChoice(choice: unknown): JsonRecord | undefined {
    if (!isGiven(choice)) return undefined;
    if (typeof choice === 'string') return choiceOf(choice, 'tool_choice');
    const named = namedIn(choice);
    if (named) return { type: 'tool', name: this.#names.send(named['name']) };
    const { mode } = allowedTools(choice) ?? {};
    return choiceOf(mode, 'tool_choice');
  }

  #convertFunctionCall(choice: unknown): JsonRecord | undefined {
    if (!isGiven(choice)) return undefined;
    return isRecord(choice)
      ? { type: 'tool', name: this.#names.send(choice['name']) }
      : choiceOf(choice, 'function_call');
  }

  #convertCall(call: JsonRecord, param: string): JsonRecord {
    const kind = readKind(TOOLS, call['type'] ?? 'function', location(`${param}.type`));
    const { id, function: called, custom, cache_control: control } = readObject(TOOL_CALL, call, location(param));
    const useId = toToolUseId(stringOf(id));
    if (stringOf(id) === '') throw malformed(`${param}.id`, 'the id of a tool call');
    if (kind === 'function')
      return { ...this.convertFunctionCall(called, useId, `${param}.function`), ...cacheOf(control) };
    if (!isRecord(custom)) throw malformed(`${param}.custom`, 'an object');
    const { name, input } = readObject(CUSTOM_CALL, custom, location(`${param}.custom`));
    return {
      type: 'tool_use',
      id: useId,
      name: this.#names.send(name),
      input: { input: stringOf(input) },
      ...cacheOf(control),
    };
  }
}

/** The names in `allowed_tools`; undefined: all tools may be called. */
function allowedNames(choice: unknown): ReadonlySet<unknown> | undefined {
  const allowed = isRecord(choice) ? allowedTools(choice) : undefined;
  return allowed && new Set(allowed.tools);
}

/** Whether the model must call a tool. */
export function forcesTool(choice: JsonRecord | undefined): boolean {
  return choice?.['type'] === 'any' || choice?.['type'] === 'tool';
}

function choiceOf(mode: unknown, param: string): JsonRecord {
  const type = CHOICES.values.get(stringOf(mode));
  if (type === undefined) throw unsupported(param, 'Anthropic');
  return { type };
}

function namedIn(choice: unknown): JsonRecord | undefined {
  if (!isRecord(choice)) return undefined;
  const named = choice['type'] === 'custom' ? choice['custom'] : choice['function'];
  return isRecord(named) ? named : undefined;
}

function allowedTools(choice: unknown): { mode: unknown; tools: unknown[] } | undefined {
  const allowed = isRecord(choice) && choice['type'] === 'allowed_tools' ? choice['allowed_tools'] : undefined;
  if (!isRecord(allowed)) return undefined;
  return { mode: allowed['mode'], tools: itemsOf(allowed['tools']).map((tool) => namedIn(tool)?.['name']) };
}

/**
 * The API accepts only an object; models also write truncated or empty arguments. Throws RequestFault where the text
 * holds more values than a body may.
 */
function parseArguments(value: unknown): JsonRecord {
  const text = stringOf(value);
  // to the scan of the body it was a single value
  checkSize(Buffer.from(text));
  try {
    const parsed = parseLossless(text);
    return isRecord(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

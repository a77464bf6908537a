/**
 * OpenAI's tools, choices and calls as Anthropic's.
 */
import type { AnswerNotes } from '../converter.ts';
import { readKind, readObject } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, readRecords, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseLossless } from '../json-value.ts';
import { toToolUseId, ToolNames } from '../tool-ids.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { at, cacheOf } from './parts.ts';
import { CHOICES, CUSTOM_CALL, CUSTOM_TOOL, FUNCTION, FUNCTION_CALL, TOOL, TOOL_CALL, TOOLS } from './table.ts';

/** The API's bound. */
const MOST_NAME_LENGTH = 128;
/** What a custom tool's text is wrapped in. */
const TEXT_INPUT = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'], additionalProperties: false };
const NO_INPUT = { type: 'object', properties: {} };

/** The tools of one request, and what its answer's conversion must know of them. */
export class RequestTools {
  readonly #names = new ToolNames(MOST_NAME_LENGTH);
  readonly #custom = new Set<string>();
  #legacy = false;

  get notes(): AnswerNotes | undefined {
    const toolNames = this.#names.original;
    if (!toolNames && this.#custom.size === 0 && !this.#legacy) return undefined;
    return { ...(toolNames ? { toolNames } : {}), ...(this.#custom.size > 0 ? { customTools: this.#custom } : {}), ...(this.#legacy ? { legacyFunctions: true } : {}) };
  }

  /** Undefined: none. `choice` may leave some out. Throws RequestFault for one that Anthropic has nothing like. */
  convertTools(tools: unknown, functions: unknown, choice: unknown): readonly JsonRecord[] | undefined {
    const older = readRecords(functions, 'functions').map((definition, index) => this.#convertFunction(definition, `functions[${index}]`));
    this.#legacy = older.length > 0 && itemsOf(tools).length === 0;
    const allowed = allowedNames(choice);
    const newer = readRecords(tools, 'tools').map((tool, index) => ({ name: namedIn(tool)?.['name'], converted: this.#convertTool(tool, `tools[${index}]`) }))
      .filter(({ name }) => allowed?.has(name) !== false).map(({ converted }) => converted);
    const all = [...newer, ...older];
    return all.length > 0 ? all : undefined;
  }

  /** Undefined: the default. `function_call` says the same of older functions. */
  convertChoice(choice: unknown, functionCall: unknown, parallel: unknown): JsonRecord | undefined {
    const older = this.#legacy && !isGiven(choice);
    const converted = older ? this.#convertFunctionCall(functionCall) : this.#convertToolChoice(choice);
    // an older answer has room for one call
    if ((parallel !== false && !this.#legacy) || converted?.['type'] === 'none') return converted;
    return { ...(converted ?? { type: 'auto' }), disable_parallel_tool_use: true };
  }

  convertCalls(value: unknown, param: string): JsonRecord[] {
    return readRecords(value, param).map((call, index) => this.#convertCall(call, `${param}[${index}]`));
  }

  /** An older message's call; it has no id of its own. */
  convertFunctionCall(called: unknown, id: string, param: string): JsonRecord {
    if (!isRecord(called)) throw malformed(param, 'an object');
    const { name, arguments: text } = readObject(FUNCTION_CALL, called, at(param));
    return { type: 'tool_use', id, name: this.#names.send(name), input: parseArguments(text) };
  }

  #convertTool(tool: JsonRecord, param: string): JsonRecord {
    const kind = readKind(TOOLS, tool['type'] ?? 'function', at(`${param}.type`));
    const { function: definition, custom, cache_control: control } = readObject(TOOL, tool, at(param));
    if (kind === 'custom') return { ...this.#convertCustom(custom, `${param}.custom`), ...cacheOf(control) };
    if (!isRecord(definition)) throw malformed(`${param}.function`, 'an object');
    return { ...this.#convertFunction(definition, `${param}.function`), ...cacheOf(control) };
  }

  #convertFunction(definition: JsonRecord, param: string): JsonRecord {
    const { name, description, parameters, strict } = readObject(FUNCTION, definition, at(param));
    return {
      name: this.#names.send(name),
      description: textOf(description),
      input_schema: isRecord(parameters) ? parameters : NO_INPUT,
      strict: typeof strict === 'boolean' ? strict : undefined,
    };
  }

  #convertCustom(custom: unknown, param: string): JsonRecord {
    if (!isRecord(custom)) throw malformed(param, 'an object');
    const { name, description } = readObject(CUSTOM_TOOL, custom, at(param));
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
    return isRecord(choice) ? { type: 'tool', name: this.#names.send(choice['name']) } : choiceOf(choice, 'function_call');
  }

  #convertCall(call: JsonRecord, param: string): JsonRecord {
    const kind = readKind(TOOLS, call['type'] ?? 'function', at(`${param}.type`));
    const { id, function: called, custom } = readObject(TOOL_CALL, call, at(param));
    if (wordOf(id) === '') throw malformed(`${param}.id`, 'the id of a tool call');
    if (kind === 'function') return this.convertFunctionCall(called, toToolUseId(wordOf(id)), `${param}.function`);
    if (!isRecord(custom)) throw malformed(`${param}.custom`, 'an object');
    const { name, input } = readObject(CUSTOM_CALL, custom, at(`${param}.custom`));
    return { type: 'tool_use', id: toToolUseId(wordOf(id)), name: this.#names.send(name), input: { input: wordOf(input) } };
  }
}

/** Of `allowed_tools`: the tools that may be called; undefined: all. */
function allowedNames(choice: unknown): ReadonlySet<unknown> | undefined {
  const allowed = isRecord(choice) ? allowedTools(choice) : undefined;
  return allowed && new Set(allowed.tools);
}

/** Whether a choice leaves the model none: it must call a tool. */
export function forcesTool(choice: JsonRecord | undefined): boolean {
  return choice?.['type'] === 'any' || choice?.['type'] === 'tool';
}

function choiceOf(word: unknown, param: string): JsonRecord {
  const type = CHOICES.words.get(wordOf(word));
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

/** Models write arguments that are cut off, or none at all; the API takes an object only. */
function parseArguments(text: unknown): JsonRecord {
  try {
    const value = parseLossless(wordOf(text));
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

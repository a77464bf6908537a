/**
 * OpenAI's tools, choices and calls as Anthropic's.
 */
import { isGiven, isRecord, readRecords, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseLossless } from '../json-lossless.ts';
import { malformed, unsupported } from '../unsupported.ts';

/** Undefined: no tools. Throws RequestFault for one that is not a function. */
export function convertTools(value: unknown): readonly JsonRecord[] | undefined {
  const tools = readRecords(value, 'tools').map((tool, index) => convertTool(tool, `tools[${index}]`));
  return tools.length > 0 ? tools : undefined;
}

/** Undefined: the default. */
export function convertToolChoice(choice: unknown, parallel: unknown): JsonRecord | undefined {
  const converted = convertChoice(choice);
  if (parallel !== false || converted?.['type'] === 'none') return converted;
  return { ...(converted ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

export function convertToolCalls(value: unknown, param: string): JsonRecord[] {
  return readRecords(value, param).map((call, index) => convertCall(call, `${param}[${index}]`));
}

/** Anthropic takes letters, digits, _ and - only; calls and results are changed alike, so they still match. */
export function toolUseId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_');
}

function convertTool(tool: JsonRecord, param: string): JsonRecord {
  const definition = tool['function'];
  if ((isGiven(tool['type']) && tool['type'] !== 'function') || !isRecord(definition)) throw unsupported(`${param}.type`, 'Anthropic');
  return {
    name: definition['name'],
    description: textOf(definition['description']),
    input_schema: isRecord(definition['parameters']) ? definition['parameters'] : { type: 'object', properties: {} },
    strict: typeof definition['strict'] === 'boolean' ? definition['strict'] : undefined,
  };
}

const CHOICES: ReadonlyMap<unknown, string> = new Map([['auto', 'auto'], ['none', 'none'], ['required', 'any']]);

function convertChoice(choice: unknown): JsonRecord | undefined {
  if (!isGiven(choice)) return undefined;
  const type = CHOICES.get(choice);
  if (type !== undefined) return { type };
  if (!isRecord(choice) || choice['type'] !== 'function' || !isRecord(choice['function'])) throw unsupported('tool_choice', 'Anthropic');
  return { type: 'tool', name: choice['function']['name'] };
}

function convertCall(call: JsonRecord, param: string): JsonRecord {
  const called = call['function'];
  if (!isRecord(called)) throw unsupported(param, 'Anthropic');
  const id = wordOf(call['id']);
  if (id === '') throw malformed(`${param}.id`, 'the id of a tool call');
  return { type: 'tool_use', id: toolUseId(id), name: called['name'], input: parseArguments(called['arguments']) };
}

/** Models write arguments that are cut off, or none at all; the API takes an object only. */
export function parseArguments(text: unknown): JsonRecord {
  try {
    const value = parseLossless(wordOf(text));
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

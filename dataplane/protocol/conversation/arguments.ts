/** The arguments of a tool's call: clients and providers hold them as JSON text or as an object. */
import { isRecord } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseLossless, writeJson } from '../json-value.ts';
import type { CallArguments } from './request.ts';

/** As JSON text. A text stays as the client has it, even where it is no JSON. */
export function argumentsText(given: CallArguments): string {
  return 'text' in given ? given.text : writeJson(given.value);
}

/** As an object. A text that is none, because a model has cut it off or left it empty, becomes an empty object. */
export function argumentsObject(given: CallArguments): JsonRecord {
  return 'value' in given ? given.value : (parseArguments(given.text) ?? {});
}

/** Undefined: the text is no JSON object. */
export function parseArguments(text: string): JsonRecord | undefined {
  try {
    const value = parseLossless(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Undoes a second encoding: JSON text whose value is a text that is a JSON object. Any other text stays. */
export function wholeArguments(text: string): string {
  try {
    const value = parseLossless(text);
    return typeof value === 'string' && parseArguments(value) ? value : text;
  } catch {
    // cut off by the model, or no JSON
    return text;
  }
}

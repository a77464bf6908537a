/**
 * Names of fields in Google's protocol. Its JSON has two spellings of each, `maxOutputTokens` and `max_output_tokens`;
 * the SDKs write the first and many examples the second. Only names of the protocol change, never those in a client's
 * own data: arguments of functions, their results and schemas, and those of Imagen's instances and parameters.
 */
import { RequestFault } from '../call-facts.ts';
import { foldSpelling } from '../cost-fields.ts';
import { isRecord } from '../fields.ts';
import { foldName, isReadName, readNameLike } from '../folded-names.ts';
import type { JsonRecord } from '../fields.ts';

/** The objects of the protocol within an object, by the names of its fields. */
interface Shape {
  readonly [name: string]: Shape;
}

const PLAIN: Shape = {};
const FILES: Shape = { inlineData: PLAIN, fileData: PLAIN };
const CONTENT: Shape = {
  parts: { ...FILES, functionCall: PLAIN, functionResponse: { parts: FILES } },
};
const GENERATE: Shape = {
  contents: CONTENT,
  systemInstruction: CONTENT,
  tools: { functionDeclarations: PLAIN },
  toolConfig: { functionCallingConfig: PLAIN },
  generationConfig: { thinkingConfig: PLAIN, imageConfig: PLAIN },
};
const EMBED: Shape = { content: CONTENT, embedContentConfig: PLAIN };
const REQUEST: Shape = { ...GENERATE, generateContentRequest: GENERATE, ...EMBED, requests: EMBED };

/**
 * A request with its fields in camel case. Throws RequestFault for a field that is given in both spellings, or in one
 * that differs from them by case or folding only.
 */
export function canonicalNames(request: JsonRecord): JsonRecord {
  return renameFields(request, REQUEST, '');
}

function renameFields(object: JsonRecord, shape: Shape, param: string): JsonRecord {
  const renamed: Record<string, unknown> = {};
  for (const [given, value] of Object.entries(object)) {
    refuseFolded(given, param);
    const name = camelCase(given);
    const path = param === '' ? name : `${param}.${name}`;
    if (Object.hasOwn(renamed, name))
      throw new RequestFault('invalid_request', `The field "${path}" is given in two spellings.`, path);
    const inner = Object.hasOwn(shape, name) ? shape[name] : undefined;
    renamed[name] = inner ? renameWithin(value, inner, path) : value;
  }
  return renamed;
}

function renameWithin(value: unknown, shape: Shape, param: string): unknown {
  if (isRecord(value)) return renameFields(value, shape, param);
  if (!Array.isArray(value)) return value;
  const items: readonly unknown[] = value;
  return items.map((item, index) => (isRecord(item) ? renameFields(item, shape, `${param}[${index}]`) : item));
}

/** A reader that ignores case takes `maxoutputtokens` and `Max_Output_Tokens` for the field. */
function refuseFolded(given: string, param: string): void {
  if (given.length > MAX_LENGTH || isReadName(camelCase(given))) return;
  const known = readNameLike(camelCase(foldName(given)));
  if (known === undefined) return;
  const path = param === '' ? given : `${param}.${given}`;
  throw new RequestFault('invalid_request', `The field is called "${known}"; names are case-sensitive.`, path);
}

/**
 * Checks an object whose names Google renames nowhere, because it may have any members. Throws RequestFault for one of
 * `names` in another spelling, which a reader might take for it.
 */
export function refuseOtherSpellings(object: JsonRecord, names: readonly string[], param: string): void {
  const bySpelling = new Map(names.map((name) => [foldSpelling(name), name]));
  for (const given of Object.keys(object)) {
    refuseFolded(given, param);
    const known = given.length > MAX_LENGTH ? undefined : bySpelling.get(foldSpelling(given));
    if (known === undefined || known === given) continue;
    const message = `The field is called "${known}" here, and has no other spelling.`;
    throw new RequestFault('invalid_request', message, `${param}.${given}`);
  }
}

/** No name of the protocol is longer. */
const MAX_LENGTH = 64;

function camelCase(name: string): string {
  return name.length > MAX_LENGTH || !name.includes('_')
    ? name
    : name.replaceAll(/([a-z0-9])_([a-z0-9])/g, (_all, before: string, after: string) => before + after.toUpperCase());
}

/** The request that a token count is about: its `generateContentRequest`, or itself. */
export function countedRequest(request: JsonRecord): JsonRecord {
  const { generateContentRequest: wrapped } = request;
  return isRecord(wrapped) ? wrapped : request;
}

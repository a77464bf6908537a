/**
 * Converts parts of Google's contents to Anthropic's blocks.
 */
import { readObject } from '../field-table.ts';
import type { FieldLocation } from '../field-table.ts';
import { isGiven, isRecord, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { FILE_DATA, FUNCTION_RESPONSE, INLINE_DATA, PART } from './table.ts';

const PDF = 'application/pdf';
const TEXT_FILE = /^(?:text\/|application\/json\b)/;
const FILE_TYPES = 'files are images, PDF or text';

export function textBlock(text: unknown): JsonRecord | undefined {
  return typeof text === 'string' && text.trim() !== '' ? { type: 'text', text } : undefined;
}

/** A file of the user. Throws RequestFault for a type without a counterpart. */
export function convertInline(value: unknown, location: FieldLocation): JsonRecord {
  if (!isRecord(value)) throw malformed(location.param, 'an object');
  const { mimeType: given, data, displayName } = readObject(INLINE_DATA, value, location);
  const mimeType = stringOf(given).toLowerCase();
  const base64 = stringOf(data);
  if (mimeType.startsWith('image/'))
    return { type: 'image', source: { type: 'base64', media_type: mimeType, data: standardBase64(base64) } };
  if (mimeType === PDF)
    return documentBlock({ type: 'base64', media_type: PDF, data: standardBase64(base64) }, displayName);
  if (!TEXT_FILE.test(mimeType)) throw unsupported(location.param, location.upstream, FILE_TYPES);
  const text = Buffer.from(base64, 'base64').toString('utf8');
  return documentBlock({ type: 'text', media_type: 'text/plain', data: text }, displayName);
}

/** Google's JSON also takes the alphabet of URLs. */
function standardBase64(data: string): string {
  return /[-_]/.test(data) ? Buffer.from(data, 'base64url').toString('base64') : data;
}

/** A file by its URL. Throws RequestFault for one that Google keeps. */
export function convertFile(value: unknown, location: FieldLocation): JsonRecord {
  const { param, upstream } = location;
  if (!isRecord(value)) throw malformed(param, 'an object');
  const { mimeType: given, fileUri, displayName } = readObject(FILE_DATA, value, location);
  const url = stringOf(fileUri);
  const mimeType = stringOf(given).toLowerCase();
  if (!/^https?:\/\//i.test(url) || /^https?:\/\/generativelanguage\./i.test(url))
    throw unsupported(`${param}.fileUri`, upstream, 'the file is kept at another provider');
  if (mimeType.startsWith('image/')) return { type: 'image', source: { type: 'url', url } };
  if (mimeType !== PDF) throw unsupported(param, upstream, FILE_TYPES);
  return documentBlock({ type: 'url', url }, displayName);
}

function documentBlock(source: JsonRecord, name: unknown): JsonRecord {
  const title = textOf(name);
  return { type: 'document', source, ...(title === undefined ? {} : { title }) };
}

export interface FunctionResult {
  readonly id: string | undefined;
  readonly name: string;
  /** Members of the `tool_result` block. */
  readonly result: JsonRecord;
}

/** The result of a call, without the id of the call that it answers. */
export function convertResponse(value: unknown, location: FieldLocation): FunctionResult {
  const { param } = location;
  if (!isRecord(value)) throw malformed(param, 'an object');
  const { id, name, response, parts } = readObject(FUNCTION_RESPONSE, value, location);
  const { text, isError } = describeResult(response, `${param}.response`);
  const files = readRecords(parts, `${param}.parts`).map((part, index) =>
    convertResultPart(part, { ...location, param: `${param}.parts[${index}]` }),
  );
  const words = textBlock(text);
  return {
    id: textOf(id),
    name: stringOf(name),
    result: {
      content: files.length === 0 ? text : [...(words ? [words] : []), ...files],
      ...(isError && { is_error: true }),
    },
  };
}

function convertResultPart(part: JsonRecord, location: FieldLocation): JsonRecord {
  const { inlineData, fileData } = readObject(PART, part, location);
  const { param } = location;
  if (isGiven(inlineData)) return convertInline(inlineData, { ...location, param: `${param}.inlineData` });
  if (isGiven(fileData)) return convertFile(fileData, { ...location, param: `${param}.fileData` });
  throw unsupported(param, location.upstream, 'only files may stand here');
}

/** By Google's convention, `output` or `result` has the result and `error` what went wrong. */
const CONVENTIONAL: ReadonlySet<unknown> = new Set(['output', 'result', 'error']);

function describeResult(response: unknown, param: string): { text: string; isError: boolean } {
  if (!isGiven(response)) return { text: '', isError: false };
  if (!isRecord(response)) throw malformed(param, 'an object');
  const [name, ...others] = Object.keys(response);
  const isAlone = name !== undefined && others.length === 0 && CONVENTIONAL.has(name);
  const value = isAlone ? response[name] : response;
  return { text: typeof value === 'string' ? value : writeJson(value ?? ''), isError: isAlone && name === 'error' };
}

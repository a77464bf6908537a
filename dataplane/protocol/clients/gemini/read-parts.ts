/** Reads the parts of Google's contents. */
import type {
  AudioPart,
  ContentPart,
  DocumentPart,
  ImagePart,
  MediaSource,
  ToolResultPart,
  VideoPart,
} from '../../conversation/request.ts';
import { readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, readRecords, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';
import { mediaTypeOf } from '../../media-types.ts';
import { malformed } from '../../unsupported.ts';
import { FILE_DATA, FUNCTION_RESPONSE, INLINE_DATA, PART } from './table.ts';

const PDF = 'application/pdf';
const TEXT_FILE = /^(?:text\/|application\/json\b)/;
const FILE_TYPES = 'files are images, audio, video, PDF or text';

type FilePart = ImagePart | AudioPart | VideoPart | DocumentPart;

/** A file in the request. */
export function readInline(value: unknown, path: string, unread: UnreadField[]): readonly FilePart[] {
  if (!isRecord(value)) throw malformed(path, 'an object');
  const { mimeType: given, data: base64, displayName } = readFields(INLINE_DATA, value, { param: path, unread });
  const mediaType = mediaTypeOf(stringOf(given).toLowerCase());
  const data = standardBase64(stringOf(base64));
  const title = textOf(displayName);
  if (TEXT_FILE.test(mediaType)) {
    const text = Buffer.from(data, 'base64').toString('utf8');
    return [{ type: 'Document', source: { type: 'Text', text }, title, path }];
  }
  return filePart({ type: 'Data', mediaType, data }, mediaType, { title, path, unread });
}

/** Google's JSON also takes the alphabet of URLs. */
function standardBase64(data: string): string {
  return /[-_]/.test(data) ? Buffer.from(data, 'base64url').toString('base64') : data;
}

/** A file by its URL. One that Google keeps has no place elsewhere. */
export function readFile(value: unknown, path: string, unread: UnreadField[]): readonly FilePart[] {
  if (!isRecord(value)) throw malformed(path, 'an object');
  const { mimeType: given, fileUri, displayName } = readFields(FILE_DATA, value, { param: path, unread });
  const url = stringOf(fileUri);
  if (!/^https?:\/\//i.test(url) || /^https?:\/\/generativelanguage\./i.test(url)) {
    unread.push({ path: `${path}.fileUri`, handling: 'Refused', why: 'the file is kept at another provider' });
    return [];
  }
  const mediaType = mediaTypeOf(stringOf(given).toLowerCase());
  return filePart({ type: 'Url', url, mediaType: textOf(mediaType) }, mediaType, {
    title: textOf(displayName),
    path,
    unread,
  });
}

interface FileContext {
  readonly title: string | undefined;
  readonly path: string;
  readonly unread: UnreadField[];
}

function filePart(source: MediaSource, mediaType: string, { title, path, unread }: FileContext): readonly FilePart[] {
  if (mediaType === PDF) return [{ type: 'Document', source, title, path }];
  if (mediaType.startsWith('image/')) return [{ type: 'Image', source, path }];
  if (mediaType.startsWith('audio/')) return [{ type: 'Audio', source, path }];
  if (mediaType.startsWith('video/')) return [{ type: 'Video', source, path }];
  unread.push({ path, handling: 'Refused', why: FILE_TYPES });
  return [];
}

/** The result of a call, before its call is known. */
export interface FunctionResult {
  readonly id: string | undefined;
  readonly name: string;
  readonly result: Omit<ToolResultPart, 'callId'>;
}

export function readFunctionResponse(value: unknown, path: string, unread: UnreadField[]): FunctionResult {
  const param = `${path}.functionResponse`;
  if (!isRecord(value)) throw malformed(param, 'an object');
  const { id, name, response, parts } = readFields(FUNCTION_RESPONSE, value, { param, unread });
  const { text, isError } = describeResult(response, `${param}.response`);
  const files = readRecords(parts, `${param}.parts`).flatMap((part, index) =>
    readResultPart(part, `${param}.parts[${index}]`, unread),
  );
  const words: readonly ContentPart[] =
    files.length > 0 && text.trim() === '' ? [] : [{ type: 'Text', text, path: `${param}.response` }];
  return {
    id: textOf(id),
    name: stringOf(name),
    result: { type: 'ToolResult', isError, parts: [...words, ...files], path },
  };
}

function readResultPart(part: JsonRecord, path: string, unread: UnreadField[]): readonly ContentPart[] {
  const { inlineData, fileData } = readFields(PART, part, { param: path, unread });
  if (isGiven(inlineData)) return readInline(inlineData, `${path}.inlineData`, unread);
  if (isGiven(fileData)) return readFile(fileData, `${path}.fileData`, unread);
  unread.push({ path, handling: 'Refused', why: 'only files may stand here' });
  return [];
}

/** By Google's convention, `output` or `result` has the result and `error` what went wrong. */
const CONVENTIONAL: ReadonlySet<unknown> = new Set(['output', 'result', 'error']);

function describeResult(response: unknown, param: string): { readonly text: string; readonly isError: boolean } {
  if (!isGiven(response)) return { text: '', isError: false };
  if (!isRecord(response)) throw malformed(param, 'an object');
  const [name, ...others] = Object.keys(response);
  const isAlone = name !== undefined && others.length === 0 && CONVENTIONAL.has(name);
  const value = isAlone ? response[name] : response;
  return { text: typeof value === 'string' ? value : writeJson(value ?? ''), isError: isAlone && name === 'error' };
}

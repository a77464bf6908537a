/**
 * Converts OpenAI's content parts to Anthropic's blocks. Texts that are empty or white space are left out,
 * because the API refuses them.
 */
import { readKind, readObject } from '../field-table.ts';
import type { FieldLocation } from '../field-table.ts';
import { isGiven, isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { cacheOf } from './cache-control.ts';
import { FILE, FILE_PART, IMAGE_PART, IMAGE_URL, PARTS, REFUSAL_PART, TEXT_PART } from './table.ts';

type PartConverter = (part: JsonRecord, param: string) => JsonRecord | undefined;

const CONVERTERS: Readonly<Record<NonNullable<typeof PARTS.converted>, PartConverter>> = {
  text: convertTextPart,
  refusal: (part, param) => textBlock(readObject(REFUSAL_PART, part, location(param)).refusal),
  image_url: convertImage,
  file: convertFile,
};

/** The place of an object that is converted to Anthropic's protocol. */
export function location(param: string): FieldLocation {
  return { param, upstream: 'Anthropic' };
}

/** `content`: a string or a list of parts. Throws RequestFault for a part without a counterpart. */
export function convertParts(content: unknown, param: string): JsonRecord[] {
  return convertContent(content, param, convertPart);
}

/** Converts content of which only text is allowed. Throws RequestFault for any other part. */
export function convertText(content: unknown, param: string): JsonRecord[] {
  return convertContent(content, param, (part, partParam) => {
    if (part['type'] !== 'text' && part['type'] !== 'refusal')
      throw unsupported(`${partParam}.type`, 'Anthropic', 'only text may stand here');
    return convertPart(part, partParam);
  });
}

/** Undefined: the text is empty or white space, which the API refuses. */
export function textBlock(text: unknown): JsonRecord | undefined {
  return typeof text === 'string' && text.trim() !== '' ? { type: 'text', text } : undefined;
}

function convertContent(content: unknown, param: string, convert: PartConverter): JsonRecord[] {
  if (!isGiven(content)) return [];
  if (typeof content === 'string') return [textBlock(content)].filter(isRecord);
  if (!Array.isArray(content)) throw malformed(param, 'a string or a list of parts');
  const items: readonly unknown[] = content;
  return items
    .map((part, index) => {
      if (!isRecord(part)) throw malformed(`${param}[${index}]`, 'an object');
      return convert(part, `${param}[${index}]`);
    })
    .filter(isRecord);
}

function convertPart(part: JsonRecord, param: string): JsonRecord | undefined {
  return CONVERTERS[readKind(PARTS, part['type'], location(`${param}.type`))](part, param);
}

function convertTextPart(part: JsonRecord, param: string): JsonRecord | undefined {
  const { text, cache_control: control } = readObject(TEXT_PART, part, location(param));
  const block = textBlock(text);
  return block && { ...block, ...cacheOf(control) };
}

function convertImage(part: JsonRecord, param: string): JsonRecord {
  const { image_url: image, cache_control: control } = readObject(IMAGE_PART, part, location(param));
  const url = isRecord(image)
    ? textOf(readObject(IMAGE_URL, image, location(`${param}.image_url`)).url)
    : textOf(image);
  if (url === undefined) throw malformed(`${param}.image_url.url`, 'a URL');
  const data = splitDataUrl(url);
  if (data)
    return {
      type: 'image',
      source: { type: 'base64', media_type: data.mediaType, data: data.base64 },
      ...cacheOf(control),
    };
  if (!isWebUrl(url)) throw malformed(`${param}.image_url.url`, 'an http or https URL, or a data URL in base64');
  return { type: 'image', source: { type: 'url', url }, ...cacheOf(control) };
}

function convertFile(part: JsonRecord, param: string): JsonRecord {
  const { file, cache_control: control } = readObject(FILE_PART, part, location(param));
  if (!isRecord(file)) throw malformed(`${param}.file`, 'an object');
  const { file_data: data, filename } = readObject(FILE, file, location(`${param}.file`));
  const source = convertFileData(textOf(data) ?? '', `${param}.file.file_data`);
  if (source['type'] === 'base64' && source['media_type'] !== PDF)
    return { type: 'image', source, ...cacheOf(control) };
  const title = textOf(filename);
  return { type: 'document', source, ...(title === undefined ? {} : { title }), ...cacheOf(control) };
}

const PDF = 'application/pdf';
const TEXT_FILE = /^(?:text\/|application\/json$)/;

function convertFileData(text: string, param: string): JsonRecord {
  if (isWebUrl(text)) return { type: 'url', url: text };
  const data = splitDataUrl(text);
  if (!data) throw malformed(param, 'a data URL in base64');
  const { mediaType, base64 } = data;
  if (TEXT_FILE.test(mediaType))
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(base64, 'base64').toString('utf8') };
  if (mediaType !== PDF && !mediaType.startsWith('image/'))
    throw unsupported(param, 'Anthropic', 'documents are PDF or text');
  return { type: 'base64', media_type: mediaType, data: base64 };
}

function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

/** Splits `data:<type>;base64,<data>`; undefined: it is another URL. */
function splitDataUrl(url: string): { mediaType: string; base64: string } | undefined {
  const head = /^data:([a-z0-9.+/-]{1,100})(?:;[a-z0-9=.+-]{1,60}){0,4};base64,/i.exec(url.slice(0, 500));
  return head ? { mediaType: (head[1] ?? '').toLowerCase(), base64: url.slice(head[0].length) } : undefined;
}

/**
 * Converts Anthropic's content blocks to Gemini's parts.
 */
import { readKind, readObject, readType } from '../field-table.ts';
import type { ConvertedFields, FieldLocation } from '../field-table.ts';
import { isRecord, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { unsupported } from '../unsupported.ts';
import { DOCUMENT_BLOCK, IMAGE_BLOCK, SEARCH_RESULT_BLOCK, SOURCE, SOURCES, TEXT_BLOCK, USER_BLOCKS } from './table.ts';

type UserBlock = NonNullable<typeof USER_BLOCKS.converted>;
type Source = ConvertedFields<NonNullable<typeof SOURCE.converted>> & {
  readonly type: NonNullable<typeof SOURCES.converted>;
};

/** The name of the protocol in refusals. */
export const UPSTREAM = 'Gemini';

/** The place of an object that is converted for Gemini. */
export function location(param: string): FieldLocation {
  return { param, upstream: UPSTREAM };
}

/** An empty text becomes nothing. */
export function textPart(text: unknown): readonly JsonRecord[] {
  return textOf(text) === undefined ? [] : [{ text }];
}

const CONVERTERS: Readonly<
  Record<Exclude<UserBlock, 'tool_result'>, (block: JsonRecord, param: string) => readonly JsonRecord[]>
> = {
  text: (block, param) => textPart(readObject(TEXT_BLOCK, block, location(param)).text),
  image: (block, param) => {
    const { source } = readObject(IMAGE_BLOCK, block, location(param));
    return convertMedia(readSource(source, `${param}.source`), `${param}.source`);
  },
  document: convertDocument,
  search_result: convertSearchResult,
};

/** Throws RequestFault for a block or a source without a counterpart. */
export function convertBlock(block: JsonRecord, param: string): readonly JsonRecord[] {
  const type = readType(USER_BLOCKS, block, location(param));
  if (type === 'tool_result') throw unsupported(`${param}.type`, 'Gemini', 'it stands in a user message only');
  return CONVERTERS[type](block, param);
}

function readSource(source: unknown, param: string): Source {
  const record = isRecord(source) ? source : {};
  const type = readKind(SOURCES, record['type'], location(param));
  return { ...readObject(SOURCE, record, location(param)), type };
}

function convertMedia({ type, media_type: mimeType, data, url }: Source, param: string): readonly JsonRecord[] {
  if (type === 'base64') return [{ inlineData: { mimeType, data } }];
  if (type === 'url') return [{ fileData: { fileUri: url, mimeType: typeOfUrl(stringOf(url)) } }];
  throw unsupported(`${param}.type`, 'Gemini', 'an image is data or has a URL');
}

const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  pdf: 'application/pdf',
};

/** Google fetches the address itself; undefined: the name does not show what is there. */
function typeOfUrl(url: string): string | undefined {
  const ending = /\.([a-z]{3,4})(?:[?#].*)?$/i.exec(url)?.[1];
  return ending === undefined ? undefined : TYPES[ending.toLowerCase()];
}

function convertDocument(block: JsonRecord, param: string): readonly JsonRecord[] {
  const { source: given, title, context } = readObject(DOCUMENT_BLOCK, block, location(param));
  const source = readSource(given, `${param}.source`);
  const name = textOf(title);
  const about = [...textPart(name === undefined ? undefined : `Title: ${name}`), ...textPart(context)];
  switch (source.type) {
    case 'text':
      return [...about, ...textPart(source.data)];
    case 'content':
      return [...about, ...convertContent(source, param)];
    case 'base64':
      return [...about, ...convertMedia(source, `${param}.source`)];
    case 'url':
      return [...about, { fileData: { fileUri: source.url, mimeType: 'application/pdf' } }];
  }
}

function convertContent({ content }: Source, param: string): readonly JsonRecord[] {
  if (typeof content === 'string') return textPart(content);
  return readRecords(content, `${param}.source.content`).flatMap((inner, index) => {
    const innerParam = `${param}.source.content[${index}]`;
    // text and images only
    if (inner['type'] !== 'text' && inner['type'] !== 'image') throw unsupported(`${innerParam}.type`, 'Gemini');
    return convertBlock(inner, innerParam);
  });
}

function convertSearchResult(block: JsonRecord, param: string): readonly JsonRecord[] {
  const { title, source, content } = readObject(SEARCH_RESULT_BLOCK, block, location(param));
  const text = readRecords(content, `${param}.content`)
    .map((inner, index) => readObject(TEXT_BLOCK, inner, location(`${param}.content[${index}]`)).text)
    .join('\n\n');
  return textPart(`Title: ${stringOf(title)}\nSource: ${stringOf(source)}\n\n${text}`);
}

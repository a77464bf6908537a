/**
 * Converts Anthropic's content blocks to OpenAI's parts.
 */
import { readKind, readObject, readType } from '../field-table.ts';
import type { FieldLocation, ConvertedFields } from '../field-table.ts';
import { isRecord, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { unsupported } from '../unsupported.ts';
import { DOCUMENT_BLOCK, IMAGE_BLOCK, SEARCH_RESULT_BLOCK, SOURCE, SOURCES, TEXT_BLOCK, USER_BLOCKS } from './table.ts';

type UserBlock = NonNullable<typeof USER_BLOCKS.converted>;
type Source = ConvertedFields<NonNullable<typeof SOURCE.converted>> & {
  readonly type: NonNullable<typeof SOURCES.converted>;
};

/** The name of the protocol in refusals. */
export const UPSTREAM = 'OpenAI';

/** The place of an object that is converted to OpenAI's protocol. */
export function location(param: string): FieldLocation {
  return { param, upstream: UPSTREAM };
}

const CONVERTERS: Readonly<
  Record<Exclude<UserBlock, 'tool_result'>, (block: JsonRecord, param: string) => readonly JsonRecord[]>
> = {
  text: (block, param) => [textPart(readObject(TEXT_BLOCK, block, location(param)).text)],
  image: convertImage,
  document: convertDocument,
  search_result: convertSearchResult,
};

/** Throws RequestFault for a block or a source without a counterpart. */
export function convertBlock(block: JsonRecord, param: string): readonly JsonRecord[] {
  const type = readType(USER_BLOCKS, block, location(param));
  if (type === 'tool_result') throw unsupported(`${param}.type`, 'OpenAI', 'it stands in a user message only');
  return CONVERTERS[type](block, param);
}

export function isText(part: JsonRecord): boolean {
  return part['type'] === 'text';
}

/** A single text becomes a string, which every provider accepts. */
export function writeParts(parts: readonly JsonRecord[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only && isText(only) ? only['text'] : parts;
}

/** Joins text blocks. */
export function joinTexts(blocks: readonly JsonRecord[], param: string): string {
  return blocks
    .map((block, index) => stringOf(readObject(TEXT_BLOCK, block, location(`${param}[${index}]`)).text))
    .join('\n\n');
}

function textPart(text: unknown): JsonRecord {
  return { type: 'text', text: stringOf(text) };
}

function readSource(source: unknown, param: string): Source {
  const record = isRecord(source) ? source : {};
  const type = readKind(SOURCES, record['type'], location(param));
  return { ...readObject(SOURCE, record, location(param)), type };
}

function convertImage(block: JsonRecord, param: string): readonly JsonRecord[] {
  const source = readSource(readObject(IMAGE_BLOCK, block, location(param)).source, `${param}.source`);
  if (source.type !== 'base64' && (source.type !== 'url' || textOf(source.url) === undefined))
    throw unsupported(`${param}.source`, 'OpenAI');
  return [{ type: 'image_url', image_url: { url: source.type === 'url' ? source.url : dataUrl(source) } }];
}

function dataUrl({ media_type: mediaType, data }: Source): string {
  return `data:${stringOf(mediaType)};base64,${stringOf(data)}`;
}

function convertDocument(block: JsonRecord, param: string): readonly JsonRecord[] {
  const { source: given, title, context } = readObject(DOCUMENT_BLOCK, block, location(param));
  const source = readSource(given, `${param}.source`);
  const about = textOf(context);
  const name = textOf(title);
  if (source.type === 'base64')
    return [
      ...(about === undefined ? [] : [textPart(about)]),
      { type: 'file', file: { filename: name ?? 'document.pdf', file_data: dataUrl(source) } },
    ];
  const head = [...(name === undefined ? [] : [`Title: ${name}`]), ...(about === undefined ? [] : [about])].join('\n');
  return [...(head === '' ? [] : [textPart(head)]), ...convertSource(source, `${param}.source`)];
}

function convertSource(source: Source, param: string): readonly JsonRecord[] {
  if (source.type === 'text') return [textPart(source.data)];
  if (source.type !== 'content') throw unsupported(param, 'OpenAI', 'chat completions take no files by URL');
  if (typeof source.content === 'string') return [textPart(source.content)];
  return readRecords(source.content, `${param}.content`).flatMap((inner, index) => {
    // text and images only
    if (inner['type'] !== 'text' && inner['type'] !== 'image')
      throw unsupported(`${param}.content[${index}].type`, 'OpenAI');
    return convertBlock(inner, `${param}.content[${index}]`);
  });
}

function convertSearchResult(block: JsonRecord, param: string): readonly JsonRecord[] {
  const { title, source, content } = readObject(SEARCH_RESULT_BLOCK, block, location(param));
  const text = joinTexts(readRecords(content, `${param}.content`), `${param}.content`);
  return [textPart(`Title: ${stringOf(title)}\nSource: ${stringOf(source)}\n\n${text}`)];
}

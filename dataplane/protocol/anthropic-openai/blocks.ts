/**
 * Anthropic's content blocks as OpenAI's parts.
 */
import { readKind, readObject } from '../field-table.ts';
import type { KindTable, Place, View } from '../field-table.ts';
import { isRecord, readRecords, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { unsupported } from '../unsupported.ts';
import { DOCUMENT_BLOCK, IMAGE_BLOCK, SEARCH_RESULT_BLOCK, SOURCE, SOURCES, TEXT_BLOCK, USER_BLOCKS } from './table.ts';

type UserBlock = NonNullable<typeof USER_BLOCKS.converted>;
type Source = View<NonNullable<typeof SOURCE.converted>> & { readonly type: NonNullable<typeof SOURCES.converted> };

/** Everything in these tables is on its way to OpenAI. */
export function at(param: string): Place {
  return { param, upstream: 'OpenAI' };
}

/** The block's type, of those that may stand here. */
export function typeOf<Converted extends string>(table: KindTable<Converted>, block: JsonRecord, param: string): Converted {
  return readKind(table, block['type'], at(`${param}.type`));
}

const CONVERTERS: Readonly<Record<Exclude<UserBlock, 'tool_result'>, (block: JsonRecord, param: string) => readonly JsonRecord[]>> = {
  text: (block, param) => [textPart(readObject(TEXT_BLOCK, block, at(param)).text)],
  image: convertImage,
  document: convertDocument,
  search_result: convertSearchResult,
};

/** Throws RequestFault for a block, or a source of one, that OpenAI has nothing like. */
export function convertBlock(block: JsonRecord, param: string): readonly JsonRecord[] {
  const type = typeOf(USER_BLOCKS, block, param);
  if (type === 'tool_result') throw unsupported(`${param}.type`, 'OpenAI', 'it stands in a user message only');
  return CONVERTERS[type](block, param);
}

export function isText(part: JsonRecord): boolean {
  return part['type'] === 'text';
}

/** A single text as a string, which every provider takes. */
export function writeParts(parts: readonly JsonRecord[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only && isText(only) ? only['text'] : parts;
}

/** Blocks of text as one. */
export function joinTexts(blocks: readonly JsonRecord[], param: string): string {
  return blocks.map((block, index) => wordOf(readObject(TEXT_BLOCK, block, at(`${param}[${index}]`)).text)).join('\n\n');
}

function textPart(text: unknown): JsonRecord {
  return { type: 'text', text: wordOf(text) };
}

function readSource(source: unknown, param: string): Source {
  const record = isRecord(source) ? source : {};
  const type = readKind(SOURCES, record['type'], at(param));
  return { ...readObject(SOURCE, record, at(param)), type };
}

function convertImage(block: JsonRecord, param: string): readonly JsonRecord[] {
  const source = readSource(readObject(IMAGE_BLOCK, block, at(param)).source, `${param}.source`);
  if (source.type !== 'base64' && (source.type !== 'url' || textOf(source.url) === undefined)) throw unsupported(`${param}.source`, 'OpenAI');
  return [{ type: 'image_url', image_url: { url: source.type === 'url' ? source.url : dataUrl(source) } }];
}

function dataUrl({ media_type: mediaType, data }: Source): string {
  return `data:${wordOf(mediaType)};base64,${wordOf(data)}`;
}

function convertDocument(block: JsonRecord, param: string): readonly JsonRecord[] {
  const { source: given, title, context } = readObject(DOCUMENT_BLOCK, block, at(param));
  const source = readSource(given, `${param}.source`);
  const about = textOf(context);
  const name = textOf(title);
  if (source.type === 'base64')
    return [...(about === undefined ? [] : [textPart(about)]), { type: 'file', file: { filename: name ?? 'document.pdf', file_data: dataUrl(source) } }];
  const head = [...(name === undefined ? [] : [`Title: ${name}`]), ...(about === undefined ? [] : [about])].join('\n');
  return [...(head === '' ? [] : [textPart(head)]), ...convertSource(source, `${param}.source`)];
}

function convertSource(source: Source, param: string): readonly JsonRecord[] {
  if (source.type === 'text') return [textPart(source.data)];
  if (source.type !== 'content') throw unsupported(param, 'OpenAI', 'chat completions take no files by URL');
  if (typeof source.content === 'string') return [textPart(source.content)];
  return readRecords(source.content, `${param}.content`).flatMap((inner, index) => {
    // text and images, and no further documents
    if (inner['type'] !== 'text' && inner['type'] !== 'image') throw unsupported(`${param}.content[${index}].type`, 'OpenAI');
    return convertBlock(inner, `${param}.content[${index}]`);
  });
}

function convertSearchResult(block: JsonRecord, param: string): readonly JsonRecord[] {
  const { title, source, content } = readObject(SEARCH_RESULT_BLOCK, block, at(param));
  const text = joinTexts(readRecords(content, `${param}.content`), `${param}.content`);
  return [textPart(`Title: ${wordOf(title)}\nSource: ${wordOf(source)}\n\n${text}`)];
}

/**
 * Converts Anthropic's content blocks to those of Converse.
 */
import { readKind, readObject, readType } from '../field-table.ts';
import type { ConvertedFields, FieldLocation } from '../field-table.ts';
import { isRecord, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { unsupported } from '../unsupported.ts';
import type { ModelFamily } from './model-family.ts';
import { DOCUMENT_BLOCK, IMAGE_BLOCK, SEARCH_RESULT_BLOCK, SOURCE, SOURCES, TEXT_BLOCK, USER_BLOCKS } from './table.ts';

type UserBlock = NonNullable<typeof USER_BLOCKS.converted>;
type Source = ConvertedFields<NonNullable<typeof SOURCE.converted>> & {
  readonly type: NonNullable<typeof SOURCES.converted>;
};

/** The name of the protocol in refusals. */
export const UPSTREAM = 'Converse';

/** The place of an object that is converted to Converse. */
export function location(param: string): FieldLocation {
  return { param, upstream: UPSTREAM };
}

/** The client's cache points. Only some models cache; only Claude caches tools, or for an hour. */
export class CachePoints {
  readonly #caches: boolean;
  readonly #family: ModelFamily;

  constructor(caches: boolean, family: ModelFamily) {
    this.#caches = caches;
    this.#family = family;
  }

  /** The cache point that follows a block with this `cache_control`; none without one. */
  after(control: unknown): readonly JsonRecord[] {
    if (!this.#caches || !isRecord(control)) return [];
    const long = control['ttl'] === '1h' && this.#family === 'Claude';
    return [{ cachePoint: { type: 'default', ...(long && { ttl: '1h' }) } }];
  }

  afterTool(control: unknown): readonly JsonRecord[] {
    return this.#family === 'Claude' ? this.after(control) : [];
  }
}

/** Names a request's documents; Converse requires unique names. */
export class DocumentNames {
  readonly #used = new Set<string>();

  /** The next unique name, reduced to characters that Converse accepts. */
  next(title: unknown): string {
    const words = stringOf(title)
      .replace(/[^A-Za-z0-9()[\]-]+/g, ' ')
      .trim()
      .slice(0, MAX_DOCUMENT_NAME);
    const name = words === '' ? 'document' : words;
    let unique = name;
    for (let count = 2; this.#used.has(unique); count++) unique = `${name} (${count})`;
    this.#used.add(unique);
    return unique;
  }
}

const MAX_DOCUMENT_NAME = 180;

/** Converse refuses a blank text. */
export function textBlock(text: unknown): readonly JsonRecord[] {
  return typeof text === 'string' && text.trim() !== '' ? [{ text }] : [];
}

const CONVERTERS: Readonly<
  Record<
    Exclude<UserBlock, 'tool_result'>,
    (block: JsonRecord, param: string, names: DocumentNames) => readonly JsonRecord[]
  >
> = {
  text: (block, param) => textBlock(readObject(TEXT_BLOCK, block, location(param)).text),
  image: convertImage,
  document: convertDocument,
  search_result: convertSearchResult,
};

/** Throws RequestFault for a block or a source without a counterpart. */
export function convertBlock(block: JsonRecord, param: string, names: DocumentNames): readonly JsonRecord[] {
  const type = readType(USER_BLOCKS, block, location(param));
  if (type === 'tool_result') throw unsupported(`${param}.type`, 'Converse', 'it stands in a user message only');
  return CONVERTERS[type](block, param, names);
}

function readSource(source: unknown, param: string): Source {
  const record = isRecord(source) ? source : {};
  const type = readKind(SOURCES, record['type'], location(param));
  return { ...readObject(SOURCE, record, location(param)), type };
}

const IMAGE_FORMATS: ReadonlySet<string> = new Set(['png', 'jpeg', 'gif', 'webp']);

function convertImage(block: JsonRecord, param: string): readonly JsonRecord[] {
  const source = readSource(readObject(IMAGE_BLOCK, block, location(param)).source, `${param}.source`);
  const format = stringOf(source.media_type)
    .replace(/^image\//, '')
    .replace(/^jpg$/, 'jpeg');
  if (source.type !== 'base64' || !IMAGE_FORMATS.has(format))
    throw unsupported(`${param}.source`, 'Converse', 'an image is the data of a png, jpeg, gif or webp');
  return [{ image: { format, source: { bytes: stringOf(source.data) } } }];
}

function convertDocument(block: JsonRecord, param: string, names: DocumentNames): readonly JsonRecord[] {
  const { source: given, title, context } = readObject(DOCUMENT_BLOCK, block, location(param));
  const source = readSource(given, `${param}.source`);
  const about = textBlock(context);
  if (source.type === 'base64') {
    if (source.media_type !== 'application/pdf') throw unsupported(`${param}.source.media_type`, 'Converse');
    const document = { format: 'pdf', name: names.next(title), source: { bytes: stringOf(source.data) } };
    return [...about, { document }];
  }
  if (source.type === 'text') {
    const bytes = Buffer.from(stringOf(source.data)).toString('base64');
    return [...about, { document: { format: 'txt', name: names.next(title), source: { bytes } } }];
  }
  const name = textOf(title);
  return [
    ...textBlock(name === undefined ? undefined : `Title: ${name}`),
    ...about,
    ...convertContent(source, param, names),
  ];
}

function convertContent({ content }: Source, param: string, names: DocumentNames): readonly JsonRecord[] {
  if (typeof content === 'string') return textBlock(content);
  return readRecords(content, `${param}.source.content`).flatMap((inner, index) => {
    const innerParam = `${param}.source.content[${index}]`;
    // text and images only
    if (inner['type'] !== 'text' && inner['type'] !== 'image') throw unsupported(`${innerParam}.type`, 'Converse');
    return convertBlock(inner, innerParam, names);
  });
}

function convertSearchResult(block: JsonRecord, param: string): readonly JsonRecord[] {
  const { title, source, content } = readObject(SEARCH_RESULT_BLOCK, block, location(param));
  const text = readRecords(content, `${param}.content`)
    .map((inner, index) => readObject(TEXT_BLOCK, inner, location(`${param}.content[${index}]`)).text)
    .join('\n\n');
  return textBlock(`Title: ${stringOf(title)}\nSource: ${stringOf(source)}\n\n${text}`);
}

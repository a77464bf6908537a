/** Writes what a user says, and what a tool results in, as content blocks. */
import type {
  CacheMark,
  ContentPart,
  DocumentPart,
  DocumentSource,
  ImagePart,
  SearchResultPart,
} from '../../conversation/request.ts';
import type { JsonRecord } from '../../fields.ts';
import { unsupported } from '../../unsupported.ts';

export const NAME = 'Anthropic';
const PDF = 'application/pdf';

export function writePart(part: ContentPart): readonly JsonRecord[] {
  switch (part.type) {
    case 'Text':
      return textBlocks(part.text, part.cache);
    case 'Image':
      return [withCache(writeImage(part), part.cache)];
    case 'Document':
      return [withCache(writeDocument(part), part.cache)];
    case 'SearchResult':
      return [withCache(writeSearchResult(part), part.cache)];
    case 'Audio':
    case 'Video':
      throw unsupported(part.path, NAME, `there is no ${part.type.toLowerCase()}`);
  }
}

/** The API refuses a text without words. */
export function textBlocks(text: string, cache: CacheMark | undefined): readonly JsonRecord[] {
  return text.trim() === '' ? [] : [withCache({ type: 'text', text }, cache)];
}

export function withCache(block: JsonRecord, mark: CacheMark | undefined): JsonRecord {
  return mark ? { ...block, cache_control: writeCache(mark) } : block;
}

export function writeCache({ ttl }: CacheMark): JsonRecord {
  return { type: 'ephemeral', ...(ttl && { ttl }) };
}

function writeImage({ source, path }: ImagePart): JsonRecord {
  switch (source.type) {
    case 'Data':
      return { type: 'image', source: { type: 'base64', media_type: source.mediaType, data: source.data } };
    case 'Url':
      return { type: 'image', source: { type: 'url', url: source.url } };
    case 'File':
      throw keptElsewhere(path);
  }
}

function writeDocument({ source, title, context, path }: DocumentPart): JsonRecord {
  return {
    type: 'document',
    source: writeSource(source, path),
    ...(title !== undefined && { title }),
    ...(context !== undefined && { context }),
  };
}

function writeSource(source: DocumentSource, path: string): JsonRecord {
  switch (source.type) {
    case 'Data':
      if (source.mediaType !== PDF) throw unsupported(path, NAME, 'documents are PDF or text');
      return { type: 'base64', media_type: PDF, data: source.data };
    case 'Text':
      return { type: 'text', media_type: 'text/plain', data: source.text };
    case 'Parts':
      return { type: 'content', content: source.parts.flatMap(writePart) };
    case 'Url':
      return { type: 'url', url: source.url };
    case 'File':
      throw keptElsewhere(path);
  }
}

function keptElsewhere(path: string): Error {
  return unsupported(path, NAME, 'the file is kept at another provider');
}

function writeSearchResult({ title, source, texts }: SearchResultPart): JsonRecord {
  return { type: 'search_result', title, source, content: texts.map((text) => ({ type: 'text', text })) };
}

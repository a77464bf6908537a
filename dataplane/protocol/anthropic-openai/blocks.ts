/**
 * Anthropic's content blocks as OpenAI's parts.
 */
import { isRecord, readRecords, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { unsupported } from '../unsupported.ts';

/** A document in blocks may hold text and images, and no further documents. */
const DOCUMENT_PARTS: ReadonlySet<unknown> = new Set(['text', 'image']);

/** Throws RequestFault for a block, or a source of one, that OpenAI has nothing like. */
export function convertBlock(block: JsonRecord, param: string): readonly JsonRecord[] {
  switch (block['type']) {
    case 'text': return [{ type: 'text', text: wordOf(block['text']) }];
    case 'image': return [{ type: 'image_url', image_url: { url: imageUrl(sourceOf(block), `${param}.source`) } }];
    case 'document': return convertDocument(block, param);
    default: throw unsupported(`${param}.type`, 'OpenAI');
  }
}

export function isPart(type: string): (part: JsonRecord) => boolean {
  return (part) => part['type'] === type;
}

/** A single text as a string, which every provider takes. */
export function writeParts(parts: readonly JsonRecord[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only && isPart('text')(only) ? only['text'] : parts;
}

function sourceOf(block: JsonRecord): JsonRecord {
  return isRecord(block['source']) ? block['source'] : {};
}

function imageUrl(source: JsonRecord, param: string): string {
  const url = textOf(source['url']);
  if (source['type'] === 'url' && url !== undefined) return url;
  if (source['type'] !== 'base64') throw unsupported(param, 'OpenAI');
  return `data:${wordOf(source['media_type'])};base64,${wordOf(source['data'])}`;
}

function convertDocument(block: JsonRecord, param: string): readonly JsonRecord[] {
  const source = sourceOf(block);
  switch (source['type']) {
    case 'text': return [{ type: 'text', text: wordOf(source['data']) }];
    case 'base64': {
      const data = `data:${wordOf(source['media_type'])};base64,${wordOf(source['data'])}`;
      return [{ type: 'file', file: { filename: textOf(block['title']) ?? 'document.pdf', file_data: data } }];
    }
    case 'content': return convertContentSource(source['content'], `${param}.source.content`);
    default: throw unsupported(`${param}.source`, 'OpenAI');
  }
}

function convertContentSource(content: unknown, param: string): readonly JsonRecord[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return readRecords(content, param).flatMap((block, index) => {
    if (!DOCUMENT_PARTS.has(block['type'])) throw unsupported(`${param}[${index}].type`, 'OpenAI');
    return convertBlock(block, `${param}[${index}]`);
  });
}

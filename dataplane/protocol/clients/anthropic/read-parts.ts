/** Reads the content blocks of a message into parts. */
import type {
  AssistantPart,
  ContentPart,
  DocumentPart,
  DocumentSource,
  ImagePart,
  MediaSource,
  TextPart,
  UserPart,
} from '../../conversation/request.ts';
import { kindOf, readFields } from '../../field-table.ts';
import type { ConvertedFields, UnreadField } from '../../field-table.ts';
import { readRecords, recordOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { mediaTypeOf } from '../../media-types.ts';
import { toolParam } from '../../provider-tools.ts';
import { fromToolUseId } from '../../tool-ids.ts';
import { cacheMark } from '../cache-mark.ts';
import { readKeptProof } from '../kept-proof.ts';
import type { ReadContext } from '../client.ts';
import {
  ASSISTANT_BLOCKS,
  DOCUMENT_BLOCK,
  IMAGE_BLOCK,
  REDACTED_BLOCK,
  SEARCH_RESULT_BLOCK,
  SOURCE,
  SOURCES,
  SYSTEM_BLOCKS,
  TEXT_BLOCK,
  THINKING_BLOCK,
  TOOL_REFERENCE_BLOCK,
  TOOL_RESULT_BLOCK,
  TOOL_USE_BLOCK,
  USER_BLOCKS,
} from './table.ts';

/** Where a message is read, and what takes that which has no place. */
export interface BlockContext extends Pick<ReadContext, 'providerTools'> {
  readonly unread: UnreadField[];
}

/** A text, or text blocks. */
export function readSystemParts(content: unknown, param: string, { unread }: BlockContext): readonly TextPart[] {
  if (typeof content === 'string') return [{ type: 'Text', text: content, path: param }];
  return readRecords(content, param).flatMap((block, index) => {
    const path = `${param}[${index}]`;
    const kind = kindOf(SYSTEM_BLOCKS, block['type'], { param: `${path}.type`, unread });
    return kind === undefined ? [] : [readText(block, path, unread)];
  });
}

export function readUserParts(content: unknown, param: string, context: BlockContext): readonly UserPart[] {
  if (typeof content === 'string') return [{ type: 'Text', text: content, path: param }];
  const blocks = readRecords(content, param);
  return blocks.flatMap((block, index): readonly UserPart[] => {
    const path = `${param}[${index}]`;
    return block['type'] === 'tool_result'
      ? [readResult(block, path, context)]
      : readContentBlock(block, path, context.unread);
  });
}

function readResult(block: JsonRecord, path: string, context: BlockContext): UserPart {
  const { unread } = context;
  const fields = readFields(TOOL_RESULT_BLOCK, block, { param: path, unread });
  return {
    type: 'ToolResult',
    callId: fromToolUseId(stringOf(fields.tool_use_id)),
    isError: fields.is_error === true,
    parts: readContent(fields.content, `${path}.content`, unread),
    cache: cacheMark(fields.cache_control),
    path,
  };
}

/** The content of a tool's result. */
function readContent(content: unknown, param: string, unread: UnreadField[]): readonly ContentPart[] {
  if (typeof content === 'string') return [{ type: 'Text', text: content, path: param }];
  const blocks = readRecords(content, param);
  const found = blocks.flatMap((block, index) => {
    if (!isReference(block)) return [];
    const { tool_name: name } = readFields(TOOL_REFERENCE_BLOCK, block, { param: `${param}[${index}]`, unread });
    return [stringOf(name)];
  });
  const parts = blocks.flatMap((block, index) =>
    isReference(block) ? [] : readContentBlock(block, `${param}[${index}]`, unread),
  );
  if (found.length === 0) return parts;
  return [...parts, { type: 'Text', text: `Tools that can be called now: ${found.join(', ')}`, path: param }];
}

function isReference({ type }: JsonRecord): boolean {
  return type === 'tool_reference';
}

function readContentBlock(block: JsonRecord, path: string, unread: UnreadField[]): readonly ContentPart[] {
  switch (kindOf(USER_BLOCKS, block['type'], { param: `${path}.type`, unread })) {
    case 'text':
      return [readText(block, path, unread)];
    case 'image':
      return readImage(block, path, unread);
    case 'document':
      return readDocument(block, path, unread);
    case 'search_result':
      return readSearchResult(block, path, unread);
    case 'tool_reference':
      return readContent([block], path, unread);
    case 'tool_result':
      unread.push({ path: `${path}.type`, handling: 'Refused', why: 'it stands in a user message only' });
      return [];
    case undefined:
      return [];
  }
}

function readText(block: JsonRecord, path: string, unread: UnreadField[]): TextPart {
  const { text, cache_control: control } = readFields(TEXT_BLOCK, block, { param: path, unread });
  return { type: 'Text', text: stringOf(text), cache: cacheMark(control), path };
}

function readImage(block: JsonRecord, path: string, unread: UnreadField[]): readonly ImagePart[] {
  const { source: given, cache_control: control } = readFields(IMAGE_BLOCK, block, { param: path, unread });
  const source = readSource(given, `${path}.source`, unread);
  const media = source && mediaSource(source);
  if (media) return [{ type: 'Image', source: media, cache: cacheMark(control), path: `${path}.source` }];
  if (source) unread.push({ path: `${path}.source.type`, handling: 'Refused', why: 'an image is data or has a URL' });
  return [];
}

type Source = ConvertedFields<NonNullable<typeof SOURCE.converted>> & {
  readonly type: NonNullable<typeof SOURCES.converted>;
};

function readSource(source: unknown, param: string, unread: UnreadField[]): Source | undefined {
  const record = recordOf(source);
  const type = kindOf(SOURCES, record['type'], { param, unread });
  return type && { ...readFields(SOURCE, record, { param, unread }), type };
}

/** Undefined: the source is text, or parts. */
function mediaSource({ type, media_type: mediaType, data, url }: Source): MediaSource | undefined {
  if (type === 'base64') return { type: 'Data', mediaType: mediaTypeOf(stringOf(mediaType)), data: stringOf(data) };
  return type === 'url' && textOf(url) !== undefined ? { type: 'Url', url: stringOf(url) } : undefined;
}

function readDocument(block: JsonRecord, path: string, unread: UnreadField[]): readonly DocumentPart[] {
  const fields = readFields(DOCUMENT_BLOCK, block, { param: path, unread });
  const given = readSource(fields.source, `${path}.source`, unread);
  const source = given && documentSource(given, `${path}.source`, unread);
  if (!source) return [];
  const [title, context, cache] = [textOf(fields.title), textOf(fields.context), cacheMark(fields.cache_control)];
  return [{ type: 'Document', source, title, context, cache, path: `${path}.source` }];
}

function documentSource(source: Source, param: string, unread: UnreadField[]): DocumentSource {
  if (source.type === 'text') return { type: 'Text', text: stringOf(source.data) };
  if (source.type === 'content') return { type: 'Parts', parts: readInnerParts(source.content, param, unread) };
  return mediaSource(source) ?? { type: 'Url', url: stringOf(source.url) };
}

/** A document holds texts and images only. */
function readInnerParts(content: unknown, param: string, unread: UnreadField[]): readonly (TextPart | ImagePart)[] {
  const path = `${param}.content`;
  if (typeof content === 'string') return [{ type: 'Text', text: content, path }];
  return readRecords(content, path).flatMap((block, index): readonly (TextPart | ImagePart)[] => {
    const inner = `${path}[${index}]`;
    if (block['type'] === 'text') return [readText(block, inner, unread)];
    if (block['type'] === 'image') return readImage(block, inner, unread);
    unread.push({ path: `${inner}.type`, handling: 'Refused', why: undefined });
    return [];
  });
}

function readSearchResult(block: JsonRecord, path: string, unread: UnreadField[]): readonly ContentPart[] {
  const fields = readFields(SEARCH_RESULT_BLOCK, block, { param: path, unread });
  const texts = readRecords(fields.content, `${path}.content`).map((inner, index) =>
    stringOf(readFields(TEXT_BLOCK, inner, { param: `${path}.content[${index}]`, unread }).text),
  );
  const [title, source] = [stringOf(fields.title), stringOf(fields.source)];
  return [{ type: 'SearchResult', title, source, texts, cache: cacheMark(fields.cache_control), path }];
}

export function readAssistantParts(content: unknown, param: string, context: BlockContext): readonly AssistantPart[] {
  if (typeof content === 'string') return [{ type: 'Text', text: content, path: param }];
  return readRecords(content, param).flatMap((block, index) =>
    readAssistantBlock(block, `${param}[${index}]`, context),
  );
}

function readAssistantBlock(block: JsonRecord, path: string, context: BlockContext): readonly AssistantPart[] {
  const { unread } = context;
  if (isServerStep(block, path, context)) return [];
  switch (kindOf(ASSISTANT_BLOCKS, block['type'], { param: `${path}.type`, unread })) {
    case 'text':
      return [readText(block, path, unread)];
    case 'thinking':
      return [readThinking(block, path, unread)];
    case 'redacted_thinking': {
      const { data } = readFields(REDACTED_BLOCK, block, { param: path, unread });
      return [{ type: 'Reasoning', text: '', proof: { maker: 'Anthropic', redacted: stringOf(data) }, path }];
    }
    case 'tool_use':
      return [readCall(block, path, unread)];
    case undefined:
      return [];
  }
}

/** A step of a tool that Anthropic ran is left out and named: the text after it contains the outcome. */
function isServerStep(block: JsonRecord, path: string, { providerTools, unread }: BlockContext): boolean {
  const handling = ASSISTANT_BLOCKS.kinds.get(stringOf(block['type']));
  if (handling?.action !== 'Omitted') return false;
  if (providerTools === 'Refuse') unread.push({ path: `${path}.type`, handling: 'Refused', why: handling.why });
  else unread.push({ path: toolParam(path, block), handling: 'Omitted', why: handling.why });
  return true;
}

function readThinking(block: JsonRecord, path: string, unread: UnreadField[]): AssistantPart {
  const { thinking, signature } = readFields(THINKING_BLOCK, block, { param: path, unread });
  return { type: 'Reasoning', text: stringOf(thinking), proof: readKeptProof(stringOf(signature)), path };
}

function readCall(block: JsonRecord, path: string, unread: UnreadField[]): AssistantPart {
  const { id, name, input, cache_control: control } = readFields(TOOL_USE_BLOCK, block, { param: path, unread });
  return {
    type: 'ToolCall',
    id: fromToolUseId(stringOf(id)),
    name: stringOf(name),
    arguments: { value: recordOf(input) },
    cache: cacheMark(control),
    path,
  };
}

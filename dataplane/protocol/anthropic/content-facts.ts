/**
 * Walks Anthropic content: blocks hold blocks (tool results, documents), and any may hold an image. Iterative, because
 * clients choose the depth.
 */
import { addHiddenImage, addImage, addUnbounded } from '../content-counts.ts';
import type { ContentCounts } from '../content-counts.ts';
import { isRecord, recordOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { refuseFoldedNames } from '../folded-names.ts';
import { isImageData } from '../image-inputs.ts';
import { hasAtMostOne, hasOnly } from '../known-members.ts';
import { isServerTool } from './tool-types.ts';

interface Located {
  readonly value: unknown;
  readonly param: string;
}

/** Types of blocks whose tokens are bounded by their bytes, with those of tool calls and their results. */
const TEXT_BLOCK = new RegExp(
  [
    '^(?:text|thinking|redacted_thinking|compaction|fallback|browser_state|tool_reference|tool_addition|tool_removal)$',
    '^mcp_tool_listing$',
    '(?:tool_use|result|error|output)$',
  ].join('|'),
);

/** Blocks whose members are known. With any other, such a block may hold more than its text. */
const CLOSED_BLOCK = /^(?:text|thinking|redacted_thinking|tool_use|tool_result)$/;
const BLOCK_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'text',
  'citations',
  'cache_control',
  'thinking',
  'signature',
  'data',
  'id',
  'name',
  'input',
  'caller',
  'content',
  'is_error',
  'tool_use_id',
]);
/** Members of an image or a document, and of where it comes from. */
const MEDIA_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'source',
  'title',
  'context',
  'citations',
  'cache_control',
  'id',
]);
const SOURCE_MEMBERS: ReadonlySet<string> = new Set(['type', 'media_type', 'data', 'url', 'file_id', 'content']);
/** Members of a message, also of one that a client echoes as it was returned. */
const MESSAGE_MEMBERS: ReadonlySet<string> = new Set([
  'role',
  'content',
  'id',
  'type',
  'model',
  'name',
  'cache_control',
  'stop_reason',
  'stop_sequence',
  'stop_details',
  'container',
  'context_management',
  'usage',
  'metadata',
]);

/** A message of a request. */
export function readMessage(counts: ContentCounts, message: JsonRecord, param: string): void {
  counts.units++;
  refuseFoldedNames(message, param);
  if (!hasOnly(message, MESSAGE_MEMBERS)) readUnknown(counts, message, param);
  readContent(counts, message['content'], `${param}.content`);
}

/** `content`: a string, a block, or a list of them. */
export function readContent(counts: ContentCounts, content: unknown, param: string): void {
  const pending: Located[] = [];
  pushBlocks(pending, content, param);
  for (let next = pending.pop(); next; next = pending.pop()) {
    counts.units++;
    if (!isRecord(next.value)) continue;
    refuseFoldedNames(next.value, next.param);
    readBlock(counts, next.value, next.param);
    pushBlocks(pending, next.value['content'], `${next.param}.content`);
    pushBlocks(pending, next.value['tool_changes'], `${next.param}.tool_changes`);
    const { source } = next.value;
    if (!isRecord(source)) continue;
    refuseFoldedNames(source, `${next.param}.source`);
    pushBlocks(pending, source['content'], `${next.param}.source.content`);
  }
}

/** In reverse order, so that the first is popped first. */
function pushBlocks(pending: Located[], content: unknown, param: string): void {
  if (!Array.isArray(content)) {
    if (isRecord(content)) pending.push({ value: content, param });
    return;
  }
  for (let index = content.length - 1; index >= 0; index--)
    pending.push({ value: content[index], param: `${param}[${index}]` });
}

function readBlock(counts: ContentCounts, block: JsonRecord, param: string): void {
  const type = stringOf(block['type']);
  const source = recordOf(block['source']);
  if (type === 'image' || type === 'document') readMedium(counts, block, source, param);
  else if (type === 'container_upload') addReference(counts, param);
  else if (type === 'tool_addition') readAddition(counts, block['tool'], `${param}.tool`);
  else if (!TEXT_BLOCK.test(type) || (CLOSED_BLOCK.test(type) && !hasOnly(block, BLOCK_MEMBERS)))
    readUnknown(counts, block, param);
}

function readMedium(counts: ContentCounts, block: JsonRecord, source: JsonRecord, param: string): void {
  if (!isOneMedium(block, source)) counts.files++;
  if (block['type'] === 'document') return readDocument(counts, block, source, param);
  addImage(counts, param, imageBytes(source));
  if (source['type'] === 'file') addUnbounded(counts, 'FileReferences', `${param}.source`);
}

/** With anything beside it, an image or a document may fill the context. */
function isOneMedium(block: JsonRecord, source: JsonRecord): boolean {
  return (
    hasOnly(block, MEDIA_MEMBERS) &&
    hasOnly(source, SOURCE_MEMBERS) &&
    hasAtMostOne(source, ['data', 'url', 'file_id', 'content'])
  );
}

/** An unknown block may fill the context, and may hold an image. */
function readUnknown(counts: ContentCounts, block: JsonRecord, param: string): void {
  counts.files++;
  const { content: _walked, ...rest } = block;
  addHiddenImage(counts, rest, param, counts.searched);
}

function imageBytes(source: JsonRecord): number {
  const { data } = source;
  return source['type'] === 'base64' && /^image\//i.test(stringOf(source['media_type'])) && typeof data === 'string'
    ? data.length
    : 0;
}

function readDocument(counts: ContentCounts, block: JsonRecord, source: JsonRecord, param: string): void {
  const { images } = counts;
  const { type, data, content: _walked, ...beside } = source;
  if (type === 'base64') counts.files++;
  // a text is bounded by its bytes
  else if (type !== 'text' && type !== 'content') addReference(counts, `${param}.source`);
  // an image that is sent as a document
  if (type === 'base64' && (/^image\//i.test(stringOf(source['media_type'])) || isImageData(data)))
    addImage(counts, `${param}.source`, 0);
  // or beside one
  if (counts.images === images)
    addHiddenImage(counts, { ...block, content: undefined, source: beside }, param, counts.searched);
}

function addReference(counts: ContentCounts, param: string): void {
  counts.files++;
  addUnbounded(counts, 'FileReferences', param);
}

/** A tool that is added in the middle of a conversation. */
function readAddition(counts: ContentCounts, tool: unknown, param: string): void {
  if (!isRecord(tool)) return;
  const definition = isRecord(tool['definition']) ? tool['definition'] : tool;
  if (tool['type'] !== 'tool_reference' && isServerTool(definition))
    addUnbounded(counts, 'ServerTools', `${param}.type`);
}

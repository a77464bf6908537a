/**
 * Walks Anthropic content: blocks hold blocks (tool results, documents), and an image may hide in any. Iterative, as the depth is
 * the client's.
 */
import { addImage, addUnbounded } from '../facts-tally.ts';
import type { FactsTally } from '../facts-tally.ts';
import { isRecord, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { refuseVariants } from '../name-variants.ts';
import { findImage, isImageData } from '../image-inputs.ts';
import { isServerTool } from './tool-types.ts';

interface Placed {
  readonly value: unknown;
  readonly param: string;
}

/** Blocks whose tokens their bytes bound; results of tools and their parts are named alike. */
const TEXT_BLOCK = /^(?:text|thinking|redacted_thinking|compaction|fallback|browser_state|tool_reference|tool_addition|tool_removal|mcp_tool_listing)$|_?(?:tool_use|result|error|output)$/;

/** `content`: a string, a block, or a list of them. */
export function readContent(tally: FactsTally, content: unknown, param: string): void {
  const pending: Placed[] = [];
  pushAll(pending, content, param);
  for (let next = pending.pop(); next; next = pending.pop()) {
    tally.units++;
    if (!isRecord(next.value)) continue;
    refuseVariants(next.value, next.param);
    readBlock(tally, next.value, next.param);
    pushAll(pending, next.value['content'], `${next.param}.content`);
    pushAll(pending, next.value['tool_changes'], `${next.param}.tool_changes`);
    const { source } = next.value;
    if (!isRecord(source)) continue;
    refuseVariants(source, `${next.param}.source`);
    pushAll(pending, source['content'], `${next.param}.source.content`);
  }
}

/** In reverse, so that the first is found first. */
function pushAll(pending: Placed[], content: unknown, param: string): void {
  if (!Array.isArray(content)) {
    if (isRecord(content)) pending.push({ value: content, param });
    return;
  }
  for (let index = content.length - 1; index >= 0; index--) pending.push({ value: content[index], param: `${param}[${index}]` });
}

function readBlock(tally: FactsTally, block: JsonRecord, param: string): void {
  const type = wordOf(block['type']);
  const source = isRecord(block['source']) ? block['source'] : {};
  if (type === 'image') {
    addImage(tally, param, imageBytes(source));
    if (source['type'] === 'file') addUnbounded(tally, 'FileReferences', `${param}.source`);
  } else if (type === 'document') readDocument(tally, source, `${param}.source`);
  else if (type === 'container_upload') addReference(tally, param);
  else if (type === 'tool_addition') readAddition(tally, block['tool'], `${param}.tool`);
  else if (!TEXT_BLOCK.test(type)) readUnknown(tally, block, param);
}

/** Whatever it is, it fills the context at most; an image may hide in it. */
function readUnknown(tally: FactsTally, block: JsonRecord, param: string): void {
  tally.files++;
  const { content: _walked, ...rest } = block;
  const image = findImage(rest, param);
  if (image !== undefined) addImage(tally, image, 0);
}

function imageBytes(source: JsonRecord): number {
  const { data } = source;
  return source['type'] === 'base64' && /^image\//i.test(wordOf(source['media_type'])) && typeof data === 'string' ? data.length : 0;
}

function readDocument(tally: FactsTally, source: JsonRecord, param: string): void {
  // its text or blocks are in the body
  if (source['type'] === 'text' || source['type'] === 'content') return;
  if (source['type'] !== 'base64') return addReference(tally, param);
  tally.files++;
  // a picture that calls itself a document
  if (/^image\//i.test(wordOf(source['media_type'])) || isImageData(source['data'])) addImage(tally, param, 0);
}

function addReference(tally: FactsTally, param: string): void {
  tally.files++;
  addUnbounded(tally, 'FileReferences', param);
}

/** A tool that joins in the middle of a conversation. */
function readAddition(tally: FactsTally, tool: unknown, param: string): void {
  if (!isRecord(tool)) return;
  const definition = isRecord(tool['definition']) ? tool['definition'] : tool;
  if (tool['type'] !== 'tool_reference' && isServerTool(definition['type'])) addUnbounded(tally, 'ServerTools', `${param}.type`);
}

/**
 * Collects the input of a token count from a messages request: all texts that the model reads, and the numbers of
 * messages, tools, images and files. It is iterative, because clients choose the depth.
 */
import { collectJson } from '../counted-texts.ts';
import type { Collected, CountedTexts } from '../counted-texts.ts';
import { isGiven, isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** Expects a request that readChatFacts has accepted. */
export function collectMessageTexts(parsed: JsonRecord): CountedTexts {
  const collected: Collected = { texts: [], images: 0, files: 0 };
  const messages = itemsOf(parsed['messages']).filter(isRecord);
  const tools = itemsOf(parsed['tools']).filter(isRecord);
  collectContent(collected, parsed['system']);
  for (const message of messages) collectContent(collected, message['content']);
  for (const tool of tools)
    collectJson(collected, { name: tool['name'], description: tool['description'], parameters: tool['input_schema'] });
  const config = parsed['output_config'];
  if (isRecord(config) && isGiven(config['format'])) collectJson(collected, config['format']);
  return {
    texts: collected.texts,
    units: messages.length + tools.length + (isGiven(parsed['system']) ? 1 : 0),
    images: collected.images,
    files: collected.files,
  };
}

/** Leaves out thinking: models do not read that of earlier turns. */
function collectContent(collected: Collected, content: unknown): void {
  const pending: unknown[] = [content];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'string') collected.texts.push(next);
    else if (Array.isArray(next)) for (const item of next.toReversed()) pending.push(item);
    else if (isRecord(next)) collectBlock(collected, next, pending);
  }
}

function collectBlock(collected: Collected, block: JsonRecord, pending: unknown[]): void {
  const type = stringOf(block['type']);
  if (type === 'image') collected.images++;
  else if (type === 'document') collectDocument(collected, block, pending);
  else if (type.endsWith('tool_use')) collectJson(collected, { name: block['name'], input: block['input'] });
  else {
    const text = textOf(block['text']);
    if (text !== undefined) collected.texts.push(text);
    if (isGiven(block['content'])) pending.push(block['content']);
  }
}

function collectDocument(collected: Collected, { source, title, context }: JsonRecord, pending: unknown[]): void {
  for (const text of [title, context].map(textOf)) if (text !== undefined) collected.texts.push(text);
  if (!isRecord(source)) return;
  if (source['type'] === 'text') pending.push(source['data']);
  else if (source['type'] === 'content') pending.push(source['content']);
  else collected.files++;
}

/**
 * What a messages request consists of, for counting its tokens: every text that the model reads, and how many things are in it
 * that are not text. Iterative, as the depth is the client's.
 */
import { isGiven, isRecord, itemsOf, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';

export interface CountedTexts {
  readonly texts: readonly string[];
  /** Messages and tools, which a provider wraps with tokens of its own. */
  readonly units: number;
  readonly images: number;
  /** Documents that are not text. */
  readonly files: number;
}

interface Walk {
  readonly texts: string[];
  images: number;
  files: number;
}

/** Expects what readChatFacts has passed. */
export function collectTexts(parsed: JsonRecord): CountedTexts {
  const walk: Walk = { texts: [], images: 0, files: 0 };
  const messages = itemsOf(parsed['messages']).filter(isRecord);
  const tools = itemsOf(parsed['tools']).filter(isRecord);
  collectContent(walk, parsed['system']);
  for (const message of messages) collectContent(walk, message['content']);
  for (const tool of tools) collectJson(walk, { name: tool['name'], description: tool['description'], parameters: tool['input_schema'] });
  const config = parsed['output_config'];
  if (isRecord(config) && isGiven(config['format'])) collectJson(walk, config['format']);
  return { texts: walk.texts, units: messages.length + tools.length + (isGiven(parsed['system']) ? 1 : 0), images: walk.images, files: walk.files };
}

/** Thinking is left out: that of earlier turns is not read again. */
function collectContent(walk: Walk, content: unknown): void {
  const pending: unknown[] = [content];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'string') walk.texts.push(next);
    else if (Array.isArray(next)) pending.push(...next.toReversed());
    else if (isRecord(next)) collectBlock(walk, next, pending);
  }
}

function collectBlock(walk: Walk, block: JsonRecord, pending: unknown[]): void {
  const type = wordOf(block['type']);
  if (type === 'image') walk.images++;
  else if (type === 'document') collectDocument(walk, block, pending);
  else if (type.endsWith('tool_use')) collectJson(walk, { name: block['name'], input: block['input'] });
  else {
    const text = textOf(block['text']);
    if (text !== undefined) walk.texts.push(text);
    if (isGiven(block['content'])) pending.push(block['content']);
  }
}

function collectDocument(walk: Walk, { source, title, context }: JsonRecord, pending: unknown[]): void {
  for (const text of [title, context].map(textOf)) if (text !== undefined) walk.texts.push(text);
  if (!isRecord(source)) return;
  if (source['type'] === 'text') pending.push(source['data']);
  else if (source['type'] === 'content') pending.push(source['content']);
  else walk.files++;
}

function collectJson(walk: Walk, value: unknown): void {
  try {
    walk.texts.push(writeJson(value));
  } catch {
    // nested beyond reason: its provider would refuse it
  }
}

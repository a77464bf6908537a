/**
 * Collects what has to be counted for the tokens of a messages request: every text that the model reads, and the
 * numbers of messages, tools, images and files. Iterative, because clients choose the depth.
 */
import { isGiven, isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';

export interface CountedTexts {
  readonly texts: readonly string[];
  /** Messages and tools, to which a provider adds tokens of its own. */
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

/** Expects a request that readChatFacts has accepted. */
export function collectTexts(parsed: JsonRecord): CountedTexts {
  const walk: Walk = { texts: [], images: 0, files: 0 };
  const messages = itemsOf(parsed['messages']).filter(isRecord);
  const tools = itemsOf(parsed['tools']).filter(isRecord);
  collectContent(walk, parsed['system']);
  for (const message of messages) collectContent(walk, message['content']);
  for (const tool of tools)
    collectJson(walk, { name: tool['name'], description: tool['description'], parameters: tool['input_schema'] });
  const config = parsed['output_config'];
  if (isRecord(config) && isGiven(config['format'])) collectJson(walk, config['format']);
  return {
    texts: walk.texts, units: messages.length + tools.length + (isGiven(parsed['system']) ? 1 : 0), images: walk.images,
    files: walk.files,
  };
}

/** Without thinking: models do not read that of earlier turns. */
function collectContent(walk: Walk, content: unknown): void {
  const pending: unknown[] = [content];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'string') walk.texts.push(next);
    else if (Array.isArray(next)) for (const item of next.toReversed()) pending.push(item);
    else if (isRecord(next)) collectBlock(walk, next, pending);
  }
}

function collectBlock(walk: Walk, block: JsonRecord, pending: unknown[]): void {
  const type = stringOf(block['type']);
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
    // it nests too deeply to be written, and a provider would refuse it
  }
}

/**
 * Collects the input of a token count from a responses request: all texts that the model reads, and the numbers of
 * items, tools, images and files.
 */
import { collectJson } from '../counted-texts.ts';
import type { Collected, CountedTexts } from '../counted-texts.ts';
import { isGiven, isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** Members of an item that a model reads besides parts. */
const ITEM_TEXTS = ['name', 'namespace', 'arguments', 'input'] as const;

/** Expects a request that readResponseFacts has accepted. Encrypted reasoning is not counted. */
export function collectResponseTexts(parsed: JsonRecord): CountedTexts {
  const collected: Collected = { texts: [], images: 0, files: 0 };
  const { input, instructions, text } = parsed;
  const items = itemsOf(input).filter(isRecord);
  const tools = itemsOf(parsed['tools']).filter(isRecord);
  for (const value of [instructions, input]) addText(collected, value);
  for (const item of items) collectItem(collected, item);
  for (const tool of tools) collectJson(collected, tool);
  if (isRecord(text) && isGiven(text['format'])) collectJson(collected, text['format']);
  const units = items.length + tools.length + [instructions, input].filter((value) => textOf(value)).length;
  return { texts: collected.texts, units, images: collected.images, files: collected.files };
}

function collectItem(collected: Collected, item: JsonRecord): void {
  for (const name of ITEM_TEXTS) addText(collected, item[name]);
  for (const value of [item['content'], item['output'], item['summary']]) collectParts(collected, value);
  if (isGiven(item['tools'])) collectJson(collected, item['tools']);
}

/** A text, or a list of parts. */
function collectParts(collected: Collected, value: unknown): void {
  addText(collected, value);
  for (const part of itemsOf(value).filter(isRecord)) {
    const type = stringOf(part['type']);
    if (type.includes('image')) collected.images++;
    else if (type.includes('file')) collected.files++;
    else for (const text of [part['text'], part['refusal']]) addText(collected, text);
  }
}

function addText(collected: Collected, value: unknown): void {
  const text = textOf(value);
  if (text !== undefined) collected.texts.push(text);
}

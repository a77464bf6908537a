/**
 * Anthropic's messages as OpenAI's: `system` leads; the results of tools are messages of their own, before the rest of their
 * turn; calls of the assistant stand beside its text. Thinking blocks are signed by their provider and mean nothing to another.
 */
import { isGiven, isRecord, readMessages, readRecords, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-lossless.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { convertBlock, isPart, writeParts } from './blocks.ts';

export function convertMessages(system: unknown, messages: unknown): readonly JsonRecord[] {
  return [
    ...convertSystem(system, 'system'),
    ...readMessages({ messages }).flatMap((message, index) => convertMessage(message, `messages[${index}]`)),
  ];
}

function convertMessage(message: JsonRecord, param: string): readonly JsonRecord[] {
  const { role, content } = message;
  if (role === 'system') return convertSystem(content, `${param}.content`);
  if (role !== 'user' && role !== 'assistant') throw malformed(`${param}.role`, 'one of user, assistant and system');
  if (typeof content === 'string') return [{ role, content }];
  const blocks = readRecords(content, `${param}.content`);
  return role === 'user' ? convertUser(blocks, `${param}.content`) : convertAssistant(blocks, `${param}.content`);
}

/** One text: providers that are compatible enough take a list of parts here, the others do not. */
function convertSystem(system: unknown, param: string): readonly JsonRecord[] {
  if (!isGiven(system)) return [];
  const text = typeof system === 'string' ? system : readRecords(system, param).map((block, index) => textBlock(block, `${param}[${index}]`)).join('\n\n');
  return text === '' ? [] : [{ role: 'system', content: text }];
}

function textBlock(block: JsonRecord, param: string): string {
  if (block['type'] !== 'text') throw unsupported(`${param}.type`, 'OpenAI');
  return wordOf(block['text']);
}

function convertUser(blocks: readonly JsonRecord[], param: string): readonly JsonRecord[] {
  const results: JsonRecord[] = [];
  const parts: JsonRecord[] = [];
  for (const [index, block] of blocks.entries()) {
    const at = `${param}[${index}]`;
    if (block['type'] !== 'tool_result') parts.push(...convertBlock(block, at));
    else {
      const { message, more } = convertResult(block, at);
      results.push(message);
      parts.push(...more);
    }
  }
  return parts.length > 0 ? [...results, { role: 'user', content: writeParts(parts) }] : results;
}

/** A tool message holds text only: images of a result follow in the user's message. */
function convertResult(block: JsonRecord, param: string): { message: JsonRecord; more: readonly JsonRecord[] } {
  const { content } = block;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }]
    : readRecords(content, `${param}.content`).flatMap((inner, index) => convertBlock(inner, `${param}.content[${index}]`));
  const text = parts.filter(isPart('text')).map((part) => wordOf(part['text'])).join('\n');
  return {
    message: { role: 'tool', tool_call_id: wordOf(block['tool_use_id']), content: block['is_error'] === true ? `Error: ${text}` : text },
    more: parts.filter((part) => !isPart('text')(part)),
  };
}

function convertAssistant(blocks: readonly JsonRecord[], param: string): readonly JsonRecord[] {
  const texts: string[] = [];
  const calls: JsonRecord[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block['type'] === 'text') texts.push(wordOf(block['text']));
    else if (block['type'] === 'tool_use') calls.push(convertCall(block));
    else if (block['type'] !== 'thinking' && block['type'] !== 'redacted_thinking') throw unsupported(`${param}[${index}].type`, 'OpenAI');
  }
  const content = textOf(texts.join(''));
  if (content === undefined && calls.length === 0) return [];
  return [{ role: 'assistant', content: content ?? null, ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
}

function convertCall(block: JsonRecord): JsonRecord {
  const input = isRecord(block['input']) ? block['input'] : {};
  return { id: block['id'], type: 'function', function: { name: block['name'], arguments: writeJson(input) } };
}

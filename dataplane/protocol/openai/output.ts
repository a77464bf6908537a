/**
 * How much was generated, in bytes: what an estimate is made from where the provider gives no figures.
 */
import { isRecord, itemsOf, utf8Bytes } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** Of a message, or of a chunk's delta: they name their parts alike. */
export function outputBytesOf(message: JsonRecord): number {
  const calls = itemsOf(message['tool_calls']).filter(isRecord).map((call) => callBytes(call['function']) + callBytes(call['custom']));
  return contentBytes(message['content'])
    + utf8Bytes(message['refusal'])
    + utf8Bytes(reasoningOf(message))
    + callBytes(message['function_call'])
    + (isRecord(message['audio']) ? utf8Bytes(message['audio']['transcript']) : 0)
    + calls.reduce((sum, bytes) => sum + bytes, 0);
}

/** Providers that show reasoning call it one or the other, some both with the same text. */
export function reasoningOf(message: JsonRecord): string | undefined {
  return [message['reasoning_content'], message['reasoning']].find((text): text is string => typeof text === 'string' && text !== '');
}

function contentBytes(content: unknown): number {
  if (typeof content === 'string') return Buffer.byteLength(content);
  return itemsOf(content).filter(isRecord).reduce((sum, part) => sum + utf8Bytes(part['text']) + utf8Bytes(part['thinking']), 0);
}

function callBytes(call: unknown): number {
  if (!isRecord(call)) return 0;
  return utf8Bytes(call['name']) + utf8Bytes(call['arguments']) + utf8Bytes(call['input']);
}

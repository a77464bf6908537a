/**
 * How much was generated, in bytes: what an estimate is made from where the provider gives no figures.
 */
import { Buffer } from 'node:buffer';
import { isRecord, itemsOf, textOf, utf8Bytes, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** Of a message, or of a chunk's delta: they name their parts alike. */
export function outputBytesOf(message: JsonRecord): number {
  return contentBytes(message['content'])
    + utf8Bytes(message['refusal'])
    + utf8Bytes(reasoningOf(message))
    + callBytes(message['function_call'])
    + (isRecord(message['audio']) ? utf8Bytes(message['audio']['transcript']) : 0)
    + (Array.isArray(message['tool_calls']) ? callsBytes(message['tool_calls']) : 0);
}

function callsBytes(calls: readonly unknown[]): number {
  return calls.filter(isRecord).reduce((sum, call) => sum + callBytes(call['function']) + callBytes(call['custom']), 0);
}

/** Providers that show reasoning call it one or the other, some both with the same text; Mistral's has parts of the content. */
export function reasoningOf({ reasoning_content: newer, reasoning, content }: JsonRecord): string | undefined {
  if (typeof newer === 'string' && newer !== '') return newer;
  if (typeof reasoning === 'string' && reasoning !== '') return reasoning;
  return Array.isArray(content) ? textOf(content.filter(isRecord).map(({ thinking }) => thinkingText(thinking)).join('')) : undefined;
}

function thinkingText(thinking: unknown): string {
  return typeof thinking === 'string' ? thinking : itemsOf(thinking).filter(isRecord).map(({ text }) => wordOf(text)).join('');
}

function contentBytes(content: unknown): number {
  if (typeof content === 'string') return Buffer.byteLength(content);
  return itemsOf(content).filter(isRecord).reduce((sum, part) => sum + utf8Bytes(part['text']), 0);
}

function callBytes(call: unknown): number {
  if (!isRecord(call)) return 0;
  return utf8Bytes(call['name']) + utf8Bytes(call['arguments']) + utf8Bytes(call['input']);
}

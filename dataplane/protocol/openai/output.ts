/**
 * Bytes of generated output, from which usage is estimated if the provider reports none.
 */
import { Buffer } from 'node:buffer';
import { isRecord, itemsOf, stringOf, textOf, utf8Bytes } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** Of a message or of a chunk's delta, which have the same fields. */
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

/**
 * `reasoning_content` or `reasoning`, which some providers both send with the same text, or Mistral's thinking parts.
 */
export function reasoningOf({
  reasoning_content: reasoningContent, reasoning, content,
}: JsonRecord): string | undefined {
  if (typeof reasoningContent === 'string' && reasoningContent !== '') return reasoningContent;
  if (typeof reasoning === 'string' && reasoning !== '') return reasoning;
  return Array.isArray(content)
    ? textOf(content.filter(isRecord).map(({ thinking }) => thinkingText(thinking)).join(''))
    : undefined;
}

function thinkingText(thinking: unknown): string {
  return typeof thinking === 'string'
    ? thinking
    : itemsOf(thinking).filter(isRecord).map(({ text }) => stringOf(text)).join('');
}

function contentBytes(content: unknown): number {
  if (typeof content === 'string') return Buffer.byteLength(content);
  return itemsOf(content).filter(isRecord).reduce((sum, part) => sum + utf8Bytes(part['text']), 0);
}

function callBytes(call: unknown): number {
  if (!isRecord(call)) return 0;
  return utf8Bytes(call['name']) + utf8Bytes(call['arguments']) + utf8Bytes(call['input']);
}

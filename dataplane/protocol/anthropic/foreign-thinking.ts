/**
 * Leaves thinking that Anthropic did not sign out of messages that pass through, because its models refuse it. A
 * conversation has it if it began on another provider's channel, whose reasoning the gateway gave to the client unsigned
 * or with a mark of its maker.
 */
import { readProof } from '../conversation/reasoning.ts';
import type { Converter, UpstreamBody } from '../converter.ts';
import { isRecord, itemsOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { editObject } from '../json-edit.ts';
import { parseObject, reparseLosslessly, writeJson } from '../json-value.ts';

/** Whether any block of these messages is such thinking. */
export function hasForeignThinking(messages: unknown): boolean {
  return itemsOf(messages).some((message) => isRecord(message) && itemsOf(message['content']).some(isForeign));
}

/** A message that was nothing else is left out, because Anthropic refuses an empty one as well. */
export function withoutForeignThinking(messages: unknown): readonly unknown[] {
  return itemsOf(messages).flatMap((message): readonly unknown[] => {
    if (!isRecord(message)) return [message];
    const blocks = itemsOf(message['content']);
    const own = blocks.filter((block) => !isForeign(block));
    if (own.length === blocks.length) return [message];
    return own.length === 0 ? [] : [{ ...message, content: own } satisfies JsonRecord];
  });
}

function isForeign(block: unknown): boolean {
  if (!isRecord(block) || block['type'] !== 'thinking') return false;
  return readProof(stringOf(block['signature']))?.maker !== 'Anthropic';
}

/** What each signature of another maker begins with, as JSON. */
const MARKS: readonly string[] = ['"gemini.', '"openai.', '"signature":""'];

/** A conversion whose requests have no such thinking. */
export function strippingForeignThinking(converter: Converter): Converter {
  return { ...converter, request: (body, parsed, plan) => strip(converter.request(body, parsed, plan)) };
}

function strip(sent: UpstreamBody): UpstreamBody {
  const bytes = Buffer.from(sent.body.buffer, sent.body.byteOffset, sent.body.length);
  // most requests need no second reading
  if (!MARKS.some((mark) => bytes.includes(mark))) return sent;
  const { messages } = reparseLosslessly(bytes, parseObject(bytes));
  if (!hasForeignThinking(messages)) return sent;
  return { ...sent, body: editObject(bytes, new Map([['messages', writeJson(withoutForeignThinking(messages))]])) };
}

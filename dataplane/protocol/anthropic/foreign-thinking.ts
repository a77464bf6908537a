/**
 * Leaves thinking that Anthropic did not sign out of messages that pass through, because its models refuse it. A
 * conversation has it if it began on another provider's channel, whose reasoning the gateway gave to the client unsigned
 * or with a mark of its maker.
 */
import { readProof } from '../conversation/reasoning.ts';
import { isRecord, itemsOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { reparseLosslessly } from '../json-value.ts';

/** The messages of a request without such thinking; undefined: they have none. */
export function ownMessages(body: Uint8Array, parsed: JsonRecord): readonly unknown[] | undefined {
  if (!hasForeignThinking(parsed['messages'])) return undefined;
  return withoutForeignThinking(reparseLosslessly(body, parsed)['messages']);
}

function hasForeignThinking(messages: unknown): boolean {
  return itemsOf(messages).some((message) => isRecord(message) && itemsOf(message['content']).some(isForeign));
}

/** A message that was nothing else is left out, because Anthropic refuses an empty one as well. */
function withoutForeignThinking(messages: unknown): readonly unknown[] {
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

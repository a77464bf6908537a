/**
 * Converts signed thinking to and from `reasoning_details`, which OpenRouter's clients know. A client that sends an
 * answer back unchanged returns the thinking with it, which the API requires between a tool call and its result.
 */
import { isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

const FORMAT = 'anthropic-claude-v1';

/** The detail for a thinking block; undefined: it is not signed. */
export function writeReasoning(block: JsonRecord, index: number): JsonRecord | undefined {
  const { type, thinking, signature, data } = block;
  if (type === 'redacted_thinking') return { type: 'reasoning.encrypted', data, format: FORMAT, index };
  return textOf(signature) === undefined
    ? undefined
    : { type: 'reasoning.text', text: stringOf(thinking), signature, format: FORMAT, index };
}

/**
 * Thinking blocks that Anthropic signed; other providers' reasoning is left out. LiteLLM's clients return the blocks
 * themselves, in `thinking_blocks`.
 */
export function convertReasoning(details: unknown, thinkingBlocks: unknown): JsonRecord[] {
  const converted = convertDetails(details);
  return converted.length > 0 ? converted : itemsOf(thinkingBlocks).filter(isRecord).flatMap(readThinkingBlock);
}

function readThinkingBlock({ type, thinking, signature, data }: JsonRecord): JsonRecord[] {
  if (type === 'redacted_thinking' && textOf(data) !== undefined) return [{ type, data }];
  return type === 'thinking' && textOf(signature) !== undefined
    ? [{ type, thinking: stringOf(thinking), signature }]
    : [];
}

/** One block may come in several details. */
function convertDetails(value: unknown): JsonRecord[] {
  const blocks: { index: unknown; type: string; thinking: string; signature: string }[] = [];
  const converted: JsonRecord[] = [];
  for (const detail of itemsOf(value).filter(isRecord).filter(isAnthropic)) {
    if (detail['type'] === 'reasoning.encrypted')
      converted.push({ type: 'redacted_thinking', data: stringOf(detail['data']) });
    if (detail['type'] !== 'reasoning.text') continue;
    const last = blocks.at(-1);
    const block =
      last && last.index === detail['index'] && last.signature === ''
        ? last
        : { index: detail['index'], type: 'thinking', thinking: '', signature: '' };
    if (block !== last) {
      blocks.push(block);
      converted.push(block);
    }
    block.thinking += stringOf(detail['text']);
    block.signature = stringOf(detail['signature']);
  }
  return converted.filter((block) => block['signature'] !== '').map(({ index: _index, ...block }) => block);
}

function isAnthropic({ format }: JsonRecord): boolean {
  return stringOf(format).startsWith('anthropic');
}

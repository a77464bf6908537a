/**
 * Signed thoughts across OpenAI's protocol, in the shape that OpenRouter's clients know: `reasoning_details`. A client that returns
 * an answer as it got it gives the model its own thoughts back, which the API asks for between a tool call and its result.
 */
import { isRecord, itemsOf, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

const FORMAT = 'anthropic-claude-v1';

/** Of an answer's thinking blocks. */
export function writeReasoning(block: JsonRecord, index: number): JsonRecord | undefined {
  const { type, thinking, signature, data } = block;
  if (type === 'redacted_thinking') return { type: 'reasoning.encrypted', data, format: FORMAT, index };
  return textOf(signature) === undefined ? undefined : { type: 'reasoning.text', text: wordOf(thinking), signature, format: FORMAT, index };
}

/** What Anthropic signed, as it was; what another provider thought is left out. Pieces of one thought may come apart. */
export function convertReasoning(value: unknown): JsonRecord[] {
  const blocks: { index: unknown; type: string; thinking: string; signature: string }[] = [];
  const converted: JsonRecord[] = [];
  for (const detail of itemsOf(value).filter(isRecord).filter(isAnthropic)) {
    if (detail['type'] === 'reasoning.encrypted') converted.push({ type: 'redacted_thinking', data: wordOf(detail['data']) });
    if (detail['type'] !== 'reasoning.text') continue;
    const last = blocks.at(-1);
    const block = last && last.index === detail['index'] && last.signature === '' ? last : { index: detail['index'], type: 'thinking', thinking: '', signature: '' };
    if (block !== last) {
      blocks.push(block);
      converted.push(block);
    }
    block.thinking += wordOf(detail['text']);
    block.signature = wordOf(detail['signature']);
  }
  return converted.filter((block) => block['signature'] !== '').map(({ index: _index, ...block }) => block);
}

function isAnthropic({ format }: JsonRecord): boolean {
  return wordOf(format).startsWith('anthropic');
}

/**
 * A message as a chat completion.
 */
import { meterMessage } from '../anthropic/stream-meter.ts';
import type { AnswerContext, ConvertedResponse, ReportedUsage } from '../converter.ts';
import { isRecord, itemsOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseLossless, writeJson } from '../json-lossless.ts';
import { parseAnswer } from '../json-text.ts';
import { fillUsage } from '../usage.ts';

const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ['end_turn', 'stop'], ['stop_sequence', 'stop'], ['pause_turn', 'stop'], ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'], ['tool_use', 'tool_calls'], ['refusal', 'content_filter'],
]);

export function finishReasonOf(stopReason: string | undefined): string {
  return FINISH_REASONS.get(stopReason ?? '') ?? 'stop';
}

/** Throws SyntaxError where it is no message. */
export function convertResponse(body: Uint8Array, answer?: AnswerContext): ConvertedResponse {
  const message = parseAnswer(body, parseLossless);
  if (!Array.isArray(message['content'])) throw new SyntaxError('the answer is not a message');
  const meter = meterMessage(message);
  const completion = {
    id: `chatcmpl-${answer?.id ?? wordOf(message['id']).replace(/^msg_/, '')}`,
    object: 'chat.completion',
    created: answer?.createdSeconds ?? 0,
    model: message['model'],
    choices: [{ index: 0, message: convertContent(message['content']), logprobs: null, finish_reason: finishReasonOf(wordOf(message['stop_reason'])) }],
    usage: writeUsage(fillUsage(meter, answer?.estimatedInputTokens ?? 0)),
  };
  return { body: Buffer.from(writeJson(completion)), meter };
}

/** OpenAI counts cached and written tokens as part of the prompt. */
export function writeUsage({ input, cached, cacheWrite5m, cacheWrite1h, output }: ReportedUsage): JsonRecord {
  const written = (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0);
  const prompt = (input ?? 0) + (cached ?? 0) + written;
  return {
    prompt_tokens: prompt,
    completion_tokens: output ?? 0,
    total_tokens: prompt + (output ?? 0),
    prompt_tokens_details: { cached_tokens: cached ?? 0, cache_write_tokens: written },
  };
}

/** Thinking is shown where OpenAI-compatible providers show it; blocks of the provider's own tools have no place. */
function convertContent(content: readonly unknown[]): JsonRecord {
  const blocks = itemsOf(content).filter(isRecord);
  const joined = (type: string, member: string): string | undefined =>
    blocks.some((block) => block['type'] === type) ? blocks.filter((block) => block['type'] === type).map((block) => wordOf(block[member])).join('') : undefined;
  const calls = blocks.filter((block) => block['type'] === 'tool_use').map(convertCall);
  const reasoning = joined('thinking', 'thinking');
  return {
    role: 'assistant',
    content: joined('text', 'text') ?? null,
    refusal: null,
    ...(reasoning === undefined || reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function convertCall(block: JsonRecord): JsonRecord {
  return { id: block['id'], type: 'function', function: { name: block['name'], arguments: writeJson(block['input'] ?? {}) } };
}

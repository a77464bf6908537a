/**
 * A chat completion as a message.
 */
import type { AnswerContext, ConvertedResponse, ReportedUsage } from '../converter.ts';
import { isGiven, isRecord, itemsOf, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseLossless, writeJson } from '../json-lossless.ts';
import { parseAnswer } from '../json-text.ts';
import { reasoningOf } from '../openai/output.ts';
import { meterCompletion } from '../openai/stream-meter.ts';
import { fillUsage } from '../usage.ts';

const STOP_REASONS: ReadonlyMap<string, string> = new Map([
  ['stop', 'end_turn'], ['length', 'max_tokens'], ['tool_calls', 'tool_use'], ['function_call', 'tool_use'], ['content_filter', 'refusal'],
]);

/** Some providers say "stop" although they called a tool. */
export function stopReasonOf(finishReason: string | undefined, calledTools: boolean): string {
  const reason = STOP_REASONS.get(finishReason ?? '') ?? 'end_turn';
  return calledTools && reason === 'end_turn' ? 'tool_use' : reason;
}

/** Throws SyntaxError where it is no chat completion. */
export function convertResponse(body: Uint8Array, answer?: AnswerContext): ConvertedResponse {
  const completion = parseAnswer(body);
  const first: unknown = itemsOf(completion['choices'])[0];
  if (!isRecord(first) || !isRecord(first['message'])) throw new SyntaxError('the answer is not a chat completion');
  const meter = meterCompletion(completion);
  const content = convertMessage(first['message']);
  const message = {
    id: messageId(answer?.id ?? wordOf(completion['id'])),
    type: 'message',
    role: 'assistant',
    model: completion['model'],
    content,
    stop_reason: stopReasonOf(textOf(first['finish_reason']), content.some((block) => block['type'] === 'tool_use')),
    stop_sequence: null,
    usage: writeUsage(fillUsage(meter, answer?.estimatedInputTokens ?? 0)),
  };
  return { body: Buffer.from(writeJson(message)), meter };
}

export function messageId(id: string): string {
  return `msg_${id.replace(/^(?:chatcmpl|msg)[-_]/, '')}`;
}

/** Anthropic counts cached and written tokens apart from the input. */
export function writeUsage({ input, cached, cacheWrite5m, cacheWrite1h, output }: ReportedUsage): JsonRecord {
  return {
    input_tokens: input ?? 0,
    cache_creation_input_tokens: (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0),
    cache_read_input_tokens: cached ?? 0,
    output_tokens: output ?? 0,
  };
}

/** Arguments as the object that a tool_use block takes; cut or missing ones as an empty one. */
export function parseInput(text: string): JsonRecord {
  try {
    const value = parseLossless(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

function convertMessage(message: JsonRecord): readonly JsonRecord[] {
  const thinking = reasoningOf(message);
  const texts = [...contentTexts(message['content']), textOf(message['refusal'])].filter((text) => text !== undefined);
  const calls: unknown[] = [...itemsOf(message['tool_calls']), ...(isGiven(message['function_call']) ? [{ function: message['function_call'] }] : [])];
  return [
    ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature: '' }]),
    ...texts.map((text) => ({ type: 'text', text })),
    ...calls.filter(isRecord).map(convertCall),
  ];
}

function contentTexts(content: unknown): readonly (string | undefined)[] {
  return typeof content === 'string' ? [textOf(content)] : itemsOf(content).filter(isRecord).map((part) => textOf(part['text']));
}

function convertCall(call: JsonRecord, index: number): JsonRecord {
  const called = isRecord(call['function']) ? call['function'] : {};
  return { type: 'tool_use', id: textOf(call['id']) ?? `toolu_${index}`, name: wordOf(called['name']), input: parseInput(wordOf(called['arguments'])) };
}

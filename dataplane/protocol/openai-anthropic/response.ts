/**
 * A message as a chat completion.
 */
import { meterMessage } from '../anthropic/stream-meter.ts';
import { readReasoningTokens } from '../anthropic/usage.ts';
import type { AnswerContext, AnswerNotes, ConvertedResponse, ReportedUsage } from '../converter.ts';
import { viewOf } from '../field-table.ts';
import { isRecord, itemsOf, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseLossless, parseObject, writeJson } from '../json-value.ts';
import { fromToolUseId } from '../tool-ids.ts';
import { fillUsage } from '../usage.ts';
import { convertCitations } from './citations.ts';
import { writeReasoning } from './reasoning.ts';
import { FINISH_REASONS, MESSAGE, SERVICE_TIERS, TEXT_BLOCK, THINKING_BLOCK, TOOL_USE_BLOCK, USAGE } from './table.ts';

/** What the request asks of the answer is told by `notes`. */
export function finishReasonOf(stopReason: string | undefined, notes: AnswerNotes | undefined): string {
  const reason = FINISH_REASONS.words.get(stopReason ?? '') ?? 'stop';
  return reason === 'tool_calls' && notes?.legacyFunctions === true ? 'function_call' : reason;
}

/** Throws SyntaxError where it is no message. */
export function convertResponse(body: Uint8Array, answer: Partial<AnswerContext> = {}): ConvertedResponse {
  const { id: ownId, createdSeconds = 0, estimatedInputTokens = 0, notes } = answer;
  const message = parseObject(body, parseLossless);
  const { id, model, content, stop_reason: stopReason, stop_details: details, usage } = viewOf(MESSAGE, message);
  if (!Array.isArray(content)) throw new SyntaxError('the answer is not a message');
  const meter = meterMessage(message);
  const tier = serviceTierOf(usage);
  const completion = {
    id: `chatcmpl-${ownId ?? wordOf(id).replace(/^msg_/, '')}`,
    object: 'chat.completion',
    created: createdSeconds,
    model,
    choices: [{
      index: 0,
      message: convertContent(content, explanationOf(details), notes),
      logprobs: null,
      finish_reason: finishReasonOf(wordOf(stopReason), notes),
    }],
    ...(tier === undefined ? {} : { service_tier: tier }),
    usage: writeUsage(fillUsage(meter, estimatedInputTokens), readReasoningTokens(usage)),
  };
  return { body: Buffer.from(writeJson(completion)), meter };
}

/** OpenAI counts cached and written tokens as part of the prompt. */
export function writeUsage({ input, cached, cacheWrite5m, cacheWrite1h, output }: ReportedUsage, reasoning: number | undefined): JsonRecord {
  const written = (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0);
  const prompt = (input ?? 0) + (cached ?? 0) + written;
  return {
    prompt_tokens: prompt,
    completion_tokens: output ?? 0,
    total_tokens: prompt + (output ?? 0),
    prompt_tokens_details: { cached_tokens: cached ?? 0, cache_write_tokens: written },
    ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

export function serviceTierOf(usage: unknown): string | undefined {
  return isRecord(usage) ? SERVICE_TIERS.words.get(wordOf(viewOf(USAGE, usage).service_tier)) : undefined;
}

/** Why the provider refused, where it says. */
export function explanationOf(details: unknown): string | undefined {
  return isRecord(details) ? textOf(details['explanation']) : undefined;
}

/** A call as the client asked for it: of a function, of a custom tool, or as an older message's. */
export function writeCall({ id, name, text }: { id: unknown; name: string; text: string }, notes: AnswerNotes | undefined): JsonRecord {
  const named = notes?.toolNames?.get(name) ?? name;
  if (notes?.legacyFunctions === true) return { function_call: { name: named, arguments: text } };
  const call = { id: fromToolUseId(wordOf(id)) };
  if (notes?.customTools?.has(name) === true) return { ...call, type: 'custom', custom: { name: named, input: customInput(text) } };
  return { ...call, type: 'function', function: { name: named, arguments: text } };
}

/** The text that a custom tool's object holds; whatever else a model wrote, as it is. */
function customInput(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && typeof value['input'] === 'string' ? value['input'] : text;
  } catch {
    return text;
  }
}

/** Thinking is shown where OpenAI-compatible providers show it; blocks of the provider's own tools have no place. */
function convertContent(content: readonly unknown[], refusal: string | undefined, notes: AnswerNotes | undefined): JsonRecord {
  const blocks = itemsOf(content).filter(isRecord);
  const ofType = (...types: readonly string[]): JsonRecord[] => blocks.filter((block) => types.includes(wordOf(block['type'])));
  const texts = ofType('text');
  const calls = ofType('tool_use').map((block) => convertCall(block, notes));
  const thoughts = ofType('thinking', 'redacted_thinking').map((block) => viewOf(THINKING_BLOCK, block));
  const reasoning = thoughts.map(({ thinking }) => wordOf(thinking)).join('');
  const details = thoughts.map(writeReasoning).filter((detail) => detail !== undefined);
  const annotations = annotationsOf(texts);
  return {
    role: 'assistant',
    content: texts.length > 0 ? texts.map((block) => wordOf(block['text'])).join('') : null,
    refusal: refusal ?? null,
    ...(annotations.length > 0 ? { annotations } : {}),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(details.length > 0 ? { reasoning_details: details } : {}),
    ...(notes?.legacyFunctions === true ? calls[0] : calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function annotationsOf(texts: readonly JsonRecord[]): JsonRecord[] {
  let start = 0;
  return texts.flatMap((block) => {
    const { text, citations } = viewOf(TEXT_BLOCK, block);
    const end = start + wordOf(text).length;
    const annotations = convertCitations(citations, start, end);
    start = end;
    return annotations;
  });
}

function convertCall(block: JsonRecord, notes: AnswerNotes | undefined): JsonRecord {
  const { id, name, input } = viewOf(TOOL_USE_BLOCK, block);
  return writeCall({ id, name: wordOf(name), text: writeJson(input ?? {}) }, notes);
}

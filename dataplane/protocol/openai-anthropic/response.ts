/**
 * Converts a message to a chat completion.
 */
import { meterMessage } from '../anthropic/stream-meter.ts';
import { readReasoningTokens } from '../anthropic/usage.ts';
import type { ResponseContext, ConversionNotes, ConvertedResponse, ReportedUsage } from '../converter.ts';
import { convertedFields } from '../field-table.ts';
import { isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseLossless, parseObject, writeJson } from '../json-value.ts';
import { fromToolUseId } from '../tool-ids.ts';
import { fillUsage } from '../usage.ts';
import { convertCitations } from './citations.ts';
import { writeReasoning } from './reasoning.ts';
import { FINISH_REASONS, MESSAGE, SERVICE_TIERS, TEXT_BLOCK, THINKING_BLOCK, TOOL_USE_BLOCK, USAGE } from './table.ts';

export function finishReasonOf(stopReason: string | undefined, notes: ConversionNotes | undefined): string {
  const reason = FINISH_REASONS.values.get(stopReason ?? '') ?? 'stop';
  return reason === 'tool_calls' && notes?.legacyFunctions === true ? 'function_call' : reason;
}

/** Throws SyntaxError where the body is not a message. */
export function convertResponse(body: Uint8Array, answer: Partial<ResponseContext> = {}): ConvertedResponse {
  const { id: ownId, createdSeconds = 0, estimatedInputTokens = 0, notes } = answer;
  const message = parseObject(body, parseLossless);
  const fields = convertedFields(MESSAGE, message);
  const { id, model, content, stop_reason: stopReason, stop_details: details, usage } = fields;
  if (!Array.isArray(content)) throw new SyntaxError('the answer is not a message');
  const meter = meterMessage(message);
  const tier = serviceTierOf(usage);
  const completion = {
    id: `chatcmpl-${ownId ?? stringOf(id).replace(/^msg_/, '')}`,
    object: 'chat.completion',
    created: createdSeconds,
    model,
    choices: [
      {
        index: 0,
        message: convertContent(content, explanationOf(details), notes),
        logprobs: null,
        finish_reason: finishReasonOf(stringOf(stopReason), notes),
      },
    ],
    ...(tier === undefined ? {} : { service_tier: tier }),
    usage: writeUsage(fillUsage(meter, estimatedInputTokens), readReasoningTokens(usage)),
  };
  return { body: Buffer.from(writeJson(completion)), meter };
}

/** OpenAI's prompt_tokens include tokens read from and written to the cache. */
export function writeUsage(
  { input, cached, cacheWrite5m, cacheWrite1h, output }: ReportedUsage,
  reasoning: number | undefined,
): JsonRecord {
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
  return isRecord(usage) ? SERVICE_TIERS.values.get(stringOf(convertedFields(USAGE, usage).service_tier)) : undefined;
}

/** The provider's explanation of a refusal, if it gives one. */
export function explanationOf(details: unknown): string | undefined {
  return isRecord(details) ? textOf(details['explanation']) : undefined;
}

/** A tool call as the client expects it: of a function, of a custom tool, or as function_call. */
export function writeCall(
  { id, name, text }: { id: unknown; name: string; text: string },
  notes: ConversionNotes | undefined,
): JsonRecord {
  const named = notes?.toolNames?.get(name) ?? name;
  if (notes?.legacyFunctions === true) return { function_call: { name: named, arguments: text } };
  const call = { id: fromToolUseId(stringOf(id)) };
  if (notes?.customTools?.has(name) === true)
    return { ...call, type: 'custom', custom: { name: named, input: customInput(text) } };
  return { ...call, type: 'function', function: { name: named, arguments: text } };
}

/** The text within a custom tool's input object; anything else that the model wrote, unchanged. */
function customInput(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && typeof value['input'] === 'string' ? value['input'] : text;
  } catch {
    return text;
  }
}

/** Writes thinking into the fields that OpenAI-compatible providers use; blocks of server tools are left out. */
function convertContent(
  content: readonly unknown[],
  refusal: string | undefined,
  notes: ConversionNotes | undefined,
): JsonRecord {
  const blocks = itemsOf(content).filter(isRecord);
  const ofType = (...types: readonly string[]): JsonRecord[] =>
    blocks.filter((block) => types.includes(stringOf(block['type'])));
  const texts = ofType('text');
  const calls = ofType('tool_use').map((block) => convertCall(block, notes));
  const thinkingBlocks = ofType('thinking', 'redacted_thinking').map((block) => convertedFields(THINKING_BLOCK, block));
  const reasoning = thinkingBlocks.map(({ thinking }) => stringOf(thinking)).join('');
  const details = thinkingBlocks.map(writeReasoning).filter((detail) => detail !== undefined);
  const annotations = annotationsOf(texts);
  return {
    role: 'assistant',
    content: texts.length > 0 ? texts.map((block) => stringOf(block['text'])).join('') : null,
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
    const { text, citations } = convertedFields(TEXT_BLOCK, block);
    const end = start + stringOf(text).length;
    const annotations = convertCitations(citations, start, end);
    start = end;
    return annotations;
  });
}

function convertCall(block: JsonRecord, notes: ConversionNotes | undefined): JsonRecord {
  const { id, name, input } = convertedFields(TOOL_USE_BLOCK, block);
  return writeCall({ id, name: stringOf(name), text: writeJson(input ?? {}) }, notes);
}

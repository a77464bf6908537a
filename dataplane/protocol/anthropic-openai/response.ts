/**
 * Converts a chat completion to a message.
 */
import type { ResponseContext, ConversionNotes, ConvertedResponse, ReportedUsage } from '../converter.ts';
import { convertedFields } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseLossless, parseObject, writeJson } from '../json-value.ts';
import { reasoningOf } from '../openai/output.ts';
import { meterCompletion } from '../openai/stream-meter.ts';
import { readReasoningTokens } from '../openai/usage.ts';
import { toToolUseId } from '../tool-ids.ts';
import { fillUsage } from '../usage.ts';
import { RESPONSE_MESSAGE, CHOICE, COMPLETION, FAILURES, SERVICE_TIERS, STOP_REASONS, TOOL_CALL } from './table.ts';

export interface CompletionEnd {
  readonly finishReason: string | undefined;
  readonly calledTools: boolean;
  /** The model's explanation of why it refuses. */
  readonly refusal: string | undefined;
}

/** Some providers report "stop" although a tool was called, and all do for a refusal. */
export function writeStop({ finishReason, calledTools, refusal }: CompletionEnd): JsonRecord {
  if (refusal !== undefined)
    return {
      stop_reason: 'refusal',
      stop_sequence: null,
      stop_details: { type: 'refusal', category: null, explanation: refusal },
    };
  const reason = finishReason === 'stop' ? undefined : STOP_REASONS.values.get(finishReason ?? '');
  return { stop_reason: reason ?? (calledTools ? 'tool_use' : 'end_turn'), stop_sequence: null };
}

/** Throws SyntaxError where the body is not a chat completion, or one that ended with a failure. */
export function convertResponse(body: Uint8Array, answer?: ResponseContext): ConvertedResponse {
  const completion = parseObject(body);
  const { id, model, choices, service_tier: tier, usage } = convertedFields(COMPLETION, completion);
  const first: unknown = itemsOf(choices)[0];
  const { message: answered, finish_reason: finishReason } = convertedFields(CHOICE, isRecord(first) ? first : {});
  if (!isRecord(answered)) throw new SyntaxError('the answer is not a chat completion');
  if (FAILURES.values.has(stringOf(finishReason))) throw new SyntaxError('the answer broke off');
  const meter = meterCompletion(completion);
  const content = convertMessage(answered, answer);
  const message = {
    id: messageId(answer?.id ?? stringOf(id)),
    type: 'message',
    role: 'assistant',
    model,
    content,
    ...writeStop({
      finishReason: textOf(finishReason),
      calledTools: content.some((block) => block['type'] === 'tool_use'),
      refusal: textOf(convertedFields(RESPONSE_MESSAGE, answered).refusal),
    }),
    usage: writeUsage(fillUsage(meter, answer?.estimatedInputTokens ?? 0), {
      reasoning: readReasoningTokens(usage),
      tier,
    }),
  };
  return { body: Buffer.from(writeJson(message)), meter };
}

export function messageId(id: string): string {
  return `msg_${id.replace(/^(?:chatcmpl|msg)[-_]/, '')}`;
}

/** The message of `message_start`. */
export function openingMessage(
  { id, model }: { readonly id: string; readonly model: string },
  usage: JsonRecord,
): JsonRecord {
  return {
    id: messageId(id),
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
}

/** Reported values that are not priced. */
export interface UsageDetails {
  readonly reasoning?: number | undefined;
  readonly tier?: unknown;
}

/** Anthropic's input_tokens exclude tokens read from and written to the cache. */
export function writeUsage(
  { input, cached, cacheWrite5m, cacheWrite1h, output }: ReportedUsage,
  { reasoning, tier }: UsageDetails = {},
): JsonRecord {
  const serviceTier = SERVICE_TIERS.values.get(stringOf(tier));
  return {
    input_tokens: input ?? 0,
    cache_creation_input_tokens: (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0),
    cache_read_input_tokens: cached ?? 0,
    output_tokens: output ?? 0,
    ...(reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
    ...(serviceTier === undefined ? {} : { service_tier: serviceTier }),
  };
}

/** Usage with the serving tier and the thoughts. The provider's default tier is called `standard`. */
export function writeTotals(usage: ReportedUsage): JsonRecord {
  const { serviceTier: tier, details } = usage;
  return writeUsage(usage, { tier: tier === 'standard' ? 'default' : tier, reasoning: details?.reasoning });
}

/** The prefix of generated ids, for tool calls without one. */
export function callIdPrefix(requestId: string): string {
  return `toolu_${requestId.replace(/[^a-zA-Z0-9_-]/g, '_')}_`;
}

export function clientToolName(name: string, notes: ConversionNotes | undefined): string {
  return notes?.toolNames?.get(name) ?? name;
}

/** Arguments as an object; truncated or missing ones become an empty object. */
function parseInput(text: string): JsonRecord {
  try {
    const value = parseLossless(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

function convertMessage(message: JsonRecord, answer: ResponseContext | undefined): readonly JsonRecord[] {
  const fields = convertedFields(RESPONSE_MESSAGE, message);
  const { content, refusal, tool_calls: toolCalls, function_call: functionCall } = fields;
  const thinking = reasoningOf(message);
  const texts = [...contentTexts(content), textOf(refusal)].filter((text) => text !== undefined);
  const calls: unknown[] = [...itemsOf(toolCalls), ...(isGiven(functionCall) ? [{ function: functionCall }] : [])];
  return [
    ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature: '' }]),
    ...texts.map((text) => ({ type: 'text', text })),
    ...calls
      .filter(isRecord)
      .map((call, index) => convertCall(call, `${callIdPrefix(answer?.id ?? '')}${index}`, answer?.notes)),
  ];
}

function contentTexts(content: unknown): readonly (string | undefined)[] {
  return typeof content === 'string'
    ? [textOf(content)]
    : itemsOf(content)
        .filter(isRecord)
        .map((part) => textOf(part['text']));
}

function convertCall(call: JsonRecord, ownId: string, notes: ConversionNotes | undefined): JsonRecord {
  const { id, function: called } = convertedFields(TOOL_CALL, call);
  const { name, arguments: text } = isRecord(called) ? called : {};
  return {
    type: 'tool_use',
    id: toToolUseId(textOf(id) ?? ownId),
    name: clientToolName(stringOf(name), notes),
    input: parseInput(stringOf(text)),
  };
}

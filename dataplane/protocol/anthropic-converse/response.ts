/**
 * Converts an answer of Converse to a message.
 */
import { tallyBlock } from '../anthropic/output.ts';
import { clientToolName, messageId, writeTotals } from '../anthropic-openai/response.ts';
import type { ConversionNotes, ConvertedResponse, ResponseContext } from '../converter.ts';
import { convertedFields } from '../field-table.ts';
import { isRecord, itemsOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseLossless, parseObject, writeJson } from '../json-value.ts';
import { OutputTally } from '../output-tally.ts';
import { toToolUseId } from '../tool-ids.ts';
import { fillUsage, meterOf } from '../usage.ts';
import { FAILURES, RESPONSE, STOP_REASONS } from './table.ts';
import { readUsage } from './usage.ts';

/** Throws SyntaxError where the body is no answer of Converse, or one that ended with a failure. */
export function convertResponse(body: Uint8Array, answer?: ResponseContext): ConvertedResponse {
  const { output, stopReason, usage, serviceTier } = convertedFields(RESPONSE, parseObject(body, parseLossless));
  if (FAILURES.values.has(stringOf(stopReason))) throw new SyntaxError('the answer broke off');
  const content = blocksOf(output).flatMap((block) => convertBlock(block, answer?.notes));
  const tally = new OutputTally();
  for (const block of content) tallyBlock(tally, block);
  const meter = meterOf(readUsage(usage, serviceTier), tally.bytes);
  const message = {
    id: messageId(answer?.id ?? ''),
    type: 'message',
    role: 'assistant',
    model: answer?.model ?? '',
    content,
    ...writeStop(stopReason),
    usage: writeTotals(fillUsage(meter, answer?.estimatedInputTokens ?? 0)),
  };
  return { body: Buffer.from(writeJson(message)), meter };
}

function blocksOf(output: unknown): readonly JsonRecord[] {
  const message = isRecord(output) ? output['message'] : undefined;
  if (!isRecord(message)) throw new SyntaxError('the answer is none of Converse');
  return itemsOf(message['content']).filter(isRecord);
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  guardrail_intervened: "A guardrail of the provider's account has stopped the call.",
  content_filtered: "The provider's filter has stopped the answer.",
};

/** With a guardrail's intervention, the answer's text is the guardrail's own message. */
export function writeStop(stopReason: unknown): JsonRecord {
  const reason = STOP_REASONS.values.get(stringOf(stopReason)) ?? 'end_turn';
  if (reason !== 'refusal') return { stop_reason: reason, stop_sequence: null };
  const details = { type: 'refusal', category: null, explanation: EXPLANATIONS[stringOf(stopReason)] ?? null };
  return { stop_reason: reason, stop_sequence: null, stop_details: details };
}

function convertBlock(block: JsonRecord, notes: ConversionNotes | undefined): readonly JsonRecord[] {
  const { text, toolUse, reasoningContent, citationsContent } = block;
  if (typeof text === 'string') return text === '' ? [] : [{ type: 'text', text }];
  if (isRecord(toolUse)) return [convertCall(toolUse, notes)];
  if (isRecord(reasoningContent)) return [convertReasoning(reasoningContent)];
  return isRecord(citationsContent) ? convertCited(citationsContent) : [];
}

function convertCall({ toolUseId, name, input }: JsonRecord, notes: ConversionNotes | undefined): JsonRecord {
  return {
    type: 'tool_use',
    id: toToolUseId(stringOf(toolUseId)),
    name: clientToolName(stringOf(name), notes),
    input: isRecord(input) ? input : {},
  };
}

function convertReasoning({ reasoningText, redactedContent }: JsonRecord): JsonRecord {
  if (typeof redactedContent === 'string') return { type: 'redacted_thinking', data: redactedContent };
  const { text, signature } = isRecord(reasoningText) ? reasoningText : {};
  return { type: 'thinking', thinking: stringOf(text), signature: stringOf(signature) };
}

function convertCited({ content }: JsonRecord): readonly JsonRecord[] {
  const text = itemsOf(content)
    .filter(isRecord)
    .map((part) => stringOf(part['text']))
    .join('');
  return text === '' ? [] : [{ type: 'text', text }];
}

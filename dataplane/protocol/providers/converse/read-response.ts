/** Reads whole responses of Converse into events, and the blocks that streams have too. */
import type { ConversationEvent } from '../../conversation/events.ts';
import { finishWithCalls } from '../../conversation/finish.ts';
import { anthropicProof } from '../../conversation/reasoning.ts';
import { convertedFields } from '../../field-table.ts';
import { isRecord, itemsOf, recordOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { parseLossless, parseObject, writeJson } from '../../json-value.ts';
import { OutputTally } from '../../output-tally.ts';
import { readStreamError } from '../../provider-errors.ts';
import { meterOf } from '../../usage.ts';
import { clientToolName } from '../chat-provider.ts';
import type { ReadResponse, ResponseReadContext } from '../chat-provider.ts';
import { FAILURES, FINISH_REASONS, RESPONSE } from './table.ts';
import { readUsage } from './usage.ts';

/** Throws SyntaxError where the body is no response of Converse. */
export function readResponse(body: Uint8Array, context: ResponseReadContext): ReadResponse {
  const { output, stopReason, usage, serviceTier } = convertedFields(RESPONSE, parseObject(body, parseLossless));
  const tally = new OutputTally();
  const events = blocksOf(output).flatMap((block) => readBlock(block, context, tally));
  const meter = meterOf(readUsage(usage, serviceTier), tally.bytes);
  const calledTools = events.some(({ type }) => type === 'call-start');
  const finish = finishOf(stringOf(stopReason), calledTools);
  return { events: [{ type: 'start', model: undefined }, ...events, finish], meter };
}

function blocksOf(output: unknown): readonly JsonRecord[] {
  const message = isRecord(output) ? output['message'] : undefined;
  if (!isRecord(message)) throw new SyntaxError('the response is none of Converse');
  return itemsOf(message['content']).filter(isRecord);
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  guardrail_intervened: "A guardrail of the provider's account has stopped the call.",
  content_filtered: "The provider's filter has stopped the answer.",
};

/** The end, or the failure. With a guardrail's intervention, the response's text is the guardrail's own message. */
export function finishOf(stopReason: string, calledTools: boolean): ConversationEvent {
  const failure = FAILURES.values.get(stopReason);
  if (failure !== undefined) {
    const message = `The model's output could not be read (${stopReason}).`;
    return { type: 'error', error: readStreamError({ type: failure, message }) };
  }
  const reason = finishWithCalls(FINISH_REASONS.values.get(stopReason) ?? 'Stop', calledTools);
  return { type: 'finish', reason, detail: EXPLANATIONS[stopReason] };
}

function readBlock(block: JsonRecord, context: ResponseReadContext, tally: OutputTally): readonly ConversationEvent[] {
  const { text, toolUse, reasoningContent, citationsContent } = block;
  if (typeof text === 'string') return readText(text, tally);
  if (isRecord(toolUse)) return readCall(toolUse, context, tally);
  if (isRecord(reasoningContent)) return readReasoning(reasoningContent, tally);
  return isRecord(citationsContent) ? readText(citedText(citationsContent), tally) : [];
}

function readText(text: string, tally: OutputTally): readonly ConversationEvent[] {
  tally.add(text);
  return text === '' ? [] : [{ type: 'text-delta', text }];
}

/** One without a name is no call. */
function readCall(
  { toolUseId, name: sent, input }: JsonRecord,
  { notes }: ResponseReadContext,
  tally: OutputTally,
): readonly ConversationEvent[] {
  const name = clientToolName(stringOf(sent), notes);
  const isEmpty = !isRecord(input) || Object.keys(input).length === 0;
  const text = isEmpty ? '{}' : writeJson(input);
  tally.add(name);
  if (!isEmpty) tally.add(text);
  if (name === '') return [];
  return [{ type: 'call-start', id: stringOf(toolUseId), name }, { type: 'call-delta', text }, { type: 'call-end' }];
}

function readReasoning(
  { reasoningText, redactedContent }: JsonRecord,
  tally: OutputTally,
): readonly ConversationEvent[] {
  if (typeof redactedContent === 'string') return [redactedEvent(redactedContent)];
  const { text, signature } = recordOf(reasoningText);
  tally.add(text);
  return [
    ...(textOf(text) === undefined ? [] : [{ type: 'reasoning-delta' as const, text: stringOf(text) }]),
    { type: 'reasoning-end', proof: anthropicProof(stringOf(signature)) },
  ];
}

/** Reasoning that nobody can read but its maker. */
export function redactedEvent(redacted: string): ConversationEvent {
  return { type: 'reasoning-end', proof: { maker: 'Anthropic', redacted } };
}

function citedText({ content }: JsonRecord): string {
  return itemsOf(content)
    .filter(isRecord)
    .map((part) => stringOf(part['text']))
    .join('');
}

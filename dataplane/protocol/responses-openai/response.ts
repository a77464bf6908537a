/**
 * Converts a chat completion to a response.
 */
import type { ConvertedResponse, ResponseContext } from '../converter.ts';
import { isGiven, isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseObject, writeJson } from '../json-value.ts';
import { contentText, reasoningOf } from '../openai/output.ts';
import { meterCompletion } from '../openai/stream-meter.ts';
import { readReasoningTokens } from '../openai/usage.ts';
import { ResponseWriter } from '../responses/response-writer.ts';
import { incompleteReason } from '../responses/incomplete-reason.ts';
import type { ItemSequence } from '../responses/item-sequence.ts';
import { fillUsage } from '../usage.ts';
import { FAILURES, INCOMPLETE } from './answer-table.ts';

/** Throws SyntaxError where the body is not a chat completion, or one that ended with a failure. */
export function convertResponse(body: Uint8Array, answer: Partial<ResponseContext> = {}): ConvertedResponse {
  const completion = parseObject(body);
  const first: unknown = itemsOf(completion['choices'])[0];
  const { message, finish_reason: finishReason } = isRecord(first) ? first : {};
  if (!isRecord(message)) throw new SyntaxError('the answer is not a chat completion');
  if (FAILURES.values.has(stringOf(finishReason))) throw new SyntaxError('the answer broke off');
  const { createdSeconds = 0, estimatedInputTokens = 0, notes, seal } = answer;
  const id = answer.id ?? stringOf(completion['id']);
  const writer = new ResponseWriter({ id, createdSeconds, notes, seal, readable: true });
  writer.setModel(stringOf(completion['model']));
  writer.setServiceTier(textOf(completion['service_tier']));
  addMessage(writer.items, message);
  const meter = meterCompletion(completion);
  const incomplete = incompleteReason(INCOMPLETE, textOf(finishReason));
  writer.closeItems(incomplete);
  const written = writer.write({
    usage: fillUsage(meter, estimatedInputTokens),
    reasoning: readReasoningTokens(completion['usage']),
    incomplete,
  });
  return { body: Buffer.from(written), meter };
}

function addMessage(items: ItemSequence, message: JsonRecord): void {
  const { content, refusal, tool_calls: toolCalls, function_call: functionCall } = message;
  const reasoning = reasoningOf(message);
  if (reasoning !== undefined) items.addReasoning(reasoning);
  const text = contentText(content);
  if (text !== undefined) items.addText(text);
  if (typeof refusal === 'string' && refusal !== '') items.addRefusal(refusal);
  const calls: unknown[] = [...itemsOf(toolCalls), ...(isGiven(functionCall) ? [{ function: functionCall }] : [])];
  for (const [key, call] of calls.filter(isRecord).entries()) {
    const { name, arguments: given } = isRecord(call['function']) ? call['function'] : {};
    items.addCall({
      key,
      id: textOf(call['id']),
      name: textOf(name),
      text: isRecord(given) ? writeJson(given) : stringOf(given),
    });
  }
}

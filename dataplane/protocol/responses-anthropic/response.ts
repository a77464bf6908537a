/**
 * Converts a message to a response.
 */
import { meterMessage } from '../anthropic/stream-meter.ts';
import { readReasoningTokens } from '../anthropic/usage.ts';
import type { ConvertedResponse, ResponseContext } from '../converter.ts';
import { convertedFields } from '../field-table.ts';
import { isRecord, stringOf, textOf } from '../fields.ts';
import { parseLossless, parseObject } from '../json-value.ts';
import { explanationOf, serviceTierOf } from './members.ts';
import { ResponseWriter } from '../responses/response-writer.ts';
import { incompleteReason } from '../responses/incomplete-reason.ts';
import { fillUsage } from '../usage.ts';
import { INCOMPLETE, MESSAGE } from './answer-table.ts';
import { openBlock } from './blocks.ts';

/** Throws SyntaxError where the body is not a message. */
export function convertResponse(body: Uint8Array, answer: Partial<ResponseContext> = {}): ConvertedResponse {
  const message = parseObject(body, parseLossless);
  const {
    id,
    model,
    content,
    stop_reason: stopReason,
    stop_details: details,
    usage,
  } = convertedFields(MESSAGE, message);
  if (!Array.isArray(content)) throw new SyntaxError('the answer is not a message');
  const { createdSeconds = 0, estimatedInputTokens = 0, notes, seal } = answer;
  const writer = new ResponseWriter({ id: answer.id ?? stringOf(id), createdSeconds, notes, seal });
  writer.setModel(stringOf(model));
  writer.setServiceTier(serviceTierOf(usage));
  const blocks: readonly unknown[] = content;
  for (const [index, block] of blocks.entries())
    if (isRecord(block)) openBlock(writer.items, block, index)?.block.stop();
  const explanation = explanationOf(details);
  if (explanation !== undefined) writer.items.addRefusal(explanation);
  const meter = meterMessage(message);
  const incomplete = incompleteReason(INCOMPLETE, textOf(stopReason));
  writer.closeItems(incomplete);
  const written = writer.write({
    usage: fillUsage(meter, estimatedInputTokens),
    reasoning: readReasoningTokens(usage),
    incomplete,
  });
  return { body: Buffer.from(written), meter };
}

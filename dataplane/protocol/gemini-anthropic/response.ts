/**
 * Converts a message to an answer of Google's protocol.
 */
import { meterMessage } from '../anthropic/stream-meter.ts';
import { readReasoningTokens } from '../anthropic/usage.ts';
import type { ConvertedResponse, ResponseContext } from '../converter.ts';
import { convertedFields } from '../field-table.ts';
import { isRecord, stringOf, textOf } from '../fields.ts';
import { parseLossless, parseObject } from '../json-value.ts';
import { explanationOf } from '../openai-anthropic/response.ts';
import { fillUsage } from '../usage.ts';
import { AnswerParts } from './answer-parts.ts';
import { MESSAGE } from './answer-table.ts';
import { writeAnswer } from './answer.ts';

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
  const { notes, seal, estimatedInputTokens = 0 } = answer;
  const answerParts = new AnswerParts({ notes, seal });
  const parts = (content as readonly unknown[]).filter(isRecord).flatMap((block) => {
    const started = answerParts.open(block);
    return started ? [...started.parts, ...started.block.stop()] : [];
  });
  const meter = meterMessage(message);
  const written = writeAnswer(
    { id: answer.id ?? stringOf(id), model: stringOf(model) },
    [...parts, ...answerParts.close()],
    {
      stopReason: textOf(stopReason),
      malformedCall: answerParts.malformedCall,
      explanation: explanationOf(details),
      usage: fillUsage(meter, estimatedInputTokens),
      thoughts: readReasoningTokens(usage),
    },
  );
  return { body: Buffer.from(written), meter };
}

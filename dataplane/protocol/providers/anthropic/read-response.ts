/** Reads whole messages into events, and the end that streams have too. */
import { isAnthropicError } from '../../anthropic/errors.ts';
import { meterMessage } from '../../anthropic/stream-meter.ts';
import type { ConversationEvent } from '../../conversation/events.ts';
import { finishWithCalls } from '../../conversation/finish.ts';
import { convertedFields } from '../../field-table.ts';
import { isRecord, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { parseLossless, parseObject } from '../../json-value.ts';
import { readStreamError } from '../../provider-errors.ts';
import type { ReadResponse, ResponseReadContext } from '../chat-provider.ts';
import { BlockReader } from './read-blocks.ts';
import { FINISH_REASONS, MESSAGE } from './table.ts';

/** Throws SyntaxError where the body is no message. */
export function readResponse(body: Uint8Array, context: ResponseReadContext): ReadResponse {
  const message = parseObject(body, parseLossless);
  const meter = meterMessage(message);
  if (isAnthropicError(message)) return { events: [{ type: 'error', error: readStreamError(message) }], meter };
  const { model, content } = convertedFields(MESSAGE, message);
  if (!Array.isArray(content)) throw new SyntaxError('the response is not a message');
  const reader = new BlockReader(context);
  const blocks: readonly unknown[] = content;
  const events = blocks.filter(isRecord).flatMap((block) => [...reader.start(block, undefined), ...reader.close()]);
  const start: ConversationEvent = { type: 'start', model: textOf(model) };
  return { events: [start, ...events, finishOf(message, reader.calledTools)], meter };
}

/** `end`: a message, or the delta of a message_delta. */
export function finishOf(end: JsonRecord, calledTools: boolean): ConversationEvent {
  const { stop_reason: stopReason, stop_sequence: sequence, stop_details: details } = convertedFields(MESSAGE, end);
  const reason = finishWithCalls(FINISH_REASONS.values.get(stringOf(stopReason)) ?? 'Stop', calledTools);
  switch (reason) {
    case 'Refusal':
      return { type: 'finish', reason, detail: isRecord(details) ? textOf(details['explanation']) : undefined };
    case 'StopSequence':
      return { type: 'finish', reason, detail: textOf(sequence) };
    default:
      return { type: 'finish', reason, detail: undefined };
  }
}

/** Conversations on providers of OpenAI's chat completions. */
import type { ConversationEvent } from '../../conversation/events.ts';
import { isRecord, itemsOf, textOf } from '../../fields.ts';
import { parseObject } from '../../json-value.ts';
import { failedChunkError, isFailedChunk } from '../../openai/failures.ts';
import { meterCompletion } from '../../openai/stream-meter.ts';
import { readStreamError } from '../../provider-errors.ts';
import type { ChatProvider, ReadResponse, ResponseReadContext } from '../chat-provider.ts';
import { NAME } from '../openai-parts.ts';
import { ChoiceReader } from './read-choices.ts';
import { ChunkReader } from './read-stream.ts';
import { FAILURES } from './table.ts';
import { writeRequest } from './write-request.ts';

export const openaiChat: ChatProvider = {
  name: NAME,
  write: writeRequest,
  read: readResponse,
  stream: (context) => new ChunkReader(context),
};

function readResponse(body: Uint8Array, context: ResponseReadContext): ReadResponse {
  const completion = parseObject(body);
  const meter = meterCompletion(completion);
  if (isFailedChunk(completion, FAILURES))
    return { events: [{ type: 'error', error: readStreamError(failedChunkError(completion, FAILURES)) }], meter };
  const first: unknown = itemsOf(completion['choices'])[0];
  if (!isRecord(first) || !isRecord(first['message'])) throw new SyntaxError('the response is not a chat completion');
  const choices = new ChoiceReader(context);
  const start: ConversationEvent = { type: 'start', model: textOf(completion['model']) };
  return { events: [start, ...choices.read(completion['choices']), ...choices.end()], meter };
}

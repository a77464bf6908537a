/** Conversations on providers of OpenAI's Responses. */
import type { Conversation } from '../../conversation/request.ts';
import { isGiven, itemsOf, textOf } from '../../fields.ts';
import { parseObject } from '../../json-value.ts';
import { meterResponse } from '../../openai/response-meter.ts';
import { planOfCount } from '../chat-provider.ts';
import type {
  ChatProvider,
  CountContext,
  ReadResponse,
  ResponseReadContext,
  WrittenRequest,
} from '../chat-provider.ts';
import { NAME } from '../openai-parts.ts';
import { finishOf, isFailed, readFailure } from './read-end.ts';
import { ItemReader } from './read-items.ts';
import { ResponseEventReader } from './read-stream.ts';
import { writeRequest } from './write-request.ts';

export const responsesChat: ChatProvider & Required<Pick<ChatProvider, 'writeCount'>> = {
  name: NAME,
  api: 'Responses',
  write: writeRequest,
  writeCount,
  read: readResponse,
  stream: (context) => new ResponseEventReader(context),
};

/** The request as input_tokens takes it: without settings for the response. */
function writeCount(conversation: Conversation, context: CountContext): Pick<WrittenRequest, 'path' | 'body'> {
  const { body } = writeRequest(conversation, planOfCount(context));
  const { model, instructions, input, tools, tool_choice, text } = body;
  return { path: '/responses/input_tokens', body: { model, instructions, input, tools, tool_choice, text } };
}

function readResponse(body: Uint8Array, context: ResponseReadContext): ReadResponse {
  const response = parseObject(body);
  const meter = meterResponse(response);
  if (isFailed(response)) return { events: [{ type: 'error', error: readFailure(response) }], meter };
  const { output, status } = response;
  if (!Array.isArray(output) || (isGiven(status) && status !== 'completed' && status !== 'incomplete'))
    throw new SyntaxError('the response is none, or has no end');
  const items = new ItemReader(context);
  const content = itemsOf(output).flatMap((item, index) => items.end(index, item));
  const end = [...items.close(), finishOf(response, items)];
  return { events: [{ type: 'start', model: textOf(response['model']) }, ...content, ...end], meter };
}

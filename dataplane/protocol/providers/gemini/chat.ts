/** Conversations on Gemini's own API. */
import type { Conversation } from '../../conversation/request.ts';
import { MAX_PICTURE_EVENT_BYTES } from '../../event-stream.ts';
import { readGeminiStreamError } from '../../gemini/errors.ts';
import { readUsage } from '../../gemini/usage.ts';
import { parseLossless, parseObject } from '../../json-value.ts';
import { OutputTally } from '../../output-tally.ts';
import { isErrorObject } from '../../provider-errors.ts';
import { meterOf } from '../../usage.ts';
import { planOfCount } from '../chat-provider.ts';
import type {
  ChatProvider,
  CountContext,
  ReadResponse,
  ResponseReadContext,
  WrittenRequest,
} from '../chat-provider.ts';
import { CandidateReader } from './read-response.ts';
import { GeminiEventReader } from './read-stream.ts';
import { NAME } from './write-contents.ts';
import { countBody } from './count-body.ts';
import { modelPath } from './model-path.ts';
import { writeRequest } from './write-request.ts';

export const geminiChat: ChatProvider & Required<Pick<ChatProvider, 'writeCount'>> = {
  name: NAME,
  maxEventBytes: MAX_PICTURE_EVENT_BYTES,
  write: writeRequest,
  writeCount,
  read: readResponse,
  stream: (context) => new GeminiEventReader(context),
};

function readResponse(body: Uint8Array, context: ResponseReadContext): ReadResponse {
  const response = parseObject(body, parseLossless);
  const tally = new OutputTally();
  const candidates = new CandidateReader(context, tally);
  const events = candidates.read(response);
  const meter = meterOf(readUsage(response['usageMetadata']), tally.bytes);
  if (isErrorObject(response)) return { events: [{ type: 'error', error: readGeminiStreamError(response) }], meter };
  if (!candidates.ended) throw new SyntaxError('the response has no end');
  return { events: [{ type: 'start', model: undefined }, ...events, ...candidates.end()], meter };
}

/** The request as countTokens takes it, with everything that counts. */
function writeCount(conversation: Conversation, context: CountContext): Pick<WrittenRequest, 'path' | 'body'> {
  const { upstreamModel: model, platform } = context.plan;
  const { contents, systemInstruction, tools } = writeRequest(conversation, planOfCount(context)).body;
  const body = countBody({ model: `models/${model}`, contents, systemInstruction, tools }, platform);
  return { path: modelPath(model, 'countTokens'), body };
}

/** Conversations on Gemini's own API. */
import type { RequestPlan, UpstreamBody } from '../../converter.ts';
import type { Client } from '../../clients/client.ts';
import { settleUnread } from '../../conversation/take.ts';
import { DroppedFields } from '../../dropped-fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { readGeminiStreamError } from '../../gemini/errors.ts';
import { readUsage } from '../../gemini/usage.ts';
import { parseLossless, parseObject, reparseLosslessly, writeJson } from '../../json-value.ts';
import { OutputTally } from '../../output-tally.ts';
import { meterOf } from '../../usage.ts';
import type { ChatProvider, ReadResponse, ResponseReadContext } from '../chat-provider.ts';
import { CandidateReader } from './read-response.ts';
import { GeminiEventReader, isErrorResponse } from './read-stream.ts';
import { NAME } from './write-contents.ts';
import { modelPath, writeRequest } from './write-request.ts';

export const geminiChat: ChatProvider = {
  name: NAME,
  write: writeRequest,
  read: readResponse,
  stream: (context) => new GeminiEventReader(context),
};

function readResponse(body: Uint8Array, context: ResponseReadContext): ReadResponse {
  const response = parseObject(body, parseLossless);
  const tally = new OutputTally();
  const candidates = new CandidateReader(context, tally);
  const events = candidates.read(response);
  const meter = meterOf(readUsage(response['usageMetadata']), tally.bytes);
  if (isErrorResponse(response)) return { events: [{ type: 'error', error: readGeminiStreamError(response) }], meter };
  if (!candidates.ended) throw new SyntaxError('the response has no end');
  return { events: [{ type: 'start', model: undefined }, ...events, ...candidates.end()], meter };
}

/** The client's request as countTokens takes it, with everything that counts. */
export function countRequest(
  client: Client,
  body: Uint8Array,
  parsed: JsonRecord,
  plan: Pick<RequestPlan, 'upstreamModel' | 'seal'>,
): UpstreamBody {
  const { upstreamModel: model, seal } = plan;
  const dropped = new DroppedFields();
  const { conversation } = client.read(reparseLosslessly(body, parsed), { providerTools: undefined, seal });
  settleUnread(conversation, { provider: NAME, dropped });
  const { contents, systemInstruction, tools } = writeRequest(conversation, {
    plan: { upstreamModel: model, maxOutputTokens: 1, outputLimitField: 'max_tokens' },
    stream: false,
    dropped,
  }).body;
  const generateContentRequest = { model: `models/${model}`, contents, systemInstruction, tools };
  return { path: modelPath(model, 'countTokens'), body: Buffer.from(writeJson({ generateContentRequest })) };
}

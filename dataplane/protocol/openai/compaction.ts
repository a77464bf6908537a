/**
 * Compaction of a conversation (POST /v1/responses/compact), which passes through: the answer has items that take the
 * place of the conversation, and that only the account which made them can read. The request has no output limit.
 */
import { RequestFault } from '../call-facts.ts';
import type { Converter } from '../converter.ts';
import { parseObject } from '../json-value.ts';
import { meterResponse } from './response-meter.ts';
import { ResponseSeals } from './response-seals.ts';
import { editRequest } from './responses.ts';

export const compactionConverter: Converter = {
  client: 'OpenAI',
  upstream: 'OpenAI',
  request: (body, parsed, plan) => {
    if (parsed['stream'] === true)
      throw new RequestFault('unsupported_parameter', 'A compaction is not streamed. Leave "stream" out.', 'stream');
    return editRequest(body, parsed, { ...plan, maxOutputTokens: undefined }, '/responses/compact');
  },
  response: (body, answer) => {
    const compaction = parseObject(body);
    if (!Array.isArray(compaction['output'])) throw new SyntaxError('the answer is not a compaction');
    return { body: new ResponseSeals(answer?.seal).apply(body, compaction), meter: meterResponse(compaction) };
  },
  stream: () => {
    throw new Error('a compaction is not streamed');
  },
};

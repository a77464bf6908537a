/**
 * OpenAI's endpoint for counting the input tokens of a response, which takes the request as it would be sent.
 */
import { decodeUtf8 } from '../bytes.ts';
import { parseEventData } from '../json-value.ts';
import type { TokenCounter } from '../provider.ts';
import { readTokenCount } from '../usage.ts';
import { editRequest } from './responses.ts';

export const responseCounter: TokenCounter = {
  request: (body, parsed, { upstreamModel, seal }) =>
    editRequest(
      body,
      parsed,
      {
        upstreamModel,
        seal,
        maxOutputTokens: undefined,
        outputLimitField: 'max_completion_tokens',
      },
      '/responses/input_tokens',
    ),
  read: (body) => readTokenCount(parseEventData(decodeUtf8(body))?.['input_tokens']),
};

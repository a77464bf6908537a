/** [P] What the head of an answer says: what the provider said, less what is not the client's business, and a lowered limit. */
import { responseHeaders } from '../upstream/headers.ts';
import type { Forwarded } from './context.ts';

export function answerHeaders({ response, lowered, outputLimit }: Forwarded): Record<string, string> {
  const headers = { 'content-type': 'application/json', ...responseHeaders(response.headers) };
  return lowered ? { ...headers, 'x-modelgateway-max-tokens': String(outputLimit) } : headers;
}

/** [P] What the head of an answer says: what the provider said, less what is not the client's business, and a lowered limit. */
import { responseHeaders } from '../upstream/headers.ts';
import type { Forwarded } from './context.ts';

/** A new object, which the caller may add to. */
export function answerHeaders({ response, lowered, outputLimit }: Forwarded): Record<string, string> {
  const headers = responseHeaders(response.headers);
  headers['content-type'] ??= 'application/json';
  if (lowered) headers['x-modelgateway-max-tokens'] = String(outputLimit);
  return headers;
}

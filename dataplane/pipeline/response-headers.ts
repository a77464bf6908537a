/**
 * [P] The headers of a response: the provider's, less those that do not concern the client, and a lowered output
 * limit.
 */
import { responseHeaders } from '../upstream/headers.ts';
import type { Forwarded } from './context.ts';

/** A new object, which the caller may add to. */
export function clientHeaders({ response, admitted }: Forwarded): Record<string, string> {
  const headers = responseHeaders(response.headers);
  headers['content-type'] ??= 'application/json';
  if (admitted.lowered) headers['x-modelgateway-max-tokens'] = String(admitted.outputLimit);
  return headers;
}

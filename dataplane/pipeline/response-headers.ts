/**
 * [P] The headers of a response: those of the provider's that concern the client, and the output limit where it was
 * lowered.
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

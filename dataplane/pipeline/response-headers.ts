/**
 * [P] The headers of a response: those of the provider's that concern the client, the output limit where it was
 * lowered, and the request fields that were dropped.
 */
import { responseHeaders } from '../upstream/headers.ts';
import type { Forwarded } from './context.ts';

/** A new object, which the caller may add to. */
export function clientHeaders({ response, admitted, dropped }: Forwarded): Record<string, string> {
  const headers = responseHeaders(response.headers);
  headers['content-type'] ??= 'application/json';
  if (admitted.lowered) headers['x-modelgateway-max-tokens'] = String(admitted.outputLimit);
  if (dropped) headers['x-modelgateway-dropped'] = dropped.join(', ');
  return headers;
}

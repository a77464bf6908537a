/**
 * [P] The headers of a response: the provider's headers that concern the client, the paying group, a lowered output
 * limit, and the request fields that were dropped.
 */
import { responseHeaders } from '../upstream/headers.ts';
import type { Admitted, Answered } from './context.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

/** Keep caches and proxies from holding a stream back. */
export const STREAM_HEADERS = { 'cache-control': 'no-cache', 'x-accel-buffering': 'no' } as const;

export const EVENT_STREAM_TYPE = 'text/event-stream; charset=utf-8';

/** Returns a new object, which the caller may modify. */
export function clientHeaders({ response, admitted, dropped }: Answered): Record<string, string> {
  const headers = responseHeaders(response.headers);
  headers['content-type'] ??= 'application/json';
  addGroup(headers, admitted);
  if (admitted.lowered) headers['x-modelgateway-max-tokens'] = String(admitted.outputLimit);
  if (dropped) headers['x-modelgateway-dropped'] = dropped.join(', ');
  return Object.assign(headers, limitHeaders(admitted));
}

/** The headers of a stream that begins with a ping, before any provider has responded. */
export function pingHeaders(admitted: Admitted): Record<string, string> {
  const { displayName } = admitted.routed.group;
  return {
    'content-type': EVENT_STREAM_TYPE,
    'x-modelgateway-group': headerText(displayName),
    ...STREAM_HEADERS,
    ...limitHeaders(admitted),
  };
}

/** What was left of limits by the minute when the call was admitted. */
function limitHeaders({ limitStates, routed: { received } }: Admitted): Record<string, string> {
  if (limitStates.length === 0) return {};
  return rateLimitHeaders(limitStates, { dialect: received.errorDialect, nowMs: received.createdMs });
}

/** Adds the key's group and, if it is an Automatic group, the member that serves the call. */
function addGroup(headers: Record<string, string>, { routed: { group }, candidate }: Admitted): void {
  headers['x-modelgateway-group'] = headerText(group.displayName);
  if (candidate.group !== group.name) headers['x-modelgateway-member'] = headerText(candidate.groupDisplayName);
}

/** Encodes text for a header: everything but printable ASCII is percent-encoded, in UTF-8. */
function headerText(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x7e]|%/gu, (character) => encodeURIComponent(character));
}

/**
 * [P] The headers of a response: those of the provider's that concern the client, the group that the call is paid in,
 * the lowered output limit, if any, and the request fields that were dropped.
 */
import { responseHeaders } from '../upstream/headers.ts';
import type { Admitted, Forwarded } from './context.ts';

/** A new object, which the caller may add to. */
export function clientHeaders({ response, admitted, dropped }: Forwarded): Record<string, string> {
  const headers = responseHeaders(response.headers);
  headers['content-type'] ??= 'application/json';
  addGroup(headers, admitted);
  if (admitted.lowered) headers['x-modelgateway-max-tokens'] = String(admitted.outputLimit);
  if (dropped) headers['x-modelgateway-dropped'] = dropped.join(', ');
  return headers;
}

/** The key's group, and the member that serves the call where the group is an automatic one. */
function addGroup(headers: Record<string, string>, { routed: { group }, candidate }: Admitted): void {
  headers['x-modelgateway-group'] = headerText(group.displayName);
  if (candidate.group !== group.name) headers['x-modelgateway-member'] = headerText(candidate.groupDisplayName);
}

/** Text as a header can carry it: what is not printable ASCII is percent-encoded, in UTF-8. */
function headerText(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x7e]|%/gu, (character) => encodeURIComponent(character));
}

/**
 * How a channel signs in at its provider. This is the only place that reveals a secret, and it does so only into the
 * headers of a request. A way to sign in that depends on the request (a signature, a token that expires) belongs here,
 * too.
 */
import type { UpstreamRequest, UpstreamTarget } from './upstream.ts';

/** Headers that only the gateway sets: what a client sent under these names never passes. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'authorization', 'x-api-key', 'cookie', 'host', 'accept-encoding', 'content-length',
]);

/** All headers of a request to this target: the client's over the default ones, and the gateway's own over both. */
export function outgoingHeaders(
  { credential, defaultHeaders }: UpstreamTarget, { headers, body }: Pick<UpstreamRequest, 'headers' | 'body'>,
): Record<string, string> {
  const outgoing = { ...defaultHeaders };
  for (const [name, value] of Object.entries(headers)) if (!OWN_HEADERS.has(name)) outgoing[name] = value;
  outgoing['accept-encoding'] = 'identity';
  if (body) outgoing['content-length'] = String(body.length);
  if (credential) outgoing[credential.header] = credential.value.reveal();
  return outgoing;
}

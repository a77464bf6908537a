/**
 * How a channel's credential is shown to its provider. The only place that reveals a secret, and only into the headers of the
 * request itself.
 */
import { providerOf } from '../protocol/providers.ts';
import type { UpstreamTarget } from './upstream.ts';

/** Headers that say who the gateway is: what a client sent under these names is never passed on. */
const OWN_HEADERS = new Set(['authorization', 'x-api-key', 'cookie', 'host', 'accept-encoding', 'content-length']);

/** Name and value by turns: what is sent on every request of a channel. Made once per channel. */
export function credentialHeaders({ protocol, apiKey }: UpstreamTarget): readonly string[] {
  return apiKey ? providerOf(protocol).credential(apiKey.reveal()) : [];
}

/** All headers of one request, name and value by turns. */
export function headerList(protocol: UpstreamTarget['protocol'], credential: readonly string[], headers: Readonly<Record<string, string>>): string[] {
  const list = ['accept-encoding', 'identity', ...credential];
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined && !OWN_HEADERS.has(name)) list.push(name, value);
  }
  const { defaultHeaders } = providerOf(protocol);
  for (const name of Object.keys(defaultHeaders)) if (headers[name] === undefined) list.push(name, defaultHeaders[name] ?? '');
  return list;
}

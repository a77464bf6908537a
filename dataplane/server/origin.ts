/** [P] Where a client has reached the gateway, for pages that tell people where to call. */
import type { IncomingHttpHeaders } from 'node:http';

const HOST = /^(?:[a-z0-9][a-z0-9.-]*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly socket: object;
}

/** "https://gateway.example", by the Host header; undefined: it has none, or one that is no host. */
export function originOf({ headers, socket }: ReceivedRequest): string | undefined {
  const { host = '', 'x-forwarded-proto': forwarded } = headers;
  if (!HOST.test(host)) return undefined;
  const scheme = String(forwarded ?? '').split(',', 1)[0]?.trim();
  if (scheme === 'https' || scheme === 'http') return `${scheme}://${host}`;
  return `${'encrypted' in socket && socket.encrypted === true ? 'https' : 'http'}://${host}`;
}

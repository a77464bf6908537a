/** [P] Tells requests that may come from a foreign web page, for servers that trust what reaches them from loopback. */
import type { IncomingHttpHeaders } from 'node:http';

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
/** Values of Sec-Fetch-Site for a navigation, and for a page that the server itself served. */
const OWN_SITES: ReadonlySet<string> = new Set(['none', 'same-origin']);

/**
 * Why a request may come from a foreign web page, or undefined. A browser on the same machine sends a page's requests
 * to loopback addresses too. A page cannot forge Host (against DNS rebinding), Origin or Sec-Fetch-Site. `ownHost` is
 * the host on which the server listens.
 */
export function foreignPage(headers: IncomingHttpHeaders, ownHost: string): string | undefined {
  const { host, origin, 'sec-fetch-site': site } = headers;
  if (host !== undefined && !LOOPBACK_HOST.test(host) && host.replace(/:\d+$/, '') !== ownHost)
    return 'its Host is not the address of this server';
  if (origin !== undefined && origin !== `http://${host}`) return 'it has the Origin of a web page';
  if (site !== undefined && !OWN_SITES.has(site)) return 'a web page of another site sent it';
  return undefined;
}

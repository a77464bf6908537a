/**
 * Keeps web pages from using the sidecar: a browser on the same machine sends a page's requests to loopback addresses
 * too, and the sidecar would add the pod's key. A page cannot forge Host (against DNS rebinding), Origin or
 * Sec-Fetch-Site.
 */
import type { IncomingHttpHeaders } from 'node:http';

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
/** A navigation, or a page that the sidecar itself has served: the fleet's price list. */
const OWN_SITES: ReadonlySet<string> = new Set(['none', 'same-origin']);

/** Why a request may come from a foreign web page; undefined: it does not. `ownHost`: where the sidecar listens. */
export function foreignPage(headers: IncomingHttpHeaders, ownHost: string): string | undefined {
  const { host, origin, 'sec-fetch-site': site } = headers;
  if (host !== undefined && !LOOPBACK_HOST.test(host) && host.replace(/:\d+$/, '') !== ownHost)
    return 'its Host is not the sidecar\'s address';
  if (origin !== undefined && origin !== `http://${host}`) return 'it has the Origin of a web page';
  if (site !== undefined && !OWN_SITES.has(site)) return 'a web page of another site sent it';
  return undefined;
}

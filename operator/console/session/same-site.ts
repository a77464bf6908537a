/** Where a request comes from, as its browser says. */
import type { IncomingHttpHeaders } from 'node:http';
import { RequestRefused } from '../faults.ts';

/** Whether this site's own page sent it. A browser that does not say so is too old to be sure of. */
export function isSameSite({ host, origin, 'sec-fetch-site': fetchSite }: IncomingHttpHeaders): boolean {
  // no page can forge Sec-Fetch-Site, and it is right behind a proxy that changes the Host header
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}

/** @throws RequestRefused where another site sent a form. */
export function assertSameSite(headers: IncomingHttpHeaders): void {
  if (isSameSite(headers)) return;
  throw new RequestRefused(403, 'This form came from another site', { message: 'Nothing was changed. Only pages of the console may change something; open it directly and try again.' });
}

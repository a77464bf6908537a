/**
 * Tokens in forms, and where a request comes from. A token is the session's secret under a pad that is new on each page, so that
 * a page's compressed length tells nothing of it.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const BYTES = 32;

/** A token for a form of this session. */
export function csrfToken(secret: string): string {
  const pad = randomBytes(BYTES);
  return Buffer.concat([pad, xor(digest(secret), pad)]).toString('base64url');
}

/** Whether a posted token was made for this session. */
export function isCsrfToken(token: string, secret: string): boolean {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length !== 2 * BYTES) return false;
  return timingSafeEqual(xor(bytes.subarray(0, BYTES), bytes.subarray(BYTES)), digest(secret));
}

/** The secret of somebody who is signed in elsewhere, by an authenticating proxy: there is no session that could hold one. */
export function csrfSecretOf(person: string, key: Uint8Array): string {
  return createHmac('sha256', key).update('csrf\0').update(person).digest('base64url');
}

/** What a browser says about where a request comes from. */
interface RequestOrigin {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
}

/** Whether this site's own page sent it. A browser that does not say so is too old to be sure of. */
export function isSameSite({ host, origin, secFetchSite }: RequestOrigin): boolean {
  // browsers say Sec-Fetch-Site over https and to this machine; no page can forge it, and it is right behind a proxy that renames the host
  if (secFetchSite !== undefined) return secFetchSite === 'same-origin';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}

function digest(secret: string): Buffer {
  return createHmac('sha256', secret).update('form').digest();
}

function xor(a: Uint8Array, b: Uint8Array): Buffer {
  return Buffer.from(a.map((byte, index) => byte ^ (b[index] ?? 0)));
}

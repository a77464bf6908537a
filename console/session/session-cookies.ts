/**
 * A session's cookies. @fastify/secure-session seals and opens the session. Its own hooks write one cookie of a fixed
 * name; here the name has the port of the Host header, so that consoles on one machine do not overwrite each other's
 * sessions, and a long token needs two cookies, since browsers keep 4 KiB in each.
 */
import secureSession from '@fastify/secure-session';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { cookieName, cookieOptions } from './cookie-scope.ts';
import type { CookieScope } from './cookie-scope.ts';
import { SESSION_MS, parseSession } from './session.ts';
import type { Session } from './session.ts';

export const SESSION_KEY_BYTES = 32;
/** Characters of a cookie's value; its name and attributes need some of the 4 KiB. */
const PART_CHARACTERS = 3_750;
const PARTS = 2;

/**
 * Registers the sealing under `keys`: the first one seals, all of them open.
 * @throws RangeError where there is no key, or one of another length.
 */
export function registerSessions(app: FastifyInstance, keys: readonly Uint8Array[]): void {
  const valid = keys.length > 0 && keys.every((key) => key.length === SESSION_KEY_BYTES);
  if (!valid) throw new RangeError(`sessions need keys of ${SESSION_KEY_BYTES} bytes`);
  // no browser sends a cookie of this name, so the plugin's hooks do nothing and request.session stays free
  const key = keys.map((each) => Buffer.from(each));
  void app.register(secureSession, { sessionName: 'sealed', key, expiry: SESSION_MS / 1000 });
  app.decorateRequest('session');
}

/** The session as the cookies hold it; undefined if it is too long for them. */
export function sealSession(app: FastifyInstance, session: Session): string | undefined {
  const parts = app.encodeSecureSession(app.createSecureSession({ ...session })).split(';');
  // base64url needs no escaping in a cookie
  const text = parts.map((part) => Buffer.from(part, 'base64').toString('base64url')).join('.');
  return text.length <= PART_CHARACTERS * PARTS ? text : undefined;
}

/** The session in the request's cookies; undefined if there is none, or if it is forged or over. */
export function readSession(request: FastifyRequest, scope: CookieScope, nowMs: number): Session | undefined {
  const text = readCookies(request, scope);
  const parts = text.split('.');
  // decoding ignores stray characters, so the text must match exactly
  const exact = parts.every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
  if (parts.length !== 2 || !exact) return undefined;
  const opened = request.server.decodeSecureSession(parts.join(';'));
  return opened ? parseSession({ ...opened.data() }, nowMs) : undefined;
}

/** Whether the browser sent cookies of this scope, whatever they hold. */
export function hasCookies(request: FastifyRequest, scope: CookieScope): boolean {
  return readCookies(request, scope) !== '';
}

/** A session as a browser stores it. */
interface KeptSession {
  readonly sealed: string;
  /** Until the browser forgets it. */
  readonly seconds: number;
}

/** Makes the browser keep a sealed session. */
export function writeCookies(reply: FastifyReply, scope: CookieScope, { sealed, seconds }: KeptSession): void {
  const options = cookieOptions(scope);
  for (let index = 0; index < PARTS; index++) {
    const part = sealed.slice(index * PART_CHARACTERS, (index + 1) * PART_CHARACTERS);
    void reply.setCookie(nameOf(scope, index), part, { ...options, maxAge: part === '' ? 0 : seconds });
  }
}

/** Makes the browser forget its session. */
export function dropCookies(reply: FastifyReply, scope: CookieScope): void {
  writeCookies(reply, scope, { sealed: '', seconds: 0 });
}

/** A duplicate name is ignored: another page of this host set one of them. */
function readCookies({ cookies, headers }: FastifyRequest, scope: CookieScope): string {
  const names = Array.from({ length: PARTS }, (_, index) => nameOf(scope, index));
  const sent = (headers.cookie ?? '').split(';').map((pair) => pair.split('=', 1)[0]?.trim());
  if (names.some((name) => sent.indexOf(name) !== sent.lastIndexOf(name))) return '';
  return cookies[names[0] ?? ''] === undefined ? '' : names.map((name) => cookies[name] ?? '').join('');
}

function nameOf(scope: CookieScope, index: number): string {
  const name = cookieName(scope, 'mgw-console');
  return index === 0 ? name : `${name}.${index + 1}`;
}

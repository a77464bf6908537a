/**
 * A session's cookies. @fastify/secure-session seals and opens the session. Its own hooks write one cookie of a fixed
 * name; here the name has the port of the Host header, so that consoles on one machine do not overwrite each other's
 * sessions, and a long token needs two cookies, since browsers keep 4 KiB in each.
 */
import secureSession from '@fastify/secure-session';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestRefused } from '../describe-error.ts';
import { SESSION_MS, parseSession } from './session.ts';
import type { Session } from './session.ts';

/** Where a browser keeps a session. */
export interface CookieScope {
  /** False: plain http to this machine. */
  readonly secure: boolean;
  /** Of the Host header; empty where it names none, and over https. */
  readonly port: string;
  /** The path below which people reach the console; '' at a host's root. */
  readonly basePath: string;
}

export const SESSION_KEY_BYTES = 32;
/** Characters of a cookie's value; its name and attributes need some of the 4 KiB. */
const PART_CHARACTERS = 3_750;
const PARTS = 2;
const LOOPBACK = /^(?:localhost|[a-z0-9-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

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
  const path = scope.basePath === '' ? '/' : scope.basePath;
  const options = { path, httpOnly: true, sameSite: 'strict', secure: scope.secure } as const;
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

/** Browsers require the path / of a cookie with the prefix __Host-. */
function nameOf({ secure, port, basePath }: CookieScope, index: number): string {
  const prefix = secure ? (basePath === '' ? '__Host-' : '__Secure-') : '';
  const suffixes = [port, basePath.slice(1).replaceAll('/', '.')].filter((suffix) => suffix !== '');
  const name = [`${prefix}mgw-console`, ...suffixes].join('-');
  return index === 0 ? name : `${name}.${index + 1}`;
}

/** Where a request may have session cookies: to this machine, browsers send the secure ones over http, too. */
export function cookieScopes({ host }: IncomingHttpHeaders, basePath: string): CookieScope[] {
  const { name, port } = splitHost(host);
  const secure = { secure: true, port: '', basePath };
  return LOOPBACK.test(name) ? [secure, { secure: false, port, basePath }] : [secure];
}

/**
 * The cookie scope of a new session. The page's origin tells whether it came over https, since a TLS-terminating proxy
 * forwards plain http. @throws RequestRefused over plain http from another machine.
 */
export function newCookieScope({ host, origin }: IncomingHttpHeaders, basePath: string): CookieScope {
  const { name, port } = splitHost(host);
  const scheme = origin !== undefined && URL.canParse(origin) ? new URL(origin).protocol : undefined;
  if (scheme === 'https:') return { secure: true, port: '', basePath };
  if (LOOPBACK.test(name)) return { secure: false, port, basePath };
  if (scheme === undefined) return { secure: true, port: '', basePath };
  throw new RequestRefused(403, 'Signing in needs https', {
    message:
      'Over plain http anybody on the way could read your token. Reach the console by https, or on this ' +
      'machine itself ' +
      '(http://localhost), for example with kubectl port-forward.',
  });
}

function splitHost(host = ''): { name: string; port: string } {
  const [, name = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(host) ?? [];
  return { name, port };
}

/**
 * Who sent a request: the session in its cookies, or, where an authenticating proxy stands before the console, the token that
 * this one puts into a header. And the other way: the cookies that make a browser keep, renew and forget a session.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { AccessError } from '../access/access.ts';
import type { PersonAccess } from '../access/access.ts';
import { RequestRefused } from '../faults.ts';
import { MOST_SEALED_CHARACTERS, dropCookies, keepCookies, readCookies } from './cookie.ts';
import type { CookiePlace } from './cookie.ts';
import { csrfSecretOf } from './csrf.ts';
import type { People } from './people.ts';
import type { Sealing } from './sealing.ts';
import { beginSession, openSession, renewSession, sealSession, secondsLeft } from './session.ts';
import type { Session } from './session.ts';
import type { SignedOut } from './signed-out.ts';

/** In which header an authenticating proxy hands on the person's token. */
export type ProxyHeader = 'authorization' | 'x-forwarded-access-token';

interface DoorOptions {
  readonly people: People;
  readonly sealing: Sealing;
  readonly signedOut: SignedOut;
  /** For what is bound to a person where there is no session. */
  readonly bindingKey: Uint8Array;
  readonly proxyHeader: ProxyHeader | undefined;
}

/** Somebody who is known. */
export interface Visitor {
  readonly person: PersonAccess;
  readonly csrfSecret: string;
  /** Set-Cookie headers for the answer; empty: none. */
  readonly cookies: readonly string[];
}

export interface Door {
  readonly proxied: boolean;
  /** undefined: nobody is signed in. Rejects with AccessError where nobody can tell. */
  identify(headers: IncomingHttpHeaders, nowMs: number): Promise<Visitor | undefined>;
  /** Cookies of a new session. Rejects with RequestRefused where a browser could not keep them, undefined: nobody is known by this token. */
  admit(token: string, headers: IncomingHttpHeaders, nowMs: number): Promise<{ readonly person: PersonAccess; readonly cookies: readonly string[] } | undefined>;
  /** Cookies that make the browser forget the session; the person of this request is asked for anew next time. */
  dismiss(headers: IncomingHttpHeaders, nowMs: number): readonly string[];
  /** The same, and no copy of its cookie opens anything from now on, at any replica. */
  signOut(headers: IncomingHttpHeaders, nowMs: number): Promise<SignedOutHere>;
}

interface SignedOutHere {
  readonly cookies: readonly string[];
  /** Why it may not be so beyond this process; undefined: it is. */
  readonly problem: AccessError | undefined;
}

/** What a bearer token may consist of; nothing else is sent on to an API server. */
const TOKEN = /^[\x21-\x7e]+$/;
const LOOPBACK = /^(?:localhost|[a-z0-9-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

export function openDoor(options: DoorOptions): Door {
  return options.proxyHeader === undefined ? cookieDoor(options) : proxyDoor(options, options.proxyHeader);
}

function cookieDoor({ people, sealing, signedOut }: DoorOptions): Door {
  const sessionsOf = (headers: IncomingHttpHeaders, nowMs: number): { session: Session; place: CookiePlace }[] => placesOf(headers.host).flatMap((place) => {
    const sealed = readCookies(headers.cookie, place);
    const session = sealed === undefined ? undefined : openSession(sealed, sealing, nowMs);
    return session && !signedOut.has(session) ? [{ session, place }] : [];
  });
  const forget = (headers: IncomingHttpHeaders, sessions: readonly { session: Session }[]): readonly string[] => {
    for (const { session } of sessions) people.forget(session.token);
    return placesOf(headers.host).flatMap((place) => readCookies(headers.cookie, place) === undefined ? [] : dropCookies(place));
  };
  return {
    proxied: false,
    async identify(headers, nowMs) {
      const [found] = sessionsOf(headers, nowMs);
      const person = found && await people.find(found.session.token, nowMs);
      if (!found || !person) return undefined;
      const { session, place } = found;
      const renewed = renewSession(session, nowMs);
      return { person, csrfSecret: session.csrfSecret, cookies: renewed ? keepCookies(sealSession(renewed, sealing), place, secondsLeft(renewed, nowMs)) : [] };
    },
    async admit(token, headers, nowMs) {
      const place = placeForNew(headers);
      if (!TOKEN.test(token)) return undefined;
      const session = beginSession(token, nowMs);
      const sealed = sealSession(session, sealing);
      if (sealed.length > MOST_SEALED_CHARACTERS) throw tooLong(token);
      const person = await people.find(token, nowMs);
      return person && { person, cookies: keepCookies(sealed, place, secondsLeft(session, nowMs)) };
    },
    dismiss: (headers, nowMs) => forget(headers, sessionsOf(headers, nowMs)),
    async signOut(headers, nowMs) {
      const sessions = sessionsOf(headers, nowMs);
      const cookies = forget(headers, sessions);
      try {
        await Promise.all(sessions.map(({ session }) => signedOut.add(session, nowMs)));
        return { cookies, problem: undefined };
      } catch (error) {
        if (error instanceof AccessError) return { cookies, problem: error };
        throw error;
      }
    },
  };
}

function proxyDoor({ people, bindingKey }: DoorOptions, name: ProxyHeader): Door {
  const tokenOf = (headers: IncomingHttpHeaders): string | undefined => {
    const value = headers[name];
    const token = typeof value === 'string' ? value.replace(/^Bearer +/i, '').trim() : '';
    return TOKEN.test(token) ? token : undefined;
  };
  const dismiss: Door['dismiss'] = (headers) => {
    const token = tokenOf(headers);
    if (token !== undefined) people.forget(token);
    return [];
  };
  return {
    proxied: true,
    async identify(headers, nowMs) {
      const token = tokenOf(headers);
      const person = token === undefined ? undefined : await people.find(token, nowMs);
      return person && { person, csrfSecret: csrfSecretOf(person.person.name, bindingKey), cookies: [] };
    },
    admit: async () => undefined,
    dismiss,
    signOut: async (headers, nowMs) => ({ cookies: dismiss(headers, nowMs), problem: undefined }),
  };
}

/** Where a session's cookies may be: a browser sends the secure ones to this machine by http, too. */
function placesOf(host: string | undefined): CookiePlace[] {
  const { name, port } = splitHost(host);
  const secure = { secure: true, port: '' };
  return LOOPBACK.test(name) ? [secure, { secure: false, port }] : [secure];
}

/** The page's own origin says whether it came by https: this server sees plain http behind whatever ends TLS. */
function placeForNew({ host, origin }: IncomingHttpHeaders): CookiePlace {
  const { name, port } = splitHost(host);
  const scheme = origin !== undefined && URL.canParse(origin) ? new URL(origin).protocol : undefined;
  if (scheme === 'https:') return { secure: true, port: '' };
  if (LOOPBACK.test(name)) return { secure: false, port };
  if (scheme === undefined) return { secure: true, port: '' };
  throw new RequestRefused(403, 'Signing in needs https', {
    message: 'Over plain http anybody on the way could read your token. Reach the console by https, or on this machine itself (http://localhost), for example with kubectl port-forward.',
  });
}

function splitHost(host = ''): { name: string; port: string } {
  const [, name = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(host) ?? [];
  return { name, port };
}

function tooLong(token: string): RequestRefused {
  return new RequestRefused(422, 'This token is too long', {
    message: `It has ${token.length.toLocaleString('en-US')} characters, more than browsers and proxies let a cookie hold. Use one with fewer claims (groups), a service account's token, or an authenticating proxy before the console.`,
  });
}

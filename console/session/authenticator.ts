/**
 * Finds the person who sent a request: by the session in its cookies, or, behind an authenticating proxy, by the token
 * in the header that the proxy sets. It also begins, renews and ends sessions.
 */
import { createHmac, hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessError } from '../access/access.ts';
import type { ConsoleAccess, PersonAccess } from '../access/access.ts';
import { createTtlCache } from '../access/ttl-cache.ts';
import { RequestRefused } from '../describe-error.ts';
import type { Revocations } from './revocations.ts';
import { cookieScopes, newCookieScope } from './cookie-scope.ts';
import type { CookieScope } from './cookie-scope.ts';
import { dropCookies, hasCookies, readSession, sealSession, writeCookies } from './session-cookies.ts';
import { beginSession, renewSession, secondsLeft } from './session.ts';
import type { Session } from './session.ts';

/** The header in which an authenticating proxy passes the person's token. */
export type ProxyHeader = 'authorization' | 'x-forwarded-access-token';

interface AuthenticatorOptions {
  readonly access: ConsoleAccess;
  readonly revocations: Revocations;
  /** Behind a proxy, form tokens derive from the person under this key: there is no session. */
  readonly formKey: Uint8Array;
  readonly proxyHeader: ProxyHeader | undefined;
  /** The path below which people reach the console; '' at a host's root. */
  readonly basePath: string;
  readonly nowMs: () => number;
}

/** Somebody who is signed in. */
export interface Principal {
  readonly person: PersonAccess;
  /** The secret of the form tokens. */
  readonly csrfSecret: string;
  /** The API key that they have signed in with. Never logged or shown. */
  readonly ownKeyText?: string;
}

export interface Authenticator {
  readonly proxied: boolean;
  /**
   * Renews the session on the reply; undefined: nobody is signed in. Rejects with AccessError where the token cannot be
   * checked.
   */
  identify(request: FastifyRequest, reply: FastifyReply): Promise<Principal | undefined>;
  /** Begins a session; undefined: the token is invalid. Rejects with RequestRefused if no cookie can hold it. */
  signIn(token: string, request: FastifyRequest, reply: FastifyReply): Promise<PersonAccess | undefined>;
  /**
   * Makes the browser forget its session, and the next request check the token again. Returns whether there were
   * cookies.
   */
  clear(request: FastifyRequest, reply: FastifyReply): boolean;
  /**
   * Ends the session for every copy of its cookies. Returns why that holds in this process only; undefined: everywhere.
   */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<AccessError | undefined>;
}

/** The characters of a bearer token; nothing else is forwarded to an API server. */
const TOKEN = /^[\x21-\x7e]+$/;
/** How long a revoked token still opens pages that need nothing from the API server. */
const PERSON_MS = 10_000;
const MAX_PEOPLE = 10_000;

/** Sessions in cookies, or a proxy's header where one is configured. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const people = cachePeople(options);
  const { proxyHeader } = options;
  return proxyHeader === undefined
    ? cookieAuthenticator(options, people)
    : proxyAuthenticator(options, people, proxyHeader);
}

interface People {
  find(token: string): Promise<PersonAccess | undefined>;
  forget(token: string): void;
}

/** A page with its parts checks its token once. Tokens themselves are not kept, and neither are unknown ones. */
function cachePeople({ access, nowMs }: AuthenticatorOptions): People {
  const people = createTtlCache<PersonAccess | undefined>({
    nowMs,
    ttlMs: (person) => (person ? PERSON_MS : 0),
    maxEntries: MAX_PEOPLE,
  });
  const keyOf = (token: string): string => hash('sha256', token, 'hex');
  return {
    find: (token) => people.get(keyOf(token), () => access.signIn({ token })),
    forget: (token) => people.delete(keyOf(token)),
  };
}

function cookieAuthenticator({ revocations, basePath, nowMs }: AuthenticatorOptions, people: People): Authenticator {
  function sessionsOf(request: FastifyRequest): { session: Session; scope: CookieScope }[] {
    return cookieScopes(request.headers, basePath).flatMap((scope) => {
      const session = readSession(request, scope, nowMs());
      return session && !revocations.has(session) ? [{ session, scope }] : [];
    });
  }

  function clear(request: FastifyRequest, reply: FastifyReply): boolean {
    for (const { session } of sessionsOf(request)) people.forget(session.token);
    const scopes = cookieScopes(request.headers, basePath).filter((scope) => hasCookies(request, scope));
    for (const scope of scopes) dropCookies(reply, scope);
    return scopes.length > 0;
  }

  function keepSession(reply: FastifyReply, scope: CookieScope, session: Session): void {
    const sealed = sealSession(reply.server, session);
    if (sealed !== undefined) writeCookies(reply, scope, { sealed, seconds: secondsLeft(session, nowMs()) });
  }

  return {
    proxied: false,
    clear,
    async identify(request, reply) {
      const [found] = sessionsOf(request);
      const person = found && (await people.find(found.session.token));
      if (!found || !person) return undefined;
      const renewed = renewSession(found.session, nowMs());
      if (renewed) keepSession(reply, found.scope, renewed);
      const { csrfSecret, token } = found.session;
      return { person, csrfSecret, ...(person.ownKey && { ownKeyText: token }) };
    },
    async signIn(token, request, reply) {
      const scope = newCookieScope(request.headers, basePath);
      if (!TOKEN.test(token)) return undefined;
      const session = beginSession(token, nowMs());
      if (sealSession(reply.server, session) === undefined) throw tooLong(token);
      const person = await people.find(token);
      if (person) keepSession(reply, scope, session);
      return person;
    },
    async signOut(request, reply) {
      const sessions = sessionsOf(request);
      clear(request, reply);
      try {
        await Promise.all(sessions.map(({ session }) => revocations.add(session, nowMs())));
        return undefined;
      } catch (error) {
        if (error instanceof AccessError) return error;
        throw error;
      }
    },
  };
}

function proxyAuthenticator({ formKey }: AuthenticatorOptions, people: People, name: ProxyHeader): Authenticator {
  function tokenOf({ headers }: FastifyRequest): string | undefined {
    const value = headers[name];
    const token = typeof value === 'string' ? value.replace(/^Bearer +/i, '').trim() : '';
    return TOKEN.test(token) ? token : undefined;
  }

  function clear(request: FastifyRequest): boolean {
    const token = tokenOf(request);
    if (token !== undefined) people.forget(token);
    return false;
  }

  return {
    proxied: true,
    clear,
    async identify(request) {
      const token = tokenOf(request);
      const person = token === undefined ? undefined : await people.find(token);
      if (!person) return undefined;
      return { person, csrfSecret: createHmac('sha256', formKey).update(person.person.name).digest('base64url') };
    },
    signIn: async () => undefined,
    async signOut(request) {
      clear(request);
      return undefined;
    },
  };
}

function tooLong(token: string): RequestRefused {
  return new RequestRefused(422, 'This token is too long', {
    message:
      `It has ${token.length.toLocaleString('en-US')} characters, more than browsers and proxies let a cookie ` +
      `hold. ` +
      "Use one with fewer claims (groups), a service account's token, or an authenticating proxy before the console.",
  });
}

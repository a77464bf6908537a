/**
 * What a person chose for the last key that they created in this browser, in a cookie: the form of the next key begins
 * with it. It holds names only, and counts for nobody else who signs in here.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isJsonObject, parseJson } from '#crds/json.ts';
import { RequestRefused } from '../describe-error.ts';
import { cookieName, cookieOptions, cookieScopes, newCookieScope } from './cookie-scope.ts';
import type { CookieScope } from './cookie-scope.ts';

/** The choices for a key. */
export interface LastChoice {
  readonly namespace: string;
  readonly account: string;
  readonly group: string;
}

const COOKIE = 'mgw-console-last-key';
const SECONDS = 180 * 86_400;
const MAX_LENGTH = 2_000;

interface Person {
  readonly person: string;
  readonly basePath: string;
}

/** undefined: this person has created no key in this browser. */
export function readLastChoice(
  { cookies, headers }: FastifyRequest,
  { person, basePath }: Person,
): LastChoice | undefined {
  for (const scope of cookieScopes(headers, basePath)) {
    const kept = parseJson(cookies[cookieName(scope, COOKIE)] ?? '');
    if (!isJsonObject(kept) || kept['person'] !== person) continue;
    const { namespace, account, group } = kept;
    if (typeof namespace === 'string' && typeof account === 'string' && typeof group === 'string')
      return { namespace, account, group };
  }
  return undefined;
}

/** Makes the browser keep it, below the console's path; over plain http from another machine, nothing is kept. */
export function writeLastChoice(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  { namespace, account, group }: LastChoice,
  { person, basePath }: Person,
): void {
  const value = JSON.stringify({ person, namespace, account, group });
  const scope = scopeOf(request, basePath);
  if (!scope || value.length > MAX_LENGTH) return;
  void reply.setCookie(cookieName(scope, COOKIE), value, { ...cookieOptions(scope), maxAge: SECONDS });
}

/** Makes the browser forget it. */
export function dropLastChoice(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  basePath: string,
): void {
  for (const scope of cookieScopes(request.headers, basePath)) {
    const name = cookieName(scope, COOKIE);
    if (request.cookies[name] !== undefined) void reply.setCookie(name, '', { ...cookieOptions(scope), maxAge: 0 });
  }
}

function scopeOf({ headers }: FastifyRequest, basePath: string): CookieScope | undefined {
  try {
    return newCookieScope(headers, basePath);
  } catch (error) {
    if (error instanceof RequestRefused) return undefined;
    throw error;
  }
}

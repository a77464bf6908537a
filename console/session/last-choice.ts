/**
 * What a person chose for the last key that they created in this browser, in a cookie: the form of the next key begins
 * with it. It holds names only, and counts for nobody else who signs in here.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isJsonObject, parseJson } from '#crds/json.ts';

/** The choices for a key. */
export interface LastChoice {
  readonly namespace: string;
  readonly account: string;
  readonly group: string;
}

const COOKIE = 'mgw-console-last-key';
const SECONDS = 180 * 86_400;
const MAX_LENGTH = 2_000;

/** undefined: this person has created no key in this browser. */
export function readLastChoice({ cookies }: FastifyRequest, person: string): LastChoice | undefined {
  const kept = parseJson(cookies[COOKIE] ?? '');
  if (!isJsonObject(kept) || kept['person'] !== person) return undefined;
  const { namespace, account, group } = kept;
  if (typeof namespace !== 'string' || typeof account !== 'string' || typeof group !== 'string') return undefined;
  return { namespace, account, group };
}

/** Makes the browser keep it, below the console's path. */
export function writeLastChoice(
  reply: FastifyReply,
  { namespace, account, group }: LastChoice,
  { person, basePath }: { readonly person: string; readonly basePath: string },
): void {
  const value = JSON.stringify({ person, namespace, account, group });
  if (value.length > MAX_LENGTH) return;
  const path = basePath === '' ? '/' : basePath;
  void reply.setCookie(COOKIE, value, { path, httpOnly: true, sameSite: 'strict', secure: 'auto', maxAge: SECONDS });
}

/**
 * Finds the client's key by the SHA-256 of the credential in `Authorization: Bearer sk-…`, `x-api-key` or
 * `x-goog-api-key`. A refusal says which of these headers is wrong and why, and never repeats its value.
 */
import { hash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import type { Authenticated, Caller, PipelineDeps, Received } from './context.ts';
import type { KeyState } from '../state/state.ts';

type Headers = Received['headers'];

/** Where Anthropic's and Google's SDKs send a key. */
const KEY_HEADERS = ['x-api-key', 'x-goog-api-key'] as const;
const PREFIX = 'sk-';
const MAX_KEY_LENGTH = 512;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** Finds the key by the request's head. Throws invalid_api_key. */
export function authenticateHead(deps: Pick<PipelineDeps, 'state' | 'clock'>, headers: Headers): Caller {
  const keyHash = hash('sha256', readKey(headers), 'hex');
  return { keyHash, key: keyInForce(deps, keyHash) };
}

/** Finds the key again once the body is there: it may have been revoked meanwhile. Throws invalid_api_key. */
export function authenticate(deps: Pick<PipelineDeps, 'state' | 'clock'>, received: Received): Authenticated {
  const { keyHash } = received;
  return { received, keyHash, key: keyInForce(deps, keyHash) };
}

/**
 * The key with this hash in the current configuration; it may have been revoked since the call arrived. Throws
 * invalid_api_key.
 */
export function keyInForce({ state, clock }: Pick<PipelineDeps, 'state' | 'clock'>, keyHash: string): KeyState {
  const credential = state.credential(keyHash);
  if (!credential)
    throw refused('This API key is unknown. Check that it is complete, and that it was not revoked or replaced.');
  const { key, notAfterMs } = credential;
  const nowMs = clock.nowMs();
  if (notAfterMs !== undefined && nowMs >= notAfterMs) throw refused('This API key was replaced by a newer one.', key);
  if (!key.enabled) throw refused('This API key is disabled.', key);
  if (key.expirationMs !== undefined && nowMs >= key.expirationMs) throw refused('This API key has expired.', key);
  if (key.refusal) throw refused(`This API key is not accepted: ${key.refusal}`, key);
  return key;
}

function readKey(headers: Headers): string {
  let [name, key] = ['Authorization', readBearer(headers['authorization'])];
  for (const other of KEY_HEADERS) {
    const otherKey = readDirect(headers, other);
    if (otherKey === undefined || otherKey === key) continue;
    if (key !== undefined) throw refused(`The ${name} and ${other} headers carry different keys. Send one of them.`);
    [name, key] = [other, otherKey];
  }
  if (key === undefined) throw refused('No API key. Send it as "Authorization: Bearer sk-…" or as "x-api-key: sk-…".');
  return key;
}

function readDirect(headers: Headers, name: (typeof KEY_HEADERS)[number]): string | undefined {
  const header = headers[name];
  return header === undefined ? undefined : checkKey(single(header), name);
}

function readBearer(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const value = single(header);
  if (!/^bearer /i.test(value))
    throw refused('The Authorization header is not a bearer key of this gateway. Send "Authorization: Bearer sk-…".');
  return checkKey(value.slice('bearer '.length), 'Authorization');
}

function single(header: string | string[]): string {
  return typeof header === 'string' ? header : header.join(', ');
}

function checkKey(key: string, where: string): string {
  if (key === '') throw refused(`The ${where} header holds no key.`);
  if (key.includes(', ')) throw refused(`The ${where} header is sent more than once. Send it once.`);
  if (/\s/.test(key)) throw refused(`The key in the ${where} header has spaces in or around it.`);
  if (!key.startsWith(PREFIX))
    throw refused(`The key in the ${where} header is not one of this gateway's: they start with "sk-".`);
  if (key.length > MAX_KEY_LENGTH || !VISIBLE_ASCII.test(key))
    throw refused(`The key in the ${where} header is malformed.`);
  return key;
}

function refused(message: string, key?: KeyState): GatewayError {
  return new GatewayError('invalid_api_key', message, key && { key });
}

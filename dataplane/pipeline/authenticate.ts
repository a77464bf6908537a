/**
 * Which key calls: from `Authorization: Bearer sk-…` or `x-api-key`, by the SHA-256 of what was sent. A refusal says which of
 * the two headers is at fault and why, and never repeats what was in it.
 */
import { hash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import type { Authenticated, PipelineDeps, Received } from './context.ts';
import type { KeyState } from '../state/state.ts';

type Headers = Received['headers'];

const PREFIX = 'sk-';
const LONGEST_KEY = 512;
const VISIBLE = /^[\x21-\x7e]+$/;
/** What nearly all callers send, which needs no further look. */
const USUAL_BEARER = /^Bearer sk-[\x21-\x7e]{1,509}$/;

/** The caller's key in its present state. Throws invalid_api_key. */
export function authenticate(deps: Pick<PipelineDeps, 'state' | 'clock'>, received: Received): Authenticated {
  const { requestId, createdMs, arrivedAt, endpoint, dialect, headers, body, read, reply } = received;
  const { keyHash, key } = authenticateHeaders(deps, headers);
  return { requestId, createdMs, arrivedAt, endpoint, dialect, headers, body, read, reply, keyHash, key };
}

/** The same from headers alone: for endpoints that have no body, and before a large body is read. */
export function authenticateHeaders(deps: Pick<PipelineDeps, 'state' | 'clock'>, headers: Headers): { keyHash: string; key: KeyState } {
  const keyHash = hash('sha256', readKey(headers), 'hex');
  return { keyHash, key: keyInForce(deps, keyHash) };
}

/** The key behind a hash as the configuration in force has it: it may have been revoked since the call began. */
export function keyInForce(deps: Pick<PipelineDeps, 'state' | 'clock'>, keyHash: string): KeyState {
  const credential = deps.state.credential(keyHash);
  if (!credential) throw refused('This API key is unknown. Check that it is complete, and that it was not revoked or replaced.');
  const { key, notAfterMs } = credential;
  const nowMs = deps.clock.nowMs();
  if (notAfterMs !== undefined && nowMs >= notAfterMs) throw refused('This API key was replaced by a newer one.');
  if (!key.enabled) throw refused('This API key is disabled.');
  if (key.expirationMs !== undefined && nowMs >= key.expirationMs) throw refused('This API key has expired.');
  if (key.refusal) throw refused(`This API key is not accepted: ${key.refusal}`);
  return key;
}

function readKey(headers: Headers): string {
  const bearer = readBearer(headers['authorization']);
  const header = headers['x-api-key'];
  const direct = header === undefined ? undefined : checkForm(single(header), 'x-api-key');
  if (bearer !== undefined && direct !== undefined && bearer !== direct)
    throw refused('The Authorization and x-api-key headers carry different keys. Send one of them.');
  const key = bearer ?? direct;
  if (key === undefined) throw refused('No API key. Send it as "Authorization: Bearer sk-…" or as "x-api-key: sk-…".');
  return key;
}

function readBearer(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const value = single(header);
  if (USUAL_BEARER.test(value)) return value.slice('Bearer '.length);
  if (!/^bearer /i.test(value))
    throw refused('The Authorization header is not a bearer key of this gateway. Send "Authorization: Bearer sk-…".');
  return checkForm(value.slice('bearer '.length), 'Authorization');
}

function single(header: string | string[]): string {
  return typeof header === 'string' ? header : header.join(', ');
}

function checkForm(key: string, where: string): string {
  if (key === '') throw refused(`The ${where} header holds no key.`);
  if (key.includes(', ')) throw refused(`The ${where} header is sent more than once. Send it once.`);
  if (/\s/.test(key)) throw refused(`The key in the ${where} header has spaces in or around it.`);
  if (!key.startsWith(PREFIX)) throw refused(`The key in the ${where} header is not one of this gateway's: they start with "sk-".`);
  if (key.length > LONGEST_KEY || !VISIBLE.test(key)) throw refused(`The key in the ${where} header is malformed.`);
  return key;
}

function refused(message: string): GatewayError {
  return new GatewayError('invalid_api_key', message);
}

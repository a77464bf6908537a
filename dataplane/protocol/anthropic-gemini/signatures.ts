/**
 * Gemini's thought signatures. Gemini expects each one again on the part that it came with. Clients store it as the
 * signature of a thinking block; it contains the id of its tool call, because clients may reorder such blocks.
 */
import { isRecord, itemsOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

const PREFIX = 'gemini.';
/** Stands in place of a call's id if the signature belongs to the turn's text. */
const TEXT = 'text';
/** Before a call's id. */
const CALL = 'call.';

/** One of these is in every text of such a signature. */
export const SIGNATURE_MARKS: readonly string[] = [`${PREFIX}${TEXT}.`, `${PREFIX}${CALL}`];

/** `callId`: of the part that has the signature; undefined: it is a text. */
export function writeSignature(signature: string, callId?: string): string {
  return `${PREFIX}${callId === undefined ? TEXT : `${CALL}${callId}`}.${signature}`;
}

/** Undefined: the block is not signed by Gemini. */
export function readSignature({
  type,
  signature,
}: JsonRecord): { readonly callId: string | undefined; readonly signature: string } | undefined {
  const text = stringOf(signature);
  if (type !== 'thinking' || !text.startsWith(PREFIX)) return undefined;
  // base64 has no dots, but the id of a call may
  const end = text.lastIndexOf('.');
  const place = text.slice(PREFIX.length, end);
  const value = text.slice(end + 1);
  if (value === '') return undefined;
  if (place === TEXT) return { callId: undefined, signature: value };
  return place.startsWith(CALL) ? { callId: place.slice(CALL.length), signature: value } : undefined;
}

/** The signatures of a conversation's tool calls, by the id that the client has for the call. */
export function signaturesOfCalls(messages: readonly JsonRecord[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const block of messages.flatMap(({ content }) => itemsOf(content)).filter(isRecord)) {
    const signed = readSignature(block);
    if (signed?.callId !== undefined) found.set(signed.callId, signed.signature);
  }
  return found;
}

/** Skips the check, as Google documents for calls that other models made. */
export const NO_SIGNATURE = 'skip_thought_signature_validator';

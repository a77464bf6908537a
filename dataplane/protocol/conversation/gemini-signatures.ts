/** Where Gemini's thought signatures belong in earlier turns: to a call, or to the text of a turn. */
import type { AssistantPart, Turn } from './request.ts';

/** The signatures of all calls by call id, in whichever part of a turn the client keeps them. */
export function signaturesOfCalls(turns: readonly Turn[]): ReadonlyMap<string, string> {
  const parts = turns.flatMap((turn) => (turn.role === 'Assistant' ? turn.parts : []));
  return new Map(
    signaturesIn(parts).flatMap(({ callId, signature }) => (callId === undefined ? [] : [[callId, signature]])),
  );
}

/** The latest signature of a turn's text. */
export function signatureOfText(parts: readonly AssistantPart[]): string | undefined {
  return signaturesIn(parts).findLast(({ callId }) => callId === undefined)?.signature;
}

interface Signature {
  /** Undefined: it belongs to the text of the turn. */
  readonly callId: string | undefined;
  readonly signature: string;
}

function signaturesIn(parts: readonly AssistantPart[]): readonly Signature[] {
  return parts.flatMap((part) => (part.type === 'Reasoning' && part.proof?.maker === 'Gemini' ? [part.proof] : []));
}

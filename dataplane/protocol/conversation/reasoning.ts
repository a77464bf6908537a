/**
 * What proves to a provider that reasoning is its model's own. Clients keep one opaque text with a piece of reasoning,
 * so that each proof has a text form that says who made it. Text without a maker's mark is Anthropic's, whose
 * signatures pass through unchanged.
 */
import { stringOf, textOf } from '../fields.ts';

export type ReasoningProof =
  /** Anthropic's signature of the readable text. */
  | { readonly maker: 'Anthropic'; readonly signature: string }
  /** Reasoning that only Anthropic can read, in place of a text. */
  | { readonly maker: 'Anthropic'; readonly redacted: string }
  /** Gemini's thought signature. It goes back on the call, or without one on the turn's text. */
  | { readonly maker: 'Gemini'; readonly signature: string; readonly callId: string | undefined }
  /** An encrypted reasoning item of OpenAI's Responses. */
  | { readonly maker: 'OpenAI'; readonly id: string; readonly encrypted: string };

export type ProofMaker = ReasoningProof['maker'];

const GEMINI = 'gemini.';
/** Stands in place of a call's id if the signature belongs to the turn's text. */
const OF_TEXT = 'text';
const OF_CALL = 'call.';
const OPENAI = 'openai.';

/** The text that a client keeps; undefined: the proof has no text of its own. */
export function writeProof(proof: ReasoningProof): string | undefined {
  switch (proof.maker) {
    case 'Anthropic':
      return 'signature' in proof ? proof.signature : undefined;
    case 'Gemini':
      return `${GEMINI}${proof.callId === undefined ? OF_TEXT : `${OF_CALL}${proof.callId}`}.${proof.signature}`;
    case 'OpenAI':
      return OPENAI + Buffer.from(JSON.stringify([proof.id, proof.encrypted])).toString('base64url');
  }
}

/** Reads a client's text. Undefined: it is empty, or damaged. */
export function readProof(text: string): ReasoningProof | undefined {
  if (text === '') return undefined;
  if (text.startsWith(GEMINI)) return readGemini(text);
  return text.startsWith(OPENAI) ? readOpenAi(text) : { maker: 'Anthropic', signature: text };
}

/** Anthropic's signature, as its models send it; undefined: they have signed nothing. */
export function anthropicProof(signature: string): ReasoningProof | undefined {
  return signature === '' ? undefined : { maker: 'Anthropic', signature };
}

function readGemini(text: string): ReasoningProof | undefined {
  // base64 has no dots, but the id of a call may
  const end = text.lastIndexOf('.');
  const place = text.slice(GEMINI.length, end);
  const signature = text.slice(end + 1);
  if (signature === '') return undefined;
  if (place === OF_TEXT) return { maker: 'Gemini', callId: undefined, signature };
  return place.startsWith(OF_CALL) ? { maker: 'Gemini', callId: place.slice(OF_CALL.length), signature } : undefined;
}

function readOpenAi(text: string): ReasoningProof | undefined {
  try {
    const pair: unknown = JSON.parse(Buffer.from(text.slice(OPENAI.length), 'base64url').toString('utf8'));
    if (!Array.isArray(pair)) return undefined;
    const [id, encrypted]: readonly unknown[] = pair;
    return textOf(encrypted) === undefined
      ? undefined
      : { maker: 'OpenAI', id: stringOf(id), encrypted: stringOf(encrypted) };
  } catch {
    // a text of another maker that begins alike
    return undefined;
  }
}

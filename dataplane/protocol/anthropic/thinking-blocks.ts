/** Blocks of thinking, which requests and responses of Anthropic's protocol have alike. */
import { writeProof } from '../conversation/reasoning.ts';
import type { ReasoningProof } from '../conversation/reasoning.ts';
import type { JsonRecord } from '../fields.ts';
import { toToolUseId } from '../tool-ids.ts';

interface Reasoning {
  readonly text: string;
  readonly proof: ReasoningProof | undefined;
}

export function thinkingBlock({ text, proof }: Reasoning): JsonRecord {
  return redactedBlock(proof) ?? { type: 'thinking', thinking: text, signature: signatureOf(proof) };
}

/** A block of reasoning that only Anthropic can read; undefined: it is readable. */
export function redactedBlock(proof: ReasoningProof | undefined): JsonRecord | undefined {
  return proof?.maker === 'Anthropic' && 'redacted' in proof
    ? { type: 'redacted_thinking', data: proof.redacted }
    : undefined;
}

/** The block's `signature`; empty without a proof. Gemini's contains the call's id as the client sees it. */
export function signatureOf(proof: ReasoningProof | undefined): string {
  if (!proof) return '';
  const sent =
    proof.maker === 'Gemini' && proof.callId !== undefined ? { ...proof, callId: toToolUseId(proof.callId) } : proof;
  return writeProof(sent) ?? '';
}

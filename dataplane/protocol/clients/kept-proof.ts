/** The proofs that clients keep with their reasoning as `signature`. */
import { readProof } from '../conversation/reasoning.ts';
import type { ReasoningProof } from '../conversation/reasoning.ts';
import { fromToolUseId } from '../tool-ids.ts';

/** A proof of Gemini's may name its call by the id that a client of Anthropic's has for it. */
export function readKeptProof(signature: string): ReasoningProof | undefined {
  const proof = readProof(signature);
  if (proof?.maker !== 'Gemini' || proof.callId === undefined) return proof;
  return { ...proof, callId: fromToolUseId(proof.callId) };
}

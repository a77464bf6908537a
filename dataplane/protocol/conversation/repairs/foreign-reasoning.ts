/**
 * Leaves out reasoning that the provider would refuse: signed by another maker, or not signed where it checks. Readable
 * text stays where the provider's models want it back, without a proof that they cannot read.
 */
import type { AssistantPart, Turn } from '../request.ts';
import type { ProofMaker } from '../reasoning.ts';

export interface ReasoningNeeds {
  /** Whose proofs the provider accepts. */
  readonly proofs: readonly ProofMaker[];
  /** Its models want readable reasoning back, signed or not. */
  readonly readable: boolean;
}

export function withoutForeignReasoning(turns: readonly Turn[], needs: ReasoningNeeds): readonly Turn[] {
  return turns.map((turn) =>
    turn.role === 'Assistant' ? { ...turn, parts: turn.parts.flatMap((part) => keptPart(part, needs)) } : turn,
  );
}

function keptPart(part: AssistantPart, { proofs, readable }: ReasoningNeeds): readonly AssistantPart[] {
  if (part.type !== 'Reasoning') return [part];
  if (part.proof && proofs.includes(part.proof.maker)) return [part];
  return readable && part.text !== '' ? [{ ...part, proof: undefined }] : [];
}

/** Leaves out reasoning at the end of a turn, which led to nothing, and which some providers refuse. */
import type { AssistantPart } from '../request.ts';

/** Gemini's stays, because it may prove the text before it. */
export function withoutLastReasoning(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const last = parts.findLastIndex((part) => part.type !== 'Reasoning' || part.proof?.maker === 'Gemini');
  return parts.slice(0, last + 1);
}

/**
 * Makes the ids of calls unique in a conversation: some models number the calls of each response anew. A result belongs
 * to the latest call with its id that has none yet.
 */
import type { AssistantPart, Turn, UserPart } from '../request.ts';

export function uniqueIds(turns: readonly Turn[]): readonly Turn[] {
  if (!repeatsIds(turns)) return turns;
  const names = new IdNames();
  return turns.map((turn) => {
    if (turn.role === 'Assistant') return { ...turn, parts: turn.parts.map((part) => names.ofCall(part)) };
    return turn.role === 'User' ? { ...turn, parts: turn.parts.map((part) => names.ofResult(part)) } : turn;
  });
}

function repeatsIds(turns: readonly Turn[]): boolean {
  const seen = new Set<string>();
  return turns.some(
    (turn) =>
      turn.role === 'Assistant' &&
      turn.parts.some((part) => {
        if (part.type !== 'ToolCall') return false;
        const repeated = seen.has(part.id);
        seen.add(part.id);
        return repeated;
      }),
  );
}

class IdNames {
  readonly #count = new Map<string, number>();
  /** New ids of calls that wait for their result, by the id that the client has. */
  readonly #open = new Map<string, string[]>();

  ofCall(part: AssistantPart): AssistantPart {
    if (part.type !== 'ToolCall') return part;
    const count = this.#count.get(part.id) ?? 0;
    this.#count.set(part.id, count + 1);
    const id = count === 0 ? part.id : `${part.id}_${count}`;
    this.#open.set(part.id, [...(this.#open.get(part.id) ?? []), id]);
    return { ...part, id };
  }

  ofResult(part: UserPart): UserPart {
    if (part.type !== 'ToolResult') return part;
    const callId = this.#open.get(part.callId)?.shift();
    return callId === undefined ? part : { ...part, callId };
  }
}

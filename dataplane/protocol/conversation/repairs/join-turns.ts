/** Joins consecutive turns of one role. */
import type { Turn } from '../request.ts';

/** Consecutive turns with calls: some clients write each of several parallel calls as a turn of its own. */
export function joinCalls(turns: readonly Turn[]): readonly Turn[] {
  return joinWhere(turns, (before, turn) => hasCalls(before) && hasCalls(turn));
}

function hasCalls(turn: Turn): boolean {
  return turn.role === 'Assistant' && turn.parts.some(({ type }) => type === 'ToolCall');
}

/** Joins all consecutive turns of one role, for providers whose turns must alternate. */
export function joinTurns(turns: readonly Turn[]): readonly Turn[] {
  return joinWhere(turns, () => true);
}

function joinWhere(turns: readonly Turn[], where: (before: Turn, turn: Turn) => boolean): readonly Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    const both = last && where(last, turn) ? join(last, turn) : undefined;
    if (both) joined[joined.length - 1] = both;
    else joined.push(turn);
  }
  return joined;
}

/** Undefined: they are of different roles. */
function join(before: Turn, turn: Turn): Turn | undefined {
  if (before.role === 'User' && turn.role === 'User') return { ...before, parts: [...before.parts, ...turn.parts] };
  if (before.role === 'Assistant' && turn.role === 'Assistant')
    return { ...before, parts: [...before.parts, ...turn.parts] };
  return undefined;
}

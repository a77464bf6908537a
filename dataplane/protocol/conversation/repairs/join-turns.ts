/** Joins consecutive turns of one role, for providers that take only turns that alternate. */
import type { Turn } from '../request.ts';

export function joinTurns(turns: readonly Turn[]): readonly Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const both = join(joined.at(-1), turn);
    if (both) joined[joined.length - 1] = both;
    else joined.push(turn);
  }
  return joined;
}

/** Undefined: they are of different roles. */
function join(before: Turn | undefined, turn: Turn): Turn | undefined {
  if (before?.role === 'User' && turn.role === 'User') return { ...before, parts: [...before.parts, ...turn.parts] };
  if (before?.role === 'Assistant' && turn.role === 'Assistant')
    return { ...before, parts: [...before.parts, ...turn.parts] };
  return undefined;
}

/** Leaves out texts without words, and turns of nothing else, which some providers refuse. */
import type { AssistantPart, Turn, UserPart } from '../request.ts';

export function withoutBlanks(turns: readonly Turn[]): readonly Turn[] {
  return turns.map(withWords).filter(({ parts }) => parts.length > 0);
}

function withWords(turn: Turn): Turn {
  switch (turn.role) {
    case 'System':
      return { ...turn, parts: turn.parts.filter(saysSomething) };
    case 'User':
      return { ...turn, parts: turn.parts.filter(saysSomething) };
    case 'Assistant':
      return { ...turn, parts: turn.parts.filter(saysSomething) };
  }
}

function saysSomething(part: UserPart | AssistantPart): boolean {
  return (part.type !== 'Text' && part.type !== 'Refusal') || part.text.trim() !== '';
}

/** The first and the last turn: providers want a user's turn at the start, and many one at the end. */
import type { AssistantTurn, Turn } from '../request.ts';

const START = '(The conversation begins here.)';
const CONTINUE = 'Continue.';

/** A conversation that begins with the assistant gets a user's turn before it. */
export function startWithUser(turns: readonly Turn[]): readonly Turn[] {
  const [first] = turns;
  return first?.role === 'Assistant' ? [userTurn(START, first.path), ...turns] : turns;
}

/**
 * A model that can go on with the assistant's last turn gets it without white space at its end, which it may refuse;
 * any other model is asked to continue.
 */
export function endForModel(turns: readonly Turn[], prefill: boolean): readonly Turn[] {
  const last = turns.at(-1);
  if (last?.role !== 'Assistant') return turns;
  return prefill ? [...turns.slice(0, -1), trimEnd(last)] : [...turns, userTurn(CONTINUE, last.path)];
}

function userTurn(text: string, path: string): Turn {
  return { role: 'User', parts: [{ type: 'Text', text, path }], path };
}

function trimEnd(turn: AssistantTurn): AssistantTurn {
  const last = turn.parts.at(-1);
  if (last?.type !== 'Text') return turn;
  return { ...turn, parts: [...turn.parts.slice(0, -1), { ...last, text: last.text.trimEnd() }] };
}

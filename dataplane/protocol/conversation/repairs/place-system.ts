/**
 * Separates the system prompt, which stands before the first turn, and puts system text between turns where the
 * provider takes it: where it stands, into the user's turn, or into the prompt. A prompt without turns is the user's.
 */
import type { AssistantTurn, TextPart, Turn, UserTurn } from '../request.ts';

/** Where system text between turns may stand. */
export type SystemPlace = 'InPlace' | 'AsUserText' | 'AtStart';

export interface PlacedSystem {
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
}

export function placeSystem(turns: readonly Turn[], place: SystemPlace): PlacedSystem {
  const first = turns.findIndex(({ role }) => role !== 'System');
  if (first < 0 && place !== 'InPlace') return { system: [], turns: turns.map(asUserText) };
  const start = first < 0 ? turns.length : first;
  const system = partsOf(turns.slice(0, start));
  const rest = turns.slice(start);
  if (place === 'InPlace') return { system, turns: rest };
  if (place === 'AtStart')
    return { system: [...system, ...partsOf(rest)], turns: rest.filter(({ role }) => role !== 'System') };
  return { system, turns: rest.map(asUserText) };
}

function partsOf(turns: readonly Turn[]): readonly TextPart[] {
  return turns.flatMap((turn) => (turn.role === 'System' ? turn.parts : []));
}

function asUserText(turn: Turn): UserTurn | AssistantTurn {
  return turn.role === 'System' ? { ...turn, role: 'User' } : turn;
}

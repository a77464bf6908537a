/**
 * Moves images that the assistant has made into a turn of the user directly after its own, for providers that take
 * images of the user only. A turn of nothing else is gone.
 */
import { withoutLastReasoning } from './last-reasoning.ts';
import type { AssistantTurn, Turn } from '../request.ts';

const HEADING = 'The assistant has made this:';

export function imagesAsUser(turns: readonly Turn[]): readonly Turn[] {
  return turns.flatMap((turn) => (turn.role === 'Assistant' ? withoutImages(turn) : [turn]));
}

function withoutImages(turn: AssistantTurn): readonly Turn[] {
  const images = turn.parts.filter((part) => part.type === 'Image');
  const [first] = images;
  if (!first) return [turn];
  const parts = withoutLastReasoning(turn.parts.filter((part) => part.type !== 'Image'));
  const { path } = first;
  return [
    ...(parts.length > 0 ? [{ ...turn, parts }] : []),
    { role: 'User', parts: [{ type: 'Text', text: HEADING, path }, ...images], path },
  ];
}

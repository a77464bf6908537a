/** What a call asks for, as a candidate makes it. */
import type { GenerationAttributes } from '#price/generation.ts';
import type { Candidate } from '../state/state.ts';

/** Only Google's models make a resolution of a size. */
export function madeAt(
  made: GenerationAttributes,
  { target }: Partial<Pick<Candidate, 'target'>>,
): GenerationAttributes {
  if (made.convertedSize === undefined || target?.protocol === 'Gemini') return made;
  const { convertedSize: _, ...own } = made;
  return own;
}

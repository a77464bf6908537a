/** Citations that clients of OpenAI's dialects can be told. */
import type { CitationEvent } from '../conversation/events.ts';

export function hasWebAddress({ url }: Pick<CitationEvent, 'url'>): boolean {
  return /^https?:\/\//i.test(url);
}

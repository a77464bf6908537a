/** Reads the annotations of chat completions, which nest each in a member of its own, and of Responses. */
import type { CitationEvent } from '../conversation/events.ts';
import { isRecord, itemsOf, textOf } from '../fields.ts';

const KIND = 'url_citation';

/** Those with an address. `start`: of the text that they belong to, in the text of the response. */
export function readCitations(annotations: unknown, start: number): readonly CitationEvent[] {
  return itemsOf(annotations)
    .filter(isRecord)
    .flatMap((annotation): readonly CitationEvent[] => {
      const nested = annotation[KIND];
      const { url, title, start_index: from, end_index: to } = isRecord(nested) ? nested : annotation;
      if (annotation['type'] !== KIND || typeof url !== 'string') return [];
      return [
        { type: 'citation', url, title: textOf(title), start: start + offsetOf(from), end: start + offsetOf(to) },
      ];
    });
}

function offsetOf(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? value : 0;
}

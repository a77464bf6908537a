/**
 * Converts citations with a URL to OpenAI's annotations; citations of the client's own documents have no counterpart.
 */
import { isRecord, itemsOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** `start` and `end`: the position of the citing text in the content, in UTF-16 units. */
export function convertCitations(citations: unknown, start: number, end: number): JsonRecord[] {
  return itemsOf(citations)
    .filter(isRecord)
    .flatMap((citation) => {
      const url = textOf(citation['url']) ?? textOf(citation['source']);
      if (url === undefined || !/^https?:\/\//i.test(url)) return [];
      return [
        {
          type: 'url_citation',
          url_citation: { url, title: textOf(citation['title']) ?? '', start_index: start, end_index: end },
        },
      ];
    });
}

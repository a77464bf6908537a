/**
 * Citations of a text as OpenAI's annotations: those that have a URL; a page of the client's own document has no counterpart.
 */
import { isRecord, itemsOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** `start` and `end`: where the text that cites is within the answer's content, in UTF-16 units. */
export function convertCitations(citations: unknown, start: number, end: number): JsonRecord[] {
  return itemsOf(citations).filter(isRecord).flatMap((citation) => {
    const url = textOf(citation['url']) ?? textOf(citation['source']);
    if (url === undefined || !/^https?:\/\//i.test(url)) return [];
    return [{ type: 'url_citation', url_citation: { url, title: textOf(citation['title']) ?? '', start_index: start, end_index: end } }];
  });
}

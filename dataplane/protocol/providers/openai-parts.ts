/** What chat completions and Responses have in common in content parts. */
import type { DocumentPart, MediaSource } from '../conversation/request.ts';
import { unsupported } from '../unsupported.ts';

/** The name of the protocol in refusals. */
export const NAME = 'OpenAI';

export const OTHER_FILE = 'the file is kept at another provider';

/** Throws RequestFault for an image that another provider keeps. */
export function imageUrl(source: MediaSource, path: string): string {
  switch (source.type) {
    case 'Data':
      return dataUrl(source);
    case 'Url':
      return source.url;
    case 'File':
      throw unsupported(path, NAME, OTHER_FILE);
  }
}

export function dataUrl({ mediaType, data }: { readonly mediaType: string; readonly data: string }): string {
  return `data:${mediaType};base64,${data}`;
}

/** The name of a document that has none. */
export function fileName({ title }: Pick<DocumentPart, 'title'>): string {
  return title ?? 'document.pdf';
}

/** What a document that is written as text begins with; empty: nothing. */
export function documentHead({ title, context }: Pick<DocumentPart, 'title' | 'context'>): readonly string[] {
  const lines = [...(title === undefined ? [] : [`Title: ${title}`]), ...(context === undefined ? [] : [context])];
  return lines.length > 0 ? [lines.join('\n')] : [];
}

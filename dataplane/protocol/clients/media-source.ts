/** Reads URLs of images and files, which may hold their data. */
import type { ContentPart, DocumentPart, MediaSource } from '../conversation/request.ts';
import { stringOf, textOf } from '../fields.ts';
import { mediaTypeOf } from '../media-types.ts';
import { malformed } from '../unsupported.ts';

/** Throws RequestFault for anything but an address and a data URL. */
export function urlSource(
  given: unknown,
  param: string,
  what = 'a URL: http, https, or data in base64',
): Extract<MediaSource, { type: 'Data' | 'Url' }> {
  const url = textOf(given);
  if (url === undefined) throw malformed(param, what);
  const data = splitDataUrl(url);
  if (data) return { type: 'Data', ...data };
  if (!/^https?:\/\//i.test(url)) throw malformed(param, what);
  return { type: 'Url', url };
}

/** OpenAI's audio. Throws RequestFault where there is no data. `param`: the path of the object that holds it. */
export function audioSource(data: unknown, format: unknown, param: string): MediaSource {
  if (textOf(data) === undefined) throw malformed(`${param}.data`, 'the data in base64');
  return { type: 'Data', mediaType: `audio/${textOf(format) ?? 'wav'}`, data: stringOf(data) };
}

/** Splits `data:<type>;base64,<data>`; undefined: it is another URL. */
function splitDataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  const head = /^data:([a-z0-9.+/-]{1,100})(?:;[a-z0-9=.+-]{1,60}){0,4};base64,/i.exec(url.slice(0, 500));
  return head ? { mediaType: mediaTypeOf((head[1] ?? '').toLowerCase()), data: url.slice(head[0].length) } : undefined;
}

/** Files that are no documents, by the first part of their media type. */
const MEDIA: Readonly<Record<string, 'Image' | 'Audio' | 'Video'>> = { image: 'Image', audio: 'Audio', video: 'Video' };

/** A file as its media type says: text and JSON are a document of text. `about`: what any document has. */
export function filePart(source: MediaSource, about: Omit<DocumentPart, 'type' | 'source'>): ContentPart {
  if (source.type !== 'Data') return { type: 'Document', source, ...about };
  const { mediaType, data } = source;
  if (mediaType.startsWith('text/') || mediaType === 'application/json') {
    const text = Buffer.from(data, 'base64').toString('utf8');
    return { type: 'Document', source: { type: 'Text', text }, ...about };
  }
  const kind = MEDIA[mediaType.split('/')[0] ?? ''];
  const { cache, path } = about;
  return kind ? { type: kind, source, cache, path } : { type: 'Document', source, ...about };
}

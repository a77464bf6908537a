/** Media types of images and files as providers accept them. */

const PROPER: Readonly<Record<string, string>> = { 'image/jpg': 'image/jpeg' };

/** How the data of an image begin in base64. */
const BEGINNINGS: readonly (readonly [start: string, mediaType: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
];

/** The registered name of a media type that clients often misspell; any other stays as it is. */
export function mediaTypeOf(given: string): string {
  return PROPER[given.toLowerCase()] ?? given;
}

/** The media type of an image by its data in base64; undefined: they show none that is known. */
export function imageTypeOf(data: string): string | undefined {
  return BEGINNINGS.find(([start]) => data.startsWith(start))?.[1];
}

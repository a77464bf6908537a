/** Media types of images and files as providers accept them. */

const PROPER: Readonly<Record<string, string>> = { 'image/jpg': 'image/jpeg' };

/** The registered name of a media type that clients often misspell; any other stays as it is. */
export function mediaTypeOf(given: string): string {
  return PROPER[given.toLowerCase()] ?? given;
}

/** HTTP's content codings of clients' requests and providers' responses. */
import type { Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';

/** The size of the chunks that a decoder emits. */
const CHUNK_BYTES = 64 * 1024;
/** RFC 9659 allows a window of at most 8 MiB. A larger window would take memory that no limit counts. */
const ZSTD_OPTIONS = { chunkSize: CHUNK_BYTES, params: { [constants.ZSTD_d_windowLogMax]: 23 } };

const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', () => createGunzip({ chunkSize: CHUNK_BYTES })],
  ['x-gzip', () => createGunzip({ chunkSize: CHUNK_BYTES })],
  ['deflate', () => createInflate({ chunkSize: CHUNK_BYTES })],
  ['br', () => createBrotliDecompress({ chunkSize: CHUNK_BYTES })],
  ['zstd', () => createZstdDecompress(ZSTD_OPTIONS)],
]);

/** The value of Accept-Encoding: every coding that can be decoded. */
export const DECODED_CODINGS = 'gzip, deflate, br, zstd';

/**
 * Returns the makers of the decoders of a Content-Encoding header, in the order to apply them; none for "identity".
 * Returns undefined if one of the codings is unknown.
 */
export function decodersOf(contentEncoding: string): readonly (() => Transform)[] | undefined {
  const names = contentEncoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  const codings = names.filter((name) => name !== '' && name !== 'identity');
  const makers = codings.map((name) => DECODERS.get(name)).filter((maker) => maker !== undefined);
  if (makers.length !== codings.length) return undefined;
  // the header lists codings in the order of encoding; decoding reverses it
  return makers.toReversed();
}

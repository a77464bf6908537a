/** HTTP's content codings of clients' requests and providers' responses. */
import type { Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';

/** The size of the chunks that a decoder emits. */
const CHUNK_BYTES = 64 * 1024;
/** RFC 9659 allows a window of at most 8 MiB. A larger window would take memory that no limit counts. */
const ZSTD_OPTIONS = { chunkSize: CHUNK_BYTES, params: { [constants.ZSTD_d_windowLogMax]: 23 } };

export interface Coding {
  readonly create: () => Transform;
  /** The most memory that one decoder needs beside its output. */
  readonly windowBytes: number;
}

const KIB = 1024;
const INFLATE_BYTES = 64 * KIB;
const GZIP: Coding = { create: () => createGunzip({ chunkSize: CHUNK_BYTES }), windowBytes: INFLATE_BYTES };

const CODINGS: ReadonlyMap<string, Coding> = new Map<string, Coding>([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  ['deflate', { create: () => createInflate({ chunkSize: CHUNK_BYTES }), windowBytes: INFLATE_BYTES }],
  ['br', { create: () => createBrotliDecompress({ chunkSize: CHUNK_BYTES }), windowBytes: 16 * KIB * KIB }],
  ['zstd', { create: () => createZstdDecompress(ZSTD_OPTIONS), windowBytes: 8 * KIB * KIB }],
]);

/** The value of Accept-Encoding: every coding that can be decoded. */
export const DECODED_CODINGS = 'gzip, deflate, br, zstd';

/**
 * Returns the codings of a Content-Encoding header, in the order to decode them; none for "identity". Returns undefined
 * if one of them is unknown.
 */
export function codingsOf(contentEncoding: string): readonly Coding[] | undefined {
  const names = contentEncoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  const wanted = names.filter((name) => name !== '' && name !== 'identity');
  const codings = wanted.map((name) => CODINGS.get(name)).filter((coding) => coding !== undefined);
  if (codings.length !== wanted.length) return undefined;
  // the header lists codings in the order of encoding; decoding reverses it
  return codings.toReversed();
}

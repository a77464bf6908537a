/**
 * Answers of providers that compress although they are asked not to. Decompressed piece by piece with back-pressure, so that
 * memory stays bounded; an answer that inflates beyond all reason is cut off.
 */
import { pipeline } from 'node:stream';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { UpstreamFailure } from './upstream.ts';
import type { UpstreamResponse } from './upstream.ts';

const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
  ['zstd', () => createZstdDecompress()],
]);

/** Text compresses 3- to 20-fold; beyond FREE_BYTES an answer may not be more than MAX_INFLATION times what came in. */
const FREE_BYTES = 16 * 1024 * 1024;
const MAX_INFLATION = 200;

/** The answer in plain bytes, and without the headers that say otherwise; undefined where its content-encoding is unknown. */
export function decodeAnswer(answer: UpstreamResponse): UpstreamResponse | undefined {
  const { status, headers, body } = answer;
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return answer;
  const decode = decoderFor(encoding);
  if (!decode) return undefined;
  const { 'content-encoding': _encoding, 'content-length': _length, ...plain } = headers;
  return { status, headers: plain, body: decode(body) };
}

/** What turns an answer with this content-encoding into plain bytes; undefined where an encoding is unknown. */
function decoderFor(contentEncoding: string): ((body: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>) | undefined {
  const names = contentEncoding.toLowerCase().split(',').map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity');
  const makers = names.map((name) => DECODERS.get(name)).filter((maker) => maker !== undefined);
  if (makers.length !== names.length) return undefined;
  // applied in the order of the header, so undone from its end
  return (body) => makers.reduceRight((inner, maker) => decode(inner, maker()), body);
}

async function* decode(body: AsyncIterable<Uint8Array>, decoder: Transform): AsyncGenerator<Uint8Array, void, undefined> {
  const sizes = { in: 0, out: 0 };
  // its error also ends the loop below, which tells of it
  pipeline(counted(body, sizes), decoder, () => undefined);
  try {
    for await (const piece of decoder) {
      if (!(piece instanceof Uint8Array)) continue;
      sizes.out += piece.length;
      if (sizes.out > FREE_BYTES && sizes.out > sizes.in * MAX_INFLATION) throw new UpstreamFailure('Cut', 'the compressed answer is larger than anything sensible');
      yield piece;
    }
  } catch (error) {
    throw error instanceof UpstreamFailure ? error : new UpstreamFailure('Cut', 'the compressed answer is broken', error);
  }
}

async function* counted(body: AsyncIterable<Uint8Array>, sizes: { in: number }): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of body) {
    sizes.in += piece.length;
    yield piece;
  }
}

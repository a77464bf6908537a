/**
 * Decompresses responses of providers that compress although the request asked for identity. It works piece by piece
 * with back-pressure, so that memory stays bounded. A response that inflates without measure is cut off.
 */
import { pipeline } from 'node:stream';
import type { Transform } from 'node:stream';
import { codingsOf } from '../content-coding.ts';
import { UpstreamFailure } from './upstream.ts';
import type { UpstreamResponse } from './upstream.ts';

type Body = AsyncIterable<Uint8Array>;

/**
 * Text compresses 3- to 20-fold. Beyond FREE_BYTES an answer may be at most MAX_INFLATION times its compressed size.
 */
const FREE_BYTES = 16 * 1024 * 1024;
const MAX_INFLATION = 200;

/**
 * The response in plain bytes and without the headers that say otherwise; undefined: its content-encoding is unknown.
 */
export function decodeAnswer(response: UpstreamResponse): UpstreamResponse | undefined {
  const { status, headers, body } = response;
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return response;
  const codings = codingsOf(encoding);
  if (!codings) return undefined;
  const { 'content-encoding': _encoding, 'content-length': _length, ...plain } = headers;
  return { status, headers: plain, body: codings.reduce((inner, { create }) => decode(inner, create()), body) };
}

async function* decode(body: Body, decoder: Transform): AsyncGenerator<Uint8Array, void, undefined> {
  const sizes = { in: 0, out: 0 };
  // an error of the pipeline destroys the decoder, so the loop below throws it
  pipeline(counted(body, sizes), decoder, () => undefined);
  try {
    for await (const piece of decoder) {
      if (!(piece instanceof Uint8Array)) continue;
      sizes.out += piece.length;
      if (sizes.out > FREE_BYTES && sizes.out > sizes.in * MAX_INFLATION)
        throw new UpstreamFailure('Cut', 'the compressed answer is larger than anything sensible');
      yield piece;
    }
  } catch (error) {
    if (error instanceof UpstreamFailure) throw error;
    throw new UpstreamFailure('Cut', 'the compressed answer is broken', error);
  }
}

async function* counted(body: Body, sizes: { in: number }): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of body) {
    sizes.in += piece.length;
    yield piece;
  }
}

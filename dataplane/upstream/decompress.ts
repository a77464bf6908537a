/**
 * Decompresses responses of providers that compress although the request asked for identity. It works piece by piece
 * with back-pressure. The decoders' memory is counted, and a response that inflates without measure is cut off.
 */
import { pipeline } from 'node:stream';
import { codingsOf } from '../content-coding.ts';
import type { Coding } from '../content-coding.ts';
import { UpstreamFailure } from './upstream.ts';
import type { UpstreamResponse } from './upstream.ts';

type Body = AsyncIterable<Uint8Array>;

/** Counts what decoders hold against the memory of the process. */
export interface DecoderMemory {
  /** Returns false if there is no room. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

/**
 * Text compresses 3- to 20-fold. Beyond FREE_BYTES a response may be at most MAX_INFLATION times as large as the
 * provider sent it, as a request may.
 */
const FREE_BYTES = 1024 * 1024;
const MAX_INFLATION = 100;
/** Beyond this number, each further decoder would only take memory. */
const MAX_CODINGS = 2;
/** What a decoder has decoded and the reader has not taken yet. */
const OUTPUT_BYTES = 128 * 1024;

/**
 * The response in plain bytes and without the headers that say otherwise; undefined: its content-encoding is unknown or
 * has too many codings.
 */
export function decodeAnswer(response: UpstreamResponse, memory: DecoderMemory): UpstreamResponse | undefined {
  const { status, headers, body } = response;
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return response;
  const codings = codingsOf(encoding);
  if (!codings || codings.length > MAX_CODINGS) return undefined;
  const { 'content-encoding': _encoding, 'content-length': _length, ...plain } = headers;
  const received = { bytes: 0 };
  const decoded = codings.reduce<Body>(
    (inner, coding) => decode(inner, coding, { received, memory }),
    counted(body, received),
  );
  return { status, headers: plain, body: endedTogether(decoded, body) };
}

/** Ends the response when the decoded one ends early, also if no decoder has begun to read it. */
function endedTogether(decoded: Body, response: Body): AsyncIterableIterator<Uint8Array, undefined> {
  const [output, source] = [decoded[Symbol.asyncIterator](), response[Symbol.asyncIterator]()];
  const end = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    await output.return?.();
    await source.return?.();
    return { done: true, value: undefined };
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      try {
        const { done, value } = await output.next();
        return done === true ? { done, value: undefined } : { done: false, value };
      } catch (error) {
        await end();
        throw error;
      }
    },
    return: end,
  };
}

interface Decoding {
  /** Of the compressed response, so far. */
  readonly received: { readonly bytes: number };
  readonly memory: DecoderMemory;
}

async function* decode(
  body: Body,
  { create, windowBytes }: Coding,
  { received, memory }: Decoding,
): AsyncGenerator<Uint8Array, void, undefined> {
  const heldBytes = windowBytes + OUTPUT_BYTES;
  if (!memory.take(heldBytes)) throw new UpstreamFailure('Cut', 'there is no memory to decompress the answer');
  try {
    yield* run(body, create(), received);
  } finally {
    memory.giveBack(heldBytes);
  }
}

async function* run(
  body: Body,
  decoder: ReturnType<Coding['create']>,
  received: Decoding['received'],
): AsyncGenerator<Uint8Array, void, undefined> {
  let length = 0;
  // an error of the pipeline destroys the decoder, so the loop below throws it
  pipeline(body, decoder, () => undefined);
  try {
    for await (const piece of decoder) {
      if (!(piece instanceof Uint8Array)) continue;
      length += piece.length;
      if (length > FREE_BYTES && length > received.bytes * MAX_INFLATION)
        throw new UpstreamFailure('Cut', 'the compressed answer is larger than anything sensible');
      yield piece;
    }
  } catch (error) {
    if (error instanceof UpstreamFailure) throw error;
    throw new UpstreamFailure('Cut', 'the compressed answer is broken', error);
  }
}

async function* counted(body: Body, received: { bytes: number }): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of body) {
    received.bytes += piece.length;
    yield piece;
  }
}

/** Small bodies that inflate without measure, and requests that carry them to every method and endpoint. */
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

const BOMB_BYTES = 60 * 1024 * 1024;
const BLANKS = Buffer.alloc(BOMB_BYTES, ' ');
const BROTLI = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS },
};
/** The largest window that the gateway's decoder takes. */
const ZSTD = { params: { [constants.ZSTD_c_windowLog]: 23 } };
/** Random bytes fill the decoder's window while the compression ratio is still plausible. */
const NOISE = randomBytes(80 * 1024);
const NOISE_AND_BLANKS = Buffer.concat([NOISE, BLANKS]);

/** 60 MiB of blanks by content-encoding, with the largest windows. Brotli makes some dozen bytes of them. */
export const BOMBS: ReadonlyMap<string, Buffer> = new Map([
  ['gzip', gzipSync(BLANKS)],
  ['deflate', deflateSync(BLANKS)],
  ['br', brotliCompressSync(BLANKS, BROTLI)],
  ['zstd', zstdCompressSync(NOISE_AND_BLANKS, ZSTD)],
]);

export type Target = readonly [method: string, path: string];

/** Every endpoint that has a body, and those that have none. */
export const TARGETS: readonly Target[] = [
  ['POST', '/v1/chat/completions'],
  ['POST', '/v1/messages'],
  ['POST', '/v1/messages/count_tokens'],
  ['POST', '/v1/completions'],
  ['POST', '/v1/embeddings'],
  ['POST', '/v1/moderations'],
  ['POST', '/v1/rerank'],
  ['POST', '/v1/images/generations'],
  ['POST', '/v1/images/edits'],
  ['POST', '/v1/images/variations'],
  ['POST', '/v1/videos'],
  ['POST', '/v1/audio/speech'],
  ['POST', '/v1/audio/transcriptions'],
  ['POST', '/v1/audio/translations'],
  ['POST', '/v1/responses'],
  ['POST', '/v1/responses/compact'],
  ['POST', '/v1/responses/input_tokens'],
  ['POST', '/v1/responses/x/cancel'],
  ['POST', '/v1/conversations'],
  ['POST', '/v1/conversations/x'],
  ['POST', '/v1/conversations/x/items'],
  ['POST', '/v1beta/models/gpt-model:generateContent'],
  ['POST', '/v1beta/models/gpt-model:countTokens'],
  ['POST', '/v1beta/models/gpt-model:embedContent'],
  ['POST', '/v1beta/models/gpt-model:batchEmbedContents'],
  ['POST', '/v1beta/models/gpt-model:predict'],
  ['POST', '/v1/nothing'],
  ['DELETE', '/v1/responses/x'],
  ['DELETE', '/v1/videos/x'],
  ['DELETE', '/v1/conversations/x'],
  ['DELETE', '/v1/conversations/x/items/y'],
  ['GET', '/v1/models'],
  ['GET', '/v1/responses/x/input_items'],
  ['PUT', '/v1/responses/x'],
  ['PATCH', '/v1/key'],
  ['GET', '/pricing'],
];

export interface Bombing {
  readonly url: string;
  readonly method: string;
  readonly path: string;
  readonly encoding: string;
  /** Undefined: without a key. */
  readonly key: string | undefined;
  /** The number of requests, each on a connection of its own. */
  readonly count: number;
}

/** Sends the same request on all connections at once; resolves with how many got each status, 0: none. */
export async function bomb(bombing: Bombing): Promise<ReadonlyMap<number, number>> {
  const body = BOMBS.get(bombing.encoding);
  if (!body) throw new Error(`there is no bomb in ${bombing.encoding}`);
  const statuses = new Map<number, number>();
  await Promise.all(
    Array.from({ length: bombing.count }, async () => {
      const status = await send(bombing, body);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }),
  );
  return statuses;
}

function send({ url, method, path, encoding, key }: Bombing, body: Buffer): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(url + path, {
      method,
      agent: false,
      headers: {
        'content-type': 'application/json',
        'content-encoding': encoding,
        'content-length': body.length,
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
    });
    sent.on('response', (response) => {
      response.resume();
      response.on('close', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

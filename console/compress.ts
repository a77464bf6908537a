/**
 * Compresses answers for browsers that take gzip. A page's length tells nobody its secrets: form tokens are masked anew
 * for each page, a key's text is shown once, and no other site can make a browser send its session (SameSite=Strict).
 */
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const gzipped = promisify(gzip);
/** Smaller answers fit one packet anyway. */
const MIN_BYTES = 1_024;
/** Events are sent as they come. */
const TEXT = /^(?:text\/(?!event-stream)|image\/svg\+xml)/;

/** Whether the browser takes gzip, as Accept-Encoding says. */
export function takesGzip(acceptEncoding: string | undefined): boolean {
  return (acceptEncoding ?? '').split(',').some((each) => {
    const [coding = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
    return (coding === 'gzip' || coding === '*') && !parameters.some((part) => /^q=0(?:\.0*)?$/.test(part));
  });
}

/** The payload as it is sent: an onSend hook. */
export async function compressAnswer(
  { headers, method }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  // an error page may follow a stream that broke before anything was sent
  void reply.removeHeader('content-encoding');
  if (!TEXT.test(String(reply.getHeader('content-type') ?? ''))) return payload;
  void reply.header('vary', 'accept-encoding');
  if (method === 'HEAD' || !takesGzip(headers['accept-encoding']?.toString())) return payload;
  if (payload instanceof Readable) {
    void reply.header('content-encoding', 'gzip').removeHeader('content-length');
    const stream = createGzip();
    // a reader that stops ends the source too; a failure of the source breaks the connection
    pipeline(payload, stream, () => undefined);
    return stream;
  }
  const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
  if (!(body instanceof Uint8Array) || body.length < MIN_BYTES) return payload;
  const small = await gzipped(body);
  void reply.header('content-encoding', 'gzip').header('content-length', small.length);
  return small;
}

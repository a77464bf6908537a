/** Sends a provider's response to the client: a description in one piece, the content of a video or a file as a stream. */
import type { ClientReply } from '../pipeline/context.ts';
import { readingError } from '../pipeline/free-request.ts';
import { responseHeaders } from '../upstream/headers.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';

/** A response whose body has been read completely. */
export interface BufferedResponse {
  readonly response: Pick<UpstreamResponse, 'status' | 'headers'>;
  readonly body: Buffer;
}

const NO_BYTES = Buffer.alloc(0);

/** Returns the HTTP status. */
export function sendBuffered(reply: ClientReply, buffered: BufferedResponse): number {
  const {
    response: { status },
    body,
  } = buffered;
  reply.send(status, bufferedHeaders(buffered), body);
  return status;
}

/** The headers of a response that is sent in one piece. */
export function bufferedHeaders({ response }: BufferedResponse): Record<string, string> {
  return { 'content-type': 'application/json', ...responseHeaders(response.headers) };
}

/**
 * Streams content at the client's pace, with a content-length if the provider sent one. Returns the HTTP status; throws
 * upstream_error if the provider closes the connection early, before the reply has started if there was no byte.
 */
export async function streamContent(
  reply: ClientReply,
  { status, headers, body }: UpstreamResponse,
  { headOnly, what }: { readonly headOnly: boolean; readonly what: 'video' | 'file' | 'results' },
): Promise<number> {
  const length = headers['content-length'];
  const start = (): void => {
    if (reply.started) return;
    reply.start(status, {
      'content-type': 'application/octet-stream',
      ...responseHeaders(headers),
      ...(length === undefined ? {} : { 'content-length': length }),
    });
  };
  try {
    if (headOnly) await body[Symbol.asyncIterator]().return?.();
    else
      for await (const piece of body) {
        start();
        await reply.write(piece);
      }
  } catch (error) {
    throw readingError(error, `before the end of the ${what}`);
  }
  start();
  reply.end(NO_BYTES);
  return status;
}

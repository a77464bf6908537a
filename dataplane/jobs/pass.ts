/** Passes a provider's answer about a video to the client: a small one whole, a video's content piece by piece. */
import { GatewayError } from '../errors.ts';
import type { ClientReply } from '../pipeline/context.ts';
import { responseHeaders } from '../upstream/headers.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import type { SmallAnswer } from './videos.ts';

const NOTHING = Buffer.alloc(0);

/** Returns the status. */
export function sendSmall(reply: ClientReply, { response, body }: SmallAnswer): number {
  reply.send(response.status, { 'content-type': 'application/json', ...responseHeaders(response.headers) }, body);
  return response.status;
}

/**
 * Passes content on as fast as the client takes it, with its length where the provider says it. Returns the status;
 * throws upstream_error where the provider breaks off.
 */
export async function passContent(
  reply: ClientReply, { status, headers, body }: UpstreamResponse, headOnly: boolean,
): Promise<number> {
  const length = headers['content-length'];
  reply.start(status, {
    'content-type': 'application/octet-stream',
    ...responseHeaders(headers),
    ...length === undefined ? {} : { 'content-length': length },
  });
  try {
    if (headOnly) await body[Symbol.asyncIterator]().return?.();
    else for await (const piece of body) await reply.write(piece);
  } catch (error) {
    if (!(error instanceof UpstreamFailure) || error.kind === 'Aborted') throw error;
    throw new GatewayError('upstream_error', 'The provider broke off before the end of the video. Try again.');
  }
  reply.end(NOTHING);
  return status;
}

/**
 * Serves a request about a video: finds its job and forwards the provider's response, which may be a few bytes or a
 * whole film. The request is free, and reported like every call.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { findVideo } from '../jobs/videos.ts';
import type { FoundVideo, VideoRequest } from '../jobs/videos.ts';
import type { ClientReply } from '../pipeline/context.ts';
import { bodyOf } from './body.ts';
import { callerOf } from './caller.ts';
import type { ServerDeps } from './deps.ts';
import { toGatewayError } from './error-handler.ts';
import { createReply } from './reply-stream.ts';
import { report } from './report.ts';

export interface VideoParams {
  Params: { readonly id: string };
}

export interface VideoCall {
  readonly call: VideoRequest;
  readonly found: FoundVideo;
  readonly reply: ClientReply;
  /** The query string as the client sent it, without its question mark. */
  readonly query: string;
  /** True for HEAD, which wants no body. */
  readonly headOnly: boolean;
}

type Serve = (video: VideoCall) => Promise<number>;

/** The status in logs if the client left before it got one. */
const CLIENT_CLOSED_REQUEST = 499;

/** Makes a route handler. `serve` sends the response, and resolves with the status. */
export function serveVideo(deps: ServerDeps, serve: Serve) {
  return async (request: FastifyRequest<VideoParams>, answer: FastifyReply): Promise<void> => {
    answer.hijack();
    const ended = deps.inFlight.begin();
    const reply = createReply(answer.raw, { requestId: request.id, dialect: 'OpenAI' });
    const status = await findAndServe(deps, { request, reply, serve }).catch((error: unknown) => {
      if (reply.gone) return CLIENT_CLOSED_REQUEST;
      request.failure = toGatewayError(deps, request.id, error);
      return reply.fail(request.failure);
    });
    bodyOf(request).drop();
    report(deps, request, status);
    ended();
  };
}

interface Asked {
  readonly request: FastifyRequest<VideoParams>;
  readonly reply: ClientReply;
  readonly serve: Serve;
}

async function findAndServe(deps: ServerDeps, { request, reply, serve }: Asked): Promise<number> {
  const call: VideoRequest = {
    requestId: request.id,
    key: callerOf(request).key,
    headers: request.headers,
    videoId: request.params.id,
    left: reply.left,
    attempts: request.attempts = [],
  };
  const found = await findVideo(deps, call);
  const [, query = ''] = request.url.split(/\?(.*)/s);
  return serve({ call, found, reply, query, headOnly: request.method === 'HEAD' });
}

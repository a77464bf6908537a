/**
 * How a request about a video is served: its key and its job are found, and its answer is passed on, from a few words to a film.
 * It costs nothing; it is reported like every call.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayError } from '../errors.ts';
import { findVideo } from '../jobs/videos.ts';
import type { FoundVideo, VideoRequest } from '../jobs/videos.ts';
import { authenticateHeaders } from '../pipeline/authenticate.ts';
import type { ClientReply } from '../pipeline/context.ts';
import type { KeyState } from '../state/state.ts';
import { bodyOf } from './body.ts';
import type { ServerDeps } from './deps.ts';
import { reportPlain, toGatewayError } from './plain.ts';
import type { PlainRoute } from './plain.ts';
import { createReply } from './reply-stream.ts';

export interface VideoCall {
  readonly request: VideoRequest;
  readonly found: FoundVideo;
  readonly reply: ClientReply;
  /** As the client wrote it, without its question mark. */
  readonly query: string;
  /** HEAD: no body is wanted. */
  readonly headOnly: boolean;
}

/** The status that logs show for a client that left before it got one. */
const CLIENT_CLOSED_REQUEST = 499;

/** A route handler; `serve` answers, and returns the status. */
export function ofVideo(deps: ServerDeps, serve: (call: VideoCall) => Promise<number>) {
  return async (request: FastifyRequest<PlainRoute>, answered: FastifyReply): Promise<void> => {
    answered.hijack();
    const ended = deps.inFlight.begin();
    const reply = createReply(answered.raw, { requestId: request.id, dialect: 'OpenAI' });
    const asked = { request, reply, attempts: [] };
    const told = await answer(deps, asked, serve).finally(() => {
      bodyOf(request).drop();
      ended();
    });
    reportPlain(deps, { endpoint: 'videos', request, attempts: asked.attempts, ...told });
  };
}

interface Asked {
  readonly request: FastifyRequest<PlainRoute>;
  readonly reply: ClientReply;
  readonly attempts: VideoRequest['attempts'];
}

interface Told {
  readonly status: number;
  readonly key: KeyState | undefined;
  readonly error: GatewayError | undefined;
}

/** Never rejects. */
async function answer(deps: ServerDeps, { request, reply, attempts }: Asked, serve: (call: VideoCall) => Promise<number>): Promise<Told> {
  let key: KeyState | undefined;
  try {
    ({ key } = authenticateHeaders(deps, request.headers));
    const asked: VideoRequest = { requestId: request.id, key, headers: request.headers, videoId: request.params['id'] ?? '', left: reply.left, attempts };
    const found = await findVideo(deps, asked);
    const query = request.url.split(/\?(.*)/s)[1] ?? '';
    return { status: await serve({ request: asked, found, reply, query, headOnly: request.method === 'HEAD' }), key, error: undefined };
  } catch (caught) {
    if (reply.gone) return { status: CLIENT_CLOSED_REQUEST, key, error: undefined };
    const error = toGatewayError(deps, request, caught);
    return { status: reply.fail(error), key, error };
  }
}

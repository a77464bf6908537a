/** Status, content and deletion of a key's videos. These requests are free; the video was billed when it was made. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sendBuffered, streamContent } from '../../stored/respond.ts';
import { deleteVideo, downloadVideo, findVideo, retrieveVideo } from '../../stored/videos.ts';
import type { FoundVideo, VideoRequest } from '../../stored/videos.ts';
import type { ClientReply } from '../../pipeline/context.ts';
import { callerOf } from '../caller.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { errorDialectOf } from '../reply-error.ts';
import { serveReply } from '../serve-reply.ts';
import { splitUrl } from '../split-url.ts';

interface VideoParams {
  Params: { readonly id: string };
}

interface VideoCall {
  readonly call: VideoRequest;
  readonly found: FoundVideo;
  readonly reply: ClientReply;
  /** The query string as the client sent it, without its question mark. */
  readonly query: string;
  /** True for HEAD, which wants no body. */
  readonly headOnly: boolean;
}

export function videos(app: FastifyInstance, deps: ServerDeps): void {
  const options = { config: { endpoint: 'videos' } } as const;
  app.get<VideoParams>(
    PATHS.video.path,
    options,
    serveVideo(deps, async ({ call, found, reply }) => sendBuffered(reply, await retrieveVideo(deps, call, found))),
  );
  app.delete<VideoParams>(
    PATHS.videoDeletion.path,
    options,
    serveVideo(deps, async ({ call, found, reply }) => sendBuffered(reply, await deleteVideo(deps, call, found))),
  );
  app.get<VideoParams>(
    PATHS.videoContent.path,
    options,
    serveVideo(deps, ({ call, found, reply, query, headOnly }) =>
      downloadVideo(deps, call, {
        found,
        query,
        pass: (response) => streamContent(reply, response, { headOnly, what: 'video' }),
      }),
    ),
  );
}

/** Makes a route handler for requests about a video of the calling key. */
function serveVideo(deps: ServerDeps, serve: (video: VideoCall) => Promise<number>) {
  return serveReply(deps, async (request: FastifyRequest<VideoParams>, reply) => {
    const call: VideoRequest = {
      requestId: request.id,
      key: callerOf(request).key,
      errorDialect: errorDialectOf(request),
      headers: request.headers,
      videoId: request.params.id,
      left: reply.left,
      attempts: (request.attempts = []),
    };
    const found = await findVideo(deps, call);
    const { query } = splitUrl(request.url);
    return serve({ call, found, reply, query, headOnly: request.method === 'HEAD' });
  });
}

/** Status, content and deletion of a key's videos. These requests are free; the video was billed when it was made. */
import type { FastifyInstance } from 'fastify';
import { sendBuffered, streamContent } from '../../jobs/respond.ts';
import { deleteVideo, downloadVideo, retrieveVideo } from '../../jobs/videos.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { serveVideo } from '../serve-video.ts';
import type { VideoParams } from '../serve-video.ts';

export function videos(app: FastifyInstance, deps: ServerDeps): void {
  const options = { config: { endpoint: 'videos' } } as const;
  app.get<VideoParams>(PATHS.video.path, options, serveVideo(deps, async ({ call, found, reply }) =>
    sendBuffered(reply, await retrieveVideo(deps, call, found))));
  app.delete<VideoParams>(PATHS.videoDeletion.path, options, serveVideo(deps, async ({ call, found, reply }) =>
    sendBuffered(reply, await deleteVideo(deps, call, found))));
  app.get<VideoParams>(PATHS.videoContent.path, options, serveVideo(deps, ({ call, found, reply, query, headOnly }) =>
    downloadVideo(deps, call, { found, query, pass: (response) => streamContent(reply, response, headOnly) })));
}

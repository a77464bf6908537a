/** POST /v1/videos, and what its key asks of a video later on: its state, its content, its deletion. */
import type { FastifyInstance } from 'fastify';
import { passContent, sendSmall } from '../../jobs/pass.ts';
import { deleteVideo, downloadVideo, retrieveVideo } from '../../jobs/videos.ts';
import { readVideos } from '../../pipeline/endpoints/videos.ts';
import type { ServerDeps } from '../deps.ts';
import type { BilledRoute } from '../billed.ts';
import { PATHS } from '../paths.ts';
import { ofVideo } from '../video-route.ts';

export const videoCreation: BilledRoute = { path: PATHS.videos.path, endpoint: 'videos', read: readVideos };

export function videos(app: FastifyInstance, deps: ServerDeps): void {
  app.get(PATHS.video.path, ofVideo(deps, async ({ request, found, reply }) => sendSmall(reply, await retrieveVideo(deps, request, found))));
  app.delete(PATHS.videoDeletion.path, ofVideo(deps, async ({ request, found, reply }) => sendSmall(reply, await deleteVideo(deps, request, found))));
  app.get(PATHS.videoContent.path, ofVideo(deps, ({ request, found, reply, query, headOnly }) =>
    downloadVideo(deps, request, { found, query, pass: (response) => passContent(reply, response, headOnly) })));
}

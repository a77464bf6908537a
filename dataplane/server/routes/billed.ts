/** The endpoints that cost money. fastify hands the reply over to the pipeline, which owns it to its last byte. */
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import type { EndpointCall, Received } from '../../pipeline/context.ts';
import { readChat } from '../../pipeline/endpoints/chat.ts';
import { readEmbeddings } from '../../pipeline/endpoints/embeddings.ts';
import { readImages } from '../../pipeline/endpoints/images.ts';
import { readCompaction, readResponse } from '../../pipeline/endpoints/responses.ts';
import { readVideos } from '../../pipeline/endpoints/videos.ts';
import { handleCall } from '../../pipeline/pipeline.ts';
import type { EndpointName } from '../../telemetry/call-report.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { receive } from '../receive.ts';

interface BilledEndpoint {
  readonly path: string;
  readonly endpoint: EndpointName;
  readonly read: (received: Received) => Promise<EndpointCall>;
}

const ENDPOINTS: readonly BilledEndpoint[] = [
  { path: PATHS.chatCompletions.path, endpoint: 'chat_completions', read: (received) => readChat(received, 'OpenAI') },
  { path: PATHS.messages.path, endpoint: 'messages', read: (received) => readChat(received, 'Anthropic') },
  { path: PATHS.embeddings.path, endpoint: 'embeddings', read: readEmbeddings },
  { path: PATHS.images.path, endpoint: 'images', read: readImages },
  { path: PATHS.videos.path, endpoint: 'videos', read: readVideos },
  { path: PATHS.responses.path, endpoint: 'responses', read: readResponse },
  { path: PATHS.responseCompaction.path, endpoint: 'responses', read: readCompaction },
];

export const billed: FastifyPluginCallback<ServerDeps> = (app, deps, done) => {
  for (const { path, ...endpoint } of ENDPOINTS) {
    app.post(path, (request: FastifyRequest, reply: FastifyReply) => {
      reply.hijack();
      void serve(deps, receive(deps, { ...endpoint, request, reply }));
    });
  }
  done();
};

/** Answers a call that costs money, whose reply is hijacked. Never rejects. */
export async function serve(deps: ServerDeps, received: Received): Promise<void> {
  const ended = deps.inFlight.begin();
  try {
    await handleCall(deps, received);
  } catch (error) {
    // the pipeline sends every error itself, so one that gets here is a defect
    deps.defect(received.requestId, error);
  } finally {
    received.body.drop();
    ended();
  }
}

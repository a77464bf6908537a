/** The endpoints that cost money. fastify hands the reply over to the pipeline, which owns it to its last byte. */
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import type { Received } from '../../pipeline/context.ts';
import { ENDPOINTS } from '../../pipeline/endpoints/endpoints.ts';
import { handleCall } from '../../pipeline/pipeline.ts';
import { fileBatchReader, messageBatchReader } from '../../stored/create-batch.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { receive } from '../receive.ts';

export const billed: FastifyPluginCallback<ServerDeps> = (app, deps, done) => {
  const endpoints = [
    ...Object.values(ENDPOINTS),
    { path: PATHS.batchCreation.path, endpoint: 'batches', read: fileBatchReader(deps) },
    { path: PATHS.messageBatchCreation.path, endpoint: 'message_batches', read: messageBatchReader(deps) },
  ] as const;
  for (const { path, ...endpoint } of endpoints) {
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

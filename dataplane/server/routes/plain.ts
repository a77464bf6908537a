/** The free endpoints: each responds with JSON, and is reported like a call. */
import type { FastifyPluginCallback } from 'fastify';
import { keyInForce } from '../../pipeline/authenticate.ts';
import { callerOf } from '../caller.ts';
import type { ServerDeps } from '../deps.ts';
import { batches } from './batches.ts';
import { conversations } from './conversations.ts';
import { countTokens } from './count-tokens.ts';
import { files } from './files.ts';
import { geminiModels } from './gemini-models.ts';
import { key } from './key.ts';
import { models } from './models.ts';
import { realtime } from './realtime.ts';
import { responses } from './responses.ts';
import { usage } from './usage.ts';
import { videos } from './videos.ts';

export const plain: FastifyPluginCallback<ServerDeps> = (app, deps, done) => {
  app.addHook('preHandler', async (request) => {
    // an edit may have revoked the key while the body came
    const { keyHash } = callerOf(request);
    request.caller = { keyHash, key: keyInForce(deps, keyHash) };
  });
  for (const addRoutes of [
    models,
    geminiModels,
    key,
    usage,
    countTokens,
    videos,
    responses,
    conversations,
    files,
    batches,
    realtime,
  ])
    addRoutes(app, deps);
  done();
};

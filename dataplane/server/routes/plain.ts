/** The free endpoints: each authenticates, responds with JSON, and is reported like a call. */
import type { FastifyPluginCallback } from 'fastify';
import { authenticateHeaders } from '../../pipeline/authenticate.ts';
import type { ServerDeps } from '../deps.ts';
import { conversations } from './conversations.ts';
import { countTokens } from './count-tokens.ts';
import { geminiModels } from './gemini-models.ts';
import { key } from './key.ts';
import { models } from './models.ts';
import { responses } from './responses.ts';
import { usage } from './usage.ts';
import { videos } from './videos.ts';

export const plain: FastifyPluginCallback<ServerDeps> = (app, deps, done) => {
  app.addHook('preHandler', async (request) => {
    request.caller = authenticateHeaders(deps, request.headers);
  });
  for (const addRoutes of [models, geminiModels, key, usage, countTokens, videos, responses, conversations])
    addRoutes(app, deps);
  done();
};

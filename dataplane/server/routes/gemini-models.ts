/** Google's protocol: the models that a key can call. */
import type { FastifyInstance } from 'fastify';
import { modelNotFound } from '../../pipeline/route.ts';
import { callerOf } from '../caller.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { geminiModel, geminiModelPage } from '../views/gemini-models.ts';
import type { Query } from '../views/gemini-models.ts';
import { callableModel, callableModels } from '../views/models.ts';

/** The models that this key can call now; free. */
export function geminiModels(app: FastifyInstance, { state }: ServerDeps): void {
  const options = { config: { endpoint: 'models' } } as const;
  app.get<{ Querystring: Query }>(PATHS.geminiModels.path, options, (request, reply) => {
    const offers = callableModels(state.get(), callerOf(request).key);
    return reply.send(geminiModelPage(offers, request.query));
  });
  app.get<{ Params: { readonly '*': string } }>(PATHS.geminiModel.path, options, (request, reply) => {
    const { '*': name } = request.params;
    const offer = callableModel(state.get(), callerOf(request).key, name);
    if (!offer) throw modelNotFound(name);
    return reply.send(geminiModel(offer));
  });
}

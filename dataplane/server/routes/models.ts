/** GET /v1/models and /v1/models/{id}: what this key can call now, in the shape that its SDK reads. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { modelNotFound } from '../../pipeline/route.ts';
import type { ServerDeps } from '../app.ts';
import { PATHS } from '../paths.ts';
import { plain } from '../plain.ts';
import { anthropicModel, anthropicModels, callableModel, callableModels, openaiModel, openaiModels } from '../views/models.ts';
import type { AnthropicPageQuery } from '../views/models.ts';

export function models(app: FastifyInstance, deps: ServerDeps): void {
  app.get(PATHS.models.path, plain(deps, 'models', ({ key, request }) => {
    const offers = callableModels(deps.state.get(), key);
    return isAnthropic(request) ? anthropicModels(offers, request.query as AnthropicPageQuery) : openaiModels(offers);
  }));
  // model names may hold slashes, so that the rest of the path is the name
  app.get(PATHS.model.path, plain(deps, 'models', ({ key, request }) => {
    const { '*': name } = request.params as { '*': string };
    const offer = callableModel(deps.state.get(), key, name);
    if (!offer) throw modelNotFound(name);
    return isAnthropic(request) ? anthropicModel(offer) : openaiModel(offer);
  }));
}

function isAnthropic(request: FastifyRequest): boolean {
  return request.headers['anthropic-version'] !== undefined;
}

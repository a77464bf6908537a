/** GET /v1/models and /v1/models/{id}: what this key can call now, in the shape that its SDK reads. */
import type { FastifyInstance } from 'fastify';
import { modelNotFound } from '../../pipeline/route.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { plain } from '../plain.ts';
import type { PlainCall, PlainRoute } from '../plain.ts';
import { anthropicModel, anthropicModels, callableModel, callableModels, openaiModel, openaiModels } from '../views/models.ts';
import type { AnthropicPageQuery } from '../views/models.ts';

export function models(app: FastifyInstance, deps: ServerDeps): void {
  app.get<PlainRoute>(PATHS.models.path, plain(deps, 'models', ({ key, request }) => {
    const offers = callableModels(deps.state.get(), key);
    return isAnthropic(request) ? anthropicModels(offers, pageOf(request.query)) : openaiModels(offers);
  }));
  // model names may hold slashes, so that the rest of the path is the name
  app.get<PlainRoute>(PATHS.model.path, plain(deps, 'models', ({ key, request }) => {
    const { '*': name = '' } = request.params;
    const offer = callableModel(deps.state.get(), key, name);
    if (!offer) throw modelNotFound(name);
    return isAnthropic(request) ? anthropicModel(offer) : openaiModel(offer);
  }));
}

function isAnthropic({ headers }: PlainCall['request']): boolean {
  return headers['anthropic-version'] !== undefined;
}

/** Of a parameter that is repeated, the first. */
function pageOf(query: PlainRoute['Querystring']): AnthropicPageQuery {
  const page: Record<string, string> = {};
  for (const name of ['limit', 'after_id', 'before_id']) {
    const value = [query[name]].flat()[0];
    if (value !== undefined) page[name] = value;
  }
  return page;
}

/** GET /v1/models and /v1/models/{id}: the models that this key can call now, in the format of the client's SDK. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { modelNotFound } from '../../pipeline/route.ts';
import { callerOf } from '../caller.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import {
  anthropicModel,
  anthropicModels,
  callableModel,
  callableModels,
  openaiModel,
  openaiModels,
} from '../views/models.ts';
import type { AnthropicPageQuery } from '../views/models.ts';
import { geminiModel, geminiModelPage } from '../views/gemini-models.ts';
import type { Query } from '../views/gemini-models.ts';

export function models(app: FastifyInstance, { state }: ServerDeps): void {
  const options = { config: { endpoint: 'models' } } as const;
  app.get<{ Querystring: Query }>(PATHS.models.path, options, (request, reply) => {
    const offers = callableModels(state.get(), callerOf(request).key);
    if (wantsGemini(request)) return reply.send(geminiModelPage(offers, request.query));
    if (wantsAnthropic(request)) return reply.send(anthropicModels(offers, pageOf(request.query)));
    return reply.send(isCodex(request) ? { ...openaiModels(offers), models: CODEX_MODELS } : openaiModels(offers));
  });
  // a model's name may contain slashes, so it is the rest of the path
  app.get<{ Params: { readonly '*': string } }>(PATHS.model.path, options, (request, reply) => {
    const { '*': name } = request.params;
    const offer = callableModel(state.get(), callerOf(request).key, name);
    if (!offer) throw modelNotFound(name);
    if (wantsGemini(request)) return reply.send(geminiModel(offer));
    return reply.send(wantsAnthropic(request) ? anthropicModel(offer) : openaiModel(offer));
  });
}

/** Google's SDK asks below /v1, too. */
function wantsGemini({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['x-goog-api-key'] !== undefined || headers['x-goog-api-client'] !== undefined;
}

/**
 * Codex cannot read a list without `models`. Its description of a model must contain the agent's own prompt, so that
 * none is described, and Codex keeps the descriptions that it has.
 */
const CODEX_MODELS: readonly never[] = [];

function isCodex({ query }: FastifyRequest<{ Querystring: Query }>): boolean {
  return query['client_version'] !== undefined;
}

function wantsAnthropic({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['anthropic-version'] !== undefined;
}

/** Reads the paging parameters; of a repeated one, the first counts. */
function pageOf(query: Query): AnthropicPageQuery {
  const page: Record<string, string> = {};
  for (const name of ['limit', 'after_id', 'before_id']) {
    const value = [query[name]].flat()[0];
    if (value !== undefined) page[name] = value;
  }
  return page;
}

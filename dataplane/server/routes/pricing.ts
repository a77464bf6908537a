/** GET /pricing, /pricing.json and the page's assets: public, no key. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { reportPlain } from '../plain.ts';
import { answerPricing } from '../pricing/answer.ts';
import { createRenderBudget } from '../pricing/render-budget.ts';
import { requestIdHeaders } from '../reply-error.ts';

export function pricing(app: FastifyInstance, deps: ServerDeps): void {
  const limit = createRenderBudget(() => deps.clock.monotonicMs());
  const handler = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const [path = '', search = ''] = request.url.split(/\?(.*)/s);
    const answer = answerPricing({ path, search, accept: request.headers.accept, ifNoneMatch: request.headers['if-none-match'] }, deps.state.get(), { limit });
    if (!answer) throw new GatewayError('not_found', 'There is nothing at this path. The price list is at /pricing.');
    void reply.code(answer.status).headers({ ...answer.headers, ...requestIdHeaders(request.id) }).send(answer.body);
    reportPlain(deps, { endpoint: 'pricing', request, status: answer.status, key: undefined, error: undefined });
    return reply;
  };
  for (const { path } of [PATHS.pricing, PATHS.pricingJson, PATHS.pricingAsset]) app.get(path, handler);
}

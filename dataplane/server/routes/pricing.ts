/** GET /, /pricing, /pricing.json and the page's assets: public, no key. */
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { answerPricing } from '../pricing/answer.ts';
import { originOf } from '../origin.ts';
import { createRenderBudget } from '../pricing/render-budget.ts';

export const pricing: FastifyPluginCallback<ServerDeps> = (app, { clock, state, consoleUrl }, done) => {
  const limit = createRenderBudget(clock);
  const handler = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const [path = '', search = ''] = request.url.split(/\?(.*)/s);
    const { accept, 'if-none-match': ifNoneMatch } = request.headers;
    const answer = answerPricing(
      { path, search, accept, ifNoneMatch, origin: originOf(request) }, state.get(),
      { limit, consoleUrl: consoleUrl?.() },
    );
    if (!answer) throw new GatewayError('not_found', 'There is nothing at this path. The price list is at /pricing.');
    request.endpoint = 'pricing';
    return reply.code(answer.status).headers(answer.headers).send(answer.body);
  };
  for (const { path } of [PATHS.home, PATHS.pricing, PATHS.pricingJson, PATHS.pricingAsset]) app.get(path, handler);
  done();
};

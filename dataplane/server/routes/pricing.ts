/** GET /, /pricing, /pricing.json and the page's assets. They are public; a key adds its own group to the lists. */
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { authenticateHead } from '../../pipeline/authenticate.ts';
import { answerPricing } from '../pricing/answer.ts';
import { createRenderBudget } from '../pricing/render-budget.ts';
import { splitUrl } from '../split-url.ts';

const HOST = /^(?:[a-z0-9][a-z0-9.-]*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

export const pricing: FastifyPluginCallback<ServerDeps> = (app, { clock, state, consoleUrl }, done) => {
  const limit = createRenderBudget(clock);
  const handler = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { path, query: search } = splitUrl(request.url);
    const { accept, 'if-none-match': ifNoneMatch } = request.headers;
    const answer = answerPricing(
      { path, search, accept, ifNoneMatch, origin: originOf(request), group: groupOf(request) },
      state.get(),
      { limit, consoleUrl: consoleUrl?.() },
    );
    if (!answer) throw new GatewayError('not_found', 'There is nothing at this path. The price list is at /pricing.');
    request.endpoint = 'pricing';
    return reply.code(answer.status).headers(answer.headers).send(answer.body);
  };
  /** The group of the key that was sent. A key that is not in force sees the public lists. */
  function groupOf({ headers }: FastifyRequest): string | undefined {
    const names = ['authorization', 'x-api-key', 'x-goog-api-key'];
    if (names.every((name) => headers[name] === undefined)) return undefined;
    try {
      return authenticateHead({ state, clock }, headers).key.group;
    } catch (error) {
      if (error instanceof GatewayError) return undefined;
      throw error;
    }
  }
  for (const { path } of [PATHS.home, PATHS.pricing, PATHS.pricingJson, PATHS.pricingAsset])
    app.get(path, { config: { isPublic: true } }, handler);
  done();
};

/** The origin by the Host header, such as "https://gateway.example"; undefined if it is missing or invalid. */
function originOf({ headers, socket }: FastifyRequest): string | undefined {
  const { host = '', 'x-forwarded-proto': forwarded } = headers;
  if (!HOST.test(host)) return undefined;
  const scheme = String(forwarded ?? '')
    .split(',', 1)[0]
    ?.trim();
  if (scheme === 'https' || scheme === 'http') return `${scheme}://${host}`;
  return `${'encrypted' in socket && socket.encrypted === true ? 'https' : 'http'}://${host}`;
}
